/// The accepted entries, and their types, of a dictionary (`a{sv}`) argument of a method of btcalld or btcall-video.
///
/// ``Fields`` refuses every other entry, so that a misspelt option is not silently ignored. A test compares the list with
/// the interface files and their pages.
package struct DictionaryArgument: Sendable {
    package let interface: String
    package let member: String
    /// The argument's name in the interface file.
    package let argument: String
    package let entries: [EntryType]

    /// Name for messages: `the options of Open`.
    package var subject: String { "the \(argument) of \(member)" }

    private init(_ interface: String, _ member: String, argument: String = "options", _ entries: [EntryType]) {
        self.interface = interface
        self.member = member
        self.argument = argument
        self.entries = entries
    }
}

extension DictionaryArgument {
    private typealias Interface = BTCallName.Interface
    private typealias Calls = BTCallName.Calls
    private typealias Call = BTCallName.Call
    private typealias Audio = BTCallName.Audio
    private typealias Router = BTCallName.Router

    package static let registerProvider = Self(
        Interface.calls, Calls.registerProvider,
        [
            .text("name"), .text("audio"), .flag("callState"), .texts("schemes"), .paths("calls"),
            .texts("capabilities"), .text("talk"),
        ] + AudioFormat.entries)
    package static let reportIncoming = Self(Interface.calls, Calls.reportIncoming, reported)
    package static let reportOutgoing = Self(
        Interface.calls, Calls.reportOutgoing, reported + [.text("state"), .integer("time")])
    package static let place = Self(Interface.calls, Calls.place, [.text("provider")] + MediaOptions.entries)

    package static let setTalk = Self(Interface.calls, Calls.setTalk, [.text("key")])

    package static let answer = Self(Interface.call, Call.answer, MediaOptions.entries)
    package static let update = Self(
        Interface.call, Call.update,
        [
            .text("reason"), .integers("ssrcs"), .integer("time"), .texts("capabilities"), .texts("routes"),
            .text("talk"),
        ]
            + described)
    package static let reportCamera = Self(
        Interface.call, Call.reportCamera, argument: "settings",
        [.text("camera"), .integer("width"), .integer("height"), .integer("framesPerSecond")])
    package static let setMedia = Self(Interface.call, Call.setMedia, argument: "media", MediaOptions.entries)
    package static let requestMediaChange = Self(
        Interface.call, Call.requestMediaChange, argument: "media", MediaOptions.entries)

    package static let openInjection = Self(
        Interface.audio, Audio.openInjection, audio + [.flag("replacesMicrophone")])
    package static let openManual = Self(Interface.audio, Audio.openManual, audio)
    package static let acquireManual = Self(Interface.audio, Audio.acquireManual, [])
    package static let openTap = Self(Interface.audio, Audio.openTap, audio + [.text("side")])
    package static let openPlayback = Self(
        Interface.audio, Audio.openPlayback,
        audio + [.text("to"), .integer("priority"), .number("duck"), .flag("mixable")])

    package static let acquireSelection = Self(Interface.router, Router.acquireSelection, [])
    package static let interrupt = Self(Interface.router, Router.interrupt, [.flag("resume")])
    package static let explain = Self(Interface.router, Router.explain, [.integer("time")])
    package static let incident = Self(Interface.router, Router.incident, [.flag("addresses")])

    package static let activateSession = Self(Interface.session, BTCallName.Session.activate, [])
    package static let logout = Self(Interface.manager, BTCallName.Manager.logout, [.flag("forgetHeadsets")])
    package static let openPairing = Self(
        Interface.pairing, BTCallName.Pairing.open, [.texts("allow"), .text("pin"), .flag("search")])

    /// Of btcall-video.
    package static let setView = Self(
        Interface.video, BTCallName.Video.setView, argument: "view",
        [.text("sink"), .text("device"), .rectangle("rectangle"), .integer("rotation"), .descriptor("descriptor")])

    /// One for each method that takes a dictionary.
    package static let all = [
        registerProvider, reportIncoming, reportOutgoing, place, setTalk, answer, update, reportCamera,
        setMedia,
        requestMediaChange, openInjection, openManual, acquireManual, openTap, openPlayback, acquireSelection,
        interrupt, explain,
        incident, activateSession, logout, openPairing, setView,
    ]

    private static let reported =
        [EntryType.text("name"), .text("remoteAddress"), .texts("capabilities"), .texts("routes"), .text("talk")]
        + MediaOptions.entries
    private static let described: [EntryType] = [
        .text("number"), .text("name"), .text("remoteAddress"), .flag("video"),
    ]
    private static let audio = AudioFormat.entries + [.flag("stream")]
}
