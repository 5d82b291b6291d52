import BluetoothTypes

extension RoutingEvent {
    /// The event in text form, which `init(_:changing:)` reads back.
    package var record: EventRecord {
        switch self {
        case .start: EventRecord("api.start")
        case .stop: EventRecord("api.stop")
        case .setPreferred(let device): EventRecord("api.setPreferred", ("device", .text(device.description)))
        case .setDefault(let device): EventRecord("api.setDefault", ("device", .text(device.description)))
        case .select(let device): EventRecord("api.select", ("device", .text(device.description)))
        case .clearSelection: EventRecord("api.clearSelection")
        case .mute(let isOn): EventRecord("api.mute", ("on", .flag(isOn)))
        case .refresh: EventRecord("api.refresh")
        case .configure(let configuration):
            EventRecord(
                word: "api.config",
                arguments: RoutingKey.allCases.map { key in
                    EventRecord.Argument(name: key.rawValue, value: .text(configuration.value(of: key)))
                })
        case .sessionActivated: EventRecord("session.activate")
        case .sessionDeactivated: EventRecord("session.deactivate")
        case .callOutgoing(let call, let video, let routes, let audio):
            Self.record("call.outgoing", call, video, routes, audio)
        case .callIncoming(let call, let video, let routes, let audio):
            Self.record("call.incoming", call, video, routes, audio)
        case .callMedia(let call, let audio, let video):
            EventRecord(
                "call.media", ("call", .text(call)), ("audio", .text(audio.rawValue)), ("video", .text(video.rawValue)))
        case .callRoutes(let call, let routes):
            EventRecord("call.routes", ("call", .text(call)), routes.map { ("routes", .list($0.map(\.rawValue))) })
        case .callLocalMedia(let call, let audio, let video):
            EventRecord("call.local", ("call", .text(call)), ("audio", .flag(audio)), ("video", .flag(video)))
        case .callTalking(let call, let isOn): EventRecord("call.talk", ("call", .text(call)), ("on", .flag(isOn)))
        case .callAnswered(let call, let via):
            EventRecord("call.answered", ("call", .text(call)), via.map { ("via", .text($0.description)) })
        case .callHeld(let call): EventRecord("call.held", ("call", .text(call)))
        case .callResumed(let call): EventRecord("call.resumed", ("call", .text(call)))
        case .callEnded(let call): EventRecord("call.ended", ("call", .text(call)))
        case .headsetDescribed(let address, let kind, let inband):
            EventRecord(
                "bt.described", Self.address(address), ("category", .text(kind.rawValue)), ("inband", .flag(inband)))
        case .headsetPreference(let address, let isOn): Self.record("bt.wish", address, "calls", isOn)
        case .headsetResting(let address, let isOn): Self.record("bt.rest", address, "on", isOn)
        case .headsetConnected(let address, let profiles):
            EventRecord("bt.connected", Self.address(address), ("profiles", .list(profiles.map(\.rawValue))))
        case .headsetDisconnected(let address): EventRecord("bt.disconnected", Self.address(address))
        case .headsetForgotten(let address): EventRecord("bt.removed", Self.address(address))
        case .headsetProfile(let address, let profile, let isUp):
            EventRecord("bt.profile", Self.address(address), ("profile", .text(profile.rawValue)), ("up", .flag(isUp)))
        case .adapterPowered(let isPowered): EventRecord("bt.adapter", ("powered", .flag(isPowered)))
        case .linkOpened(let address): EventRecord("link.opened", Self.address(address))
        case .linkFailed(let address, let failure):
            EventRecord("link.failed", Self.address(address), ("failure", .text(failure.rawValue)))
        case .linkClosed(let address, .requested): EventRecord("link.closed", Self.address(address))
        case .linkClosed(let address, let reason):
            EventRecord("bt.audioClosed", Self.address(address), ("reason", .text(reason.rawValue)))
        case .linkOpenedByHeadset(let address, let mode):
            EventRecord("bt.audioOpened", Self.address(address), mode.map { ("mode", .text($0.rawValue)) })
        case .linkSilent(let address): EventRecord("bt.audioSilent", Self.address(address))
        case .linkResumed(let address): EventRecord("bt.audioResumed", Self.address(address))
        case .codecChanged(let address, let codec):
            EventRecord("bt.codec", Self.address(address), ("codec", .text(codec.description)))
        case .jackPlugged(let microphone): EventRecord("jack.plugged", ("mic", .flag(microphone)))
        case .jackUnplugged: EventRecord("jack.unplugged")
        case .localLost(let local): EventRecord("local.lost", ("kind", .text(local.rawValue)))
        case .localFound(let local): EventRecord("local.found", ("kind", .text(local.rawValue)))
        case .handsetOffHook: EventRecord("handset.offHook")
        case .handsetOnHook: EventRecord("handset.onHook")
        case .interruptionBegan(let source): EventRecord("interruption.begin", ("source", .text(source)))
        case .interruptionEnded(let resume): EventRecord("interruption.end", ("resume", .flag(resume)))
        case .deadlineReached: EventRecord("timer")
        }
    }

