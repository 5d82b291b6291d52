import BTCall
import BTCallAPI
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import CallControl
import Configuration
import ControlLoop
import DBus
import Foundation
import FoundationXML
import TestSupport
import Testing

extension DaemonTests {
    @Suite @ControlPlane struct ProgrammingInterfaceTests {
        private static let properties = "org.freedesktop.DBus.Properties"

        @Test func `Every object matches its interface file`() async throws {
            try await Box.run { box in
                _ = try await box.connect(Box.first)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                let call = try #require(box.daemon.calls.calls.first?.path)
                let objects = [
                    ("/org/btcall", "Manager1"), ("/org/btcall", "Pairing1"), ("/org/btcall/router", "Router1"),
                    ("/org/btcall/audio", "Audio1"),
                    ("/org/btcall/calls", "Calls1"), (call, "Call1"), ("/org/btcall/session", "Session1"),
                    ("/org/btcall/headsets/\(Box.first.pathComponent)", "Headset1"),
                ]
                let folder = URL(filePath: #filePath).appending(path: "../../../../dbus").standardized
                for (path, name) in objects {
                    let interface = "org.btcall.\(name)"
                    let file = try Data(contentsOf: folder.appending(path: "\(interface).xml"))
                    let reply = try await box.client.call(
                        "org.btcall", path, "org.freedesktop.DBus.Introspectable", "Introspect")
                    let text = try #require(reply.first?.stringValue)
                    let expected = InterfaceReader.members(of: interface, in: file)
                    #expect(!expected.isEmpty)
                    #expect(InterfaceReader.members(of: interface, in: Data(text.utf8)) == expected)
                }
            }
        }

        @Test func `Wrong arguments are refused with a typed error and change nothing`() async throws {
            try await Box.run { box in
                try await box.prefer(.earpiece)
                _ = try await box.connect(Box.first)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                try await eventually("the application has the audio") { box.telephone.requests.count == 1 }
                let call = try #require(box.daemon.calls.calls.first?.path)
                let headset = "/org/btcall/headsets/\(Box.first.pathComponent)"
                try await eventually("the headset has settled") {
                    try await box.device("bluetooth:\(Box.first)")?["state"] == "available"
                }
                try await eventually("the call has its path") {
                    try await box.bridge.status().calls.first?.link != nil
                }
                let before = try await box.bridge.status()
                let unknown = Value.objectPath("/unknown")
                let none = Value.vardict([:])
                func set(_ path: String, _ interface: String, _ name: String, _ value: Value) async -> String? {
                    await box.error(
                        path, Self.properties, "Set",
                        [.string("org.btcall." + interface), .string(name), .variant(value)])
                }
                func refused(_ path: String, _ interface: String, _ member: String, _ arguments: [Value]) async
                    -> String?
                {
                    let name = await box.error(path, "org.btcall." + interface, member, arguments)
                    return name.map {
                        $0.hasPrefix(APIError.namePrefix) ? String($0.dropFirst(APIError.namePrefix.count)) : $0
                    }
                }
                let (router, calls) = ("/org/btcall/router", "/org/btcall/calls")
                #expect(await refused(router, "Router1", "Select", ["radio"]) == "InvalidArgument")
                #expect(await refused(router, "Router1", "Select", ["none"]) == "Unavailable")
                #expect(await refused(router, "Router1", "AcquireSelection", ["radio", none]) == "InvalidArgument")
                #expect(await refused(router, "Router1", "AcquireSelection", ["wiredHeadset", none]) == "Unavailable")
                for source in ["", "suspend", "a\tb", String(repeating: "x", count: 65)] {
                    #expect(
                        await refused(router, "Router1", "Interrupt", [.string(source), none]) == "InvalidArgument",
                        "\(source)")
                }
                let forever: [Value] = ["page", .vardict(["resume": "never"])]
                #expect(await refused(router, "Router1", "Interrupt", forever) == "InvalidArgument")
                #expect(await refused("/org/btcall/session", "Session1", "Deactivate", []) == "WrongState")
                let settings: [(String, String, String)] = [
                    ("routing.exclude", "radio", "InvalidArgument"),
                    ("routing.silentLimitMilliseconds", "-1", "InvalidArgument"),
                    ("routing.volume", "3", "InvalidArgument"), ("exclude", "earpiece", "InvalidArgument"),
                    ("routing", "", "InvalidArgument"), ("bluetooth.codecs", "opus", "InvalidArgument"),
                    ("bluetooth.operatorName", "a\nb", "InvalidArgument"),
                    ("audio.callQueueBlocks", "9", "InvalidArgument"), ("daemon.autostart", "no", "NotSupported"),
                    ("device.earpiece.playback", "hw:0,0", "NotSupported"),
                ]
                let manager = "/org/btcall"
                for (key, value, error) in settings {
                    let arguments: [Value] = [.string(key), .string(value)]
                    #expect(await refused(manager, "Manager1", "SetSetting", arguments) == error, "\(key)")
                }
                #expect(await refused(manager, "Manager1", "ResetSetting", ["routing.volume"]) == "InvalidArgument")
                #expect(await refused(manager, "Manager1", "ResetSetting", ["daemon.autostart"]) == "NotSupported")
                #expect(await set(router, "Router1", "Preferred", "radio") == "org.btcall.Error.InvalidArgument")
                #expect(await set(router, "Router1", "Default", "bluetooth:1") == "org.btcall.Error.InvalidArgument")
                #expect(await set(router, "Router1", "Selected", "earpiece") != nil)
                #expect(
                    await set(headset, "Headset1", "SpeakerVolume", .byte(16)) == "org.btcall.Error.InvalidArgument")
                #expect(
                    await set(headset, "Headset1", "MicrophoneVolume", .byte(99)) == "org.btcall.Error.InvalidArgument")
                let options: [(String, Value)] = [
                    ("rate", .uint32(22050)), ("rate", "fast"), ("format", "S24"), ("format", .uint32(16)),
                    ("channels", .uint32(0)), ("channels", .uint32(3)), ("audio", "tape"),
                    ("capabilities", .strings(["fly"])),
                    ("name", .uint32(1)),
                ]
                for (name, value) in options {
                    let arguments: [Value] = [unknown, .vardict([name: value])]
                    #expect(
                        await refused(calls, "Calls1", "RegisterProvider", arguments) == "InvalidArgument", "\(name)")
                }
                #expect(await refused(calls, "Calls1", "UnregisterProvider", [unknown]) == "NoSuchProvider")
                #expect(await refused(calls, "Calls1", "ReportIncoming", [unknown, "1", none]) == "NoSuchProvider")
                let flying: [Value] = [unknown, "1", .vardict(["state": "flying"])]
                #expect(await refused(calls, "Calls1", "ReportOutgoing", flying) == "InvalidArgument")
                #expect(await refused(calls, "Calls1", "Place", ["1", none]) == "NoSuchProvider")
                #expect(
                    await refused(calls, "Calls1", "Place", ["1", .vardict(["provider": .byte(1)])])
                        == "InvalidArgument")
                #expect(await refused(call, "Call1", "Answer", [none]) == "WrongState")
                #expect(await refused(call, "Call1", "SetHeld", [true]) == "NotSupported")
                #expect(await refused(call, "Call1", "SendDTMF", ["12x"]) == "InvalidArgument")
                #expect(await refused(call, "Call1", "SendDTMF", [""]) == "InvalidArgument")
                #expect(await refused(call, "Call1", "SendDTMF", ["1"]) == "NotSupported")
                #expect(await refused(call, "Call1", "Update", ["held", none]) == "NotProvider")
                #expect(await refused(call, "Call1", "Update", ["flying", none]) == "InvalidArgument")
                let bored: [Value] = ["ended", .vardict(["reason": "bored"])]
                #expect(await refused(call, "Call1", "Update", bored) == "InvalidArgument")
                let invalid = "org.freedesktop.DBus.Error.InvalidArgs"
                let methods = [
                    ("/org/btcall", "Manager1", "Activate"), ("/org/btcall", "Manager1", "Deactivate"),
                    (router, "Router1", "Start"), (router, "Router1", "Stop"), (router, "Router1", "Select"),
                    (router, "Router1", "ClearSelection"), (router, "Router1", "Refresh"),
                    (router, "Router1", "Explain"), (router, "Router1", "AcquireSelection"),
                    (router, "Router1", "Interrupt"), ("/org/btcall", "Manager1", "ListSettings"),
                    ("/org/btcall", "Manager1", "SetSetting"), ("/org/btcall", "Manager1", "ResetSetting"),
                    ("/org/btcall/session", "Session1", "Activate"),
                    ("/org/btcall/session", "Session1", "Deactivate"),
                    (calls, "Calls1", "RegisterProvider"), (calls, "Calls1", "UnregisterProvider"),
                    (calls, "Calls1", "ReportIncoming"), (calls, "Calls1", "ReportOutgoing"),
                    (calls, "Calls1", "Place"),
                    (call, "Call1", "Answer"), (call, "Call1", "End"), (call, "Call1", "SetHeld"),
                    (call, "Call1", "SendDTMF"), (call, "Call1", "Update"), (headset, "Headset1", "Disconnect"),
                ]
                for (path, interface, member) in methods {
                    #expect(await refused(path, interface, member, [.double(1)]) == invalid, "\(member)")
                }
                let after = try await box.bridge.status()
                #expect("\(after)" == "\(before)")
                #expect(box.telephone.requests.count == 1)
            }
        }

        @Test func `A provider's wrong reports are refused`() async throws {
            try await Box.run { box in
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                let back = await refusal { () throws(BridgeError) in try await registration.update(call, .alerting) }
                #expect(back?.code == .wrongState)
                try await registration.update(call, .ended, reason: .busy)
                let late = await refusal { () throws(BridgeError) in try await registration.update(call, .active) }
                #expect(late != nil)
                #expect(await refusal { () throws(BridgeError) in try await box.bridge.calls.answer(call) } != nil)
                #expect(try await box.bridge.calls.list().isEmpty)
            }
        }

        @Test func `An inactive daemon refuses providers, and can be activated`() async throws {
            try await Box.run(
                configure: { $0.autostart = false },
                body: { box in
                    #expect(try await box.bridge.status().state == .inactive)
                    let early = await refusal { () throws(BridgeError) in
                        _ = try await box.bridge.register(box.telephone, as: .init(name: "test"))
                    }
                    #expect(early?.code == .wrongState)
                    try await box.bridge.activate()
                    try await eventually("bluetoothd has the profile") { !box.bluez.profiles.isEmpty }
                    let registration = try await box.register()
                    _ = try await box.startCall(registration)
                    try await box.bridge.deactivate()
                    #expect(box.bluez.profiles.isEmpty)
                    #expect(try await box.bridge.calls.list().isEmpty)
                    try await eventually("the application is notified") { box.telephone.requests.last == .released }
                    #expect(try await box.bridge.status().state == .inactive)
                })
        }

        @Test func `Preferences are kept over a restart`() async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-state-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }  // A folder in the temporary directory may stay.
            try await Box.run(
                configure: { $0.stateDirectory = folder.path },
                body: { box in
                    let headset = try #require(Choice.bluetooth(address: "\(Box.second)"))
                    try await box.prefer(headset, default: .speakerphone)
                    try await box.restartDaemon()
                    #expect(try await box.bridge.audioDeviceManager.preferredAudioDevice() == headset)
                    #expect(try await box.bridge.audioDeviceManager.defaultAudioDevice() == .speakerphone)
                    let registration = try await box.register()
                    _ = try await box.startCall(registration)
                    try await box.route(.speakerphone)
                })
        }
    }
}

/// One line for each member of an interface: kind, name, typed arguments, access.
private final class InterfaceReader: NSObject, XMLParserDelegate {
    private let interface: String
    private var isInside = false
    private var members: Set<String> = []
    private var member = ""

    static func members(of interface: String, in data: Data) -> Set<String> {
        let reader = InterfaceReader(interface)
        let parser = XMLParser(data: data)
        parser.delegate = reader
        return parser.parse() ? reader.members : []
    }

    private init(_ interface: String) {
        self.interface = interface
    }

    func parser(
        _ parser: XMLParser, didStartElement element: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        let name = attributes["name"] ?? ""
        switch element {
        case "interface": isInside = name == interface
        case "method", "signal", "property":
            member = "\(element) \(name) \(attributes["type"] ?? "") \(attributes["access"] ?? "")"
        case "arg": member += " \(name):\(attributes["type"] ?? ""):\(attributes["direction"] ?? "out")"
        case "annotation": member += " \(name)=\(attributes["value"] ?? "")"
        default: break
        }
    }

    func parser(_ parser: XMLParser, didEndElement element: String, namespaceURI: String?, qualifiedName: String?) {
        if isInside, ["method", "signal", "property"].contains(element) { members.insert(member) }
    }
}