    /// A record of a headset with one flag.
    private static func record(_ word: String, _ of: BluetoothAddress, _ name: String, _ flag: Bool) -> EventRecord {
        EventRecord(word, address(of), (name, .flag(flag)))
    }

    private static func address(_ address: BluetoothAddress) -> (String, EventRecord.Value) {
        ("addr", .text(address.description))
    }

    private static func record(
        _ word: String, _ call: String, _ video: Bool, _ routes: [DeviceKind]?, _ audio: MediaDirection
    ) -> EventRecord {
        EventRecord(
            word, ("call", .text(call)), ("video", .flag(video)),
            routes.map { ("routes", .list($0.map(\.rawValue))) },
            audio == .sendReceive ? nil : ("audio", .text(audio.rawValue)))
    }

    /// Reads an event from its text form.
    ///
    /// - Parameters:
    ///   - record: arguments in any order.
    ///   - configuration: the configuration that `api.config` changes.
    ///   - vocabulary: author of the record: completions are events of recordings only.
    /// - Throws: for an unknown word or argument and for an invalid value; nothing is guessed.
    package init(
        _ record: EventRecord, changing configuration: RoutingConfiguration = RoutingConfiguration(),
        in vocabulary: EventRecord.Vocabulary = .recordings
    ) throws(EventRecordError) {
        guard let accepted = EventRecord.arguments(of: record.word, in: vocabulary) else {
            throw .unknownEvent(record.word)
        }
        let reader = ArgumentReader(record: record)
        if record.word == "api.config" {
            self = .configure(try reader.configuration(changing: configuration))
            return
        }
        for argument in record.arguments where !accepted.contains(argument.name) {
            throw .unknownArgument(
                word: record.word, argument.name,
                accepted: EventRecord.argumentText(of: record.word, in: vocabulary))
        }
        self = try Self.read(reader)
    }

    private static func read(_ reader: ArgumentReader) throws(EventRecordError) -> RoutingEvent {
        if let event = try readRequest(reader) { return event }
        if let event = try readCall(reader) { return event }
        if let event = try readHeadset(reader) { return event }
        if let event = try readBoard(reader) { return event }
        guard reader.record.word == "timer" else { throw .unknownEvent(reader.record.word) }
        return .deadlineReached
    }

    /// Reads a client's request; nil for another word.
    private static func readRequest(_ reader: ArgumentReader) throws(EventRecordError) -> RoutingEvent? {
        switch reader.record.word {
        case "api.start": .start
        case "api.stop": .stop
        case "api.setPreferred": .setPreferred(try reader.device("device"))
        case "api.setDefault": .setDefault(try reader.device("device"))
        case "api.select": .select(try reader.device("device"))
        case "api.clearSelection": .clearSelection
        case "api.mute": .mute(try reader.flag("on"))
        case "api.refresh": .refresh
        case "session.activate": .sessionActivated
        case "session.deactivate": .sessionDeactivated
        default: nil
        }
    }

    /// Reads an event of a call; nil for another word.
    private static func readCall(_ reader: ArgumentReader) throws(EventRecordError) -> RoutingEvent? {
        switch reader.record.word {
        case "call.outgoing":
            .callOutgoing(
                call: try reader.text("call"), video: try reader.flag("video", default: false),
                routes: try reader.words("routes", DeviceKind.self), audio: try reader.direction("audio"))
        case "call.incoming":
            .callIncoming(
                call: try reader.text("call"), video: try reader.flag("video", default: false),
                routes: try reader.words("routes", DeviceKind.self), audio: try reader.direction("audio"))
        case "call.media":
            .callMedia(
                call: try reader.text("call"), audio: try reader.direction("audio"),
                video: try reader.direction("video", default: .off))
        case "call.routes":
            .callRoutes(call: try reader.text("call"), routes: try reader.words("routes", DeviceKind.self))
        case "call.local":
            .callLocalMedia(
                call: try reader.text("call"), audio: try reader.flag("audio", default: true),
                video: try reader.flag("video", default: true))
        case "call.talk": .callTalking(call: try reader.text("call"), isTalking: try reader.flag("on"))
        case "call.answered": .callAnswered(call: try reader.text("call"), via: try reader.via("via"))
        case "call.held": .callHeld(call: try reader.text("call"))
        case "call.resumed": .callResumed(call: try reader.text("call"))
        case "call.ended": .callEnded(call: try reader.text("call"))
        default: nil
        }
    }

    /// Reads a report about headsets and their links; nil for another word.
    private static func readHeadset(_ reader: ArgumentReader) throws(EventRecordError) -> RoutingEvent? {
        switch reader.record.word {
        case "bt.described":
            .headsetDescribed(
                try reader.address("addr"), category: try reader.category("category"),
                inbandRing: try reader.flag("inband", default: true))
        case "bt.wish":
            .headsetPreference(try reader.address("addr"), takesCalls: try reader.flag("calls", default: true))
        case "bt.rest": .headsetResting(try reader.address("addr"), isResting: try reader.flag("on"))
        case "bt.connected":
            .headsetConnected(
                try reader.address("addr"),
                profiles: try reader.words("profiles", LinkMode.self) ?? LinkMode.allCases)
        case "bt.disconnected": .headsetDisconnected(try reader.address("addr"))
        case "bt.removed": .headsetForgotten(try reader.address("addr"))
        case "bt.profile":
            .headsetProfile(
                try reader.address("addr"), try reader.word("profile", LinkMode.self), isUp: try reader.flag("up"))
        case "bt.adapter": .adapterPowered(try reader.flag("powered"))
        case "bt.audioOpened":
            .linkOpenedByHeadset(
                try reader.address("addr"),
                mode: reader.has("mode") ? try reader.word("mode", LinkMode.self) : nil)
        case "bt.audioClosed": .linkClosed(try reader.address("addr"), try reader.closeReason("reason"))
        case "link.closed": .linkClosed(try reader.address("addr"), .requested)
        case "bt.audioSilent": .linkSilent(try reader.address("addr"))
        case "bt.audioResumed": .linkResumed(try reader.address("addr"))
        case "bt.codec": .codecChanged(try reader.address("addr"), try reader.codec("codec"))
        case "link.opened": .linkOpened(try reader.address("addr"))
        case "link.failed":
            .linkFailed(try reader.address("addr"), try reader.word("failure", LinkFailure.self))
        default: nil
        }
    }

    /// Reads an event of the board or an interruption; nil for another word.
    private static func readBoard(_ reader: ArgumentReader) throws(EventRecordError) -> RoutingEvent? {
        switch reader.record.word {
        case "jack.plugged": .jackPlugged(microphone: try reader.flag("mic", default: true))
        case "jack.unplugged": .jackUnplugged
        case "local.lost": .localLost(try reader.word("kind", LocalDevice.self))
        case "local.found": .localFound(try reader.word("kind", LocalDevice.self))
        case "handset.offHook": .handsetOffHook
        case "handset.onHook": .handsetOnHook
        case "interruption.begin": .interruptionBegan(source: try reader.text("source", default: ""))
        case "interruption.end": .interruptionEnded(resume: try reader.flag("resume", default: true))
        default: nil
        }
    }
}

extension AnsweredVia: CustomStringConvertible {
    package init?(parsing text: String) {
        if text == "handset" {
            self = .handset
        } else if case .headset(let address) = AudioDevice(parsing: text) {
            self = .headset(address)
        } else {
            return nil
        }
    }

    /// `handset` or `bluetooth:ADDRESS`
    package var description: String {
        switch self {
        case .headset(let address): "bluetooth:\(address)"
        case .handset: "handset"
        }
    }
}

/// Typed, checked access to the arguments of one record.
private struct ArgumentReader {
    let record: EventRecord

    func has(_ name: String) -> Bool { value(name) != nil }

    private func value(_ name: String) -> EventRecord.Value? {
        record.arguments.first { $0.name == name }?.value
    }

    private func invalid(_ name: String, _ accepted: String) -> EventRecordError {
        value(name) == nil
            ? .missingArgument(word: record.word, name, accepted: accepted)
            : .invalidArgument(word: record.word, name, accepted: accepted)
    }

    func text(_ name: String, default fallback: String? = nil) throws(EventRecordError) -> String {
        if case .text(let text) = value(name) { return text }
        guard let fallback, value(name) == nil else { throw invalid(name, "a text") }
        return fallback
    }

    func flag(_ name: String, default fallback: Bool? = nil) throws(EventRecordError) -> Bool {
        if case .flag(let flag) = value(name) { return flag }
        guard let fallback, value(name) == nil else { throw invalid(name, "true | false") }
        return fallback
    }

    func device(_ name: String) throws(EventRecordError) -> AudioDevice {
        guard case .text(let text) = value(name), let device = AudioDevice(parsing: text) else {
            throw invalid(name, AudioDevice.acceptedWords)
        }
        return device
    }

    func address(_ name: String) throws(EventRecordError) -> BluetoothAddress {
        guard case .text(let text) = value(name), let address = BluetoothAddress(text) else {
            throw invalid(name, "H1, H2, … or AA:BB:CC:DD:EE:FF")
        }
        return address
    }

    /// Closing by the other side only; by its user unless stated.
    func closeReason(_ name: String) throws(EventRecordError) -> LinkCloseReason {
        guard has(name) else { return .remote }
        guard case .text(let text) = value(name), let reason = LinkCloseReason(rawValue: text), reason != .requested
        else { throw invalid(name, "remote | linkLoss") }
        return reason
    }

    func via(_ name: String) throws(EventRecordError) -> AnsweredVia? {
        guard has(name) else { return nil }
        guard case .text(let text) = value(name), let via = AnsweredVia(parsing: text) else {
            throw invalid(name, "handset | bluetooth:ADDRESS")
        }
        return via
    }

    func word<Word: RawRepresentable & CaseIterable>(
        _ name: String, _: Word.Type
    ) throws(EventRecordError) -> Word where Word.RawValue == String {
        guard case .text(let text) = value(name), let word = Word(rawValue: text) else {
            throw invalid(name, Self.accepted(Word.self))
        }
        return word
    }

    func direction(
        _ name: String, default fallback: MediaDirection = .sendReceive
    ) throws(EventRecordError) -> MediaDirection {
        has(name) ? try word(name, MediaDirection.self) : fallback
    }

    func words<Word: RawRepresentable & CaseIterable>(
        _ name: String, _: Word.Type
    ) throws(EventRecordError) -> [Word]? where Word.RawValue == String {
        guard has(name) else { return nil }
        guard case .list(let texts) = value(name) else { throw invalid(name, Self.accepted(Word.self)) }
        var words: [Word] = []
        for text in texts {
            guard let word = Word(rawValue: text) else { throw invalid(name, Self.accepted(Word.self)) }
            words.append(word)
        }
        return words
    }

    private static func accepted<Word: RawRepresentable & CaseIterable>(
        _: Word.Type
    ) -> String where Word.RawValue == String {
        Word.allCases.map(\.rawValue).joined(separator: " | ")
    }

    func category(_ name: String) throws(EventRecordError) -> ClassOfDevice.Category {
        guard case .text(let text) = value(name), let category = ClassOfDevice.Category(rawValue: text) else {
            throw invalid(name, "headset | speaker | watch")
        }
        return category
    }

    func codec(_ name: String) throws(EventRecordError) -> VoiceCodec {
        guard case .text(let text) = value(name),
            let codec = VoiceCodec.allCases.first(where: { $0.description.lowercased() == text.lowercased() })
        else { throw invalid(name, VoiceCodec.allCases.map(\.description).joined(separator: " | ")) }
        return codec
    }

    func configuration(changing base: RoutingConfiguration) throws(EventRecordError) -> RoutingConfiguration {
        var configuration = base
        for argument in record.arguments {
            do {
                try configuration.set(key: argument.name, value: argument.value.configurationText)
            } catch {
                throw .configuration(error)
            }
        }
        return configuration
    }
}
