import BTCallAPI
import BluetoothTypes
import DBus
import Testing

@testable import BTCall

@Suite struct BridgeEventTests {
    private func events(_ path: String, _ interface: String, _ member: String, _ arguments: [Value]) -> [BridgeEvent] {
        BridgeEvent.events(
            of: BusSignal(sender: ":1.1", path: path, interface: interface, member: member, arguments: arguments))
    }

    private func changed(_ interface: String, _ values: [String: Value]) -> [BridgeEvent] {
        events(
            "/org/btcall/router", "org.freedesktop.DBus.Properties", "PropertiesChanged",
            [.string(interface), .vardict(values), .strings([])])
    }

    @Test func `A state of a call has the same word on the bus`() {
        #expect(Call.State.allCases.map { CallDescription.State($0).rawValue } == Call.State.allCases.map(\.rawValue))
        #expect(CallDescription.State.allCases.map { Call.State($0).rawValue } == Call.State.allCases.map(\.rawValue))
    }

    @Test func `Signals become events`() throws {
        let id = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
        let path = BTCallPath.call(id)
        #expect(
            events(BTCallPath.router, BTCallName.Interface.router, "RouteChanged", ["none", "earpiece", "callStarted"])
                == [.routeChanged(old: .none, new: .earpiece, reason: "callStarted")])
        #expect(
            events(BTCallPath.router, BTCallName.Interface.router, "ActivationFailed", ["bluetooth"])
                == [.activationFailed(device: .bluetooth)])
        #expect(
            events(path, BTCallName.Interface.call, "StateChanged", ["ended", "local"])
                == [.callStateChanged(Call.ID(text: id), .ended, reason: "local")])
        #expect(
            events(path, BTCallName.Interface.call, "StatusChanged", ["busy", "busy"])
                == [.callStatusChanged(Call.ID(text: id), .busy, reason: "busy")])
        #expect(events(path, BTCallName.Interface.call, "StatusChanged", ["unheardOf", ""]) == [])
        #expect(
            events(BTCallPath.calls, BTCallName.Interface.calls, "CallRemoved", [.objectPath(path), ""])
                == [.callRemoved(Call.ID(text: id), reason: nil)])
        let call = CallDescription(id: id, state: .ringing, direction: .incoming, provider: "p", index: 1)
        #expect(
            events(
                BTCallPath.calls, BTCallName.Interface.calls, "CallAdded",
                [.objectPath(path), .vardict(call.properties)])
                == [.callAdded(Call(call))])
        let headset = BTCallPath.headset(BluetoothAddress(value: 0xAABB_CCDD_EE0F))
        #expect(
            events(headset, BTCallName.Interface.headset, "ButtonPressed", ["multifunction"])
                == [.buttonPressed(address: "AA:BB:CC:DD:EE:0F", button: "multifunction")])
        #expect(
            events(headset, BTCallName.Interface.headset, "VendorEvent", ["DON", .strings(["1", ""])])
                == [.headsetEvent(address: "AA:BB:CC:DD:EE:0F", event: "DON", values: ["1", ""])])
        #expect(
            events(
                headset, "org.freedesktop.DBus.Properties", "PropertiesChanged",
                [
                    .string(BTCallName.Interface.headset),
                    .vardict(["MicrophoneMuted": true, "PowerSource": "", "Battery": .int32(7)]), .strings([]),
                ])
                == [
                    .headsetChanged(address: "AA:BB:CC:DD:EE:0F", name: "microphoneMuted", value: "true"),
                    .headsetChanged(address: "AA:BB:CC:DD:EE:0F", name: "powerSource", value: nil),
                ])
    }

    @Test func `Changed properties become events`() {
        #expect(
            changed(
                BTCallName.Interface.router, ["Codec": "", "Started": true, "Pending": "none", "Reason": "stopped"])
                == [
                    .settingChanged(name: "started", value: "true"), .settingChanged(name: "pending", value: "none"),
                    .settingChanged(name: "codec", value: nil),
                ])
        #expect(changed(BTCallName.Interface.calls, ["Muted": true]) == [.mutedChanged(true)])
        for (value, quality) in [(63, 63), (0, 0), (-1, nil)] as [(Int32, Int?)] {
            let id = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
            #expect(
                events(
                    BTCallPath.call(id), "org.freedesktop.DBus.Properties", "PropertiesChanged",
                    [.string(BTCallName.Interface.call), .vardict(["Quality": .int32(value)]), .strings([])])
                    == [.callQualityChanged(Call.ID(text: id), quality)])
        }
        #expect(changed(BTCallName.Interface.call, ["State": "active"]) == [])
        let device = DeviceDescription(device: .earpiece, name: "Handset", isAvailable: true)
        #expect(
            changed(BTCallName.Interface.router, ["Devices": .vardicts([device.fields])])
                == [.devicesChanged([AudioDevice(device)])])
        let problem = ProblemDescription(id: "a", what: "b", remedy: "c")
        #expect(
            changed(BTCallName.Interface.manager, ["State": "active", "Problems": .vardicts([problem.fields])])
                == [.stateChanged(.active), .problemsChanged([BridgeProblem(problem)])])
    }

    @Test func `A signal without the promised shape is not an event`() {
        #expect(events("/x", BTCallName.Interface.router, "RouteChanged", ["none"]) == [])
        #expect(events("/x", BTCallName.Interface.router, "RouteChanged", ["none", "radio", "x"]) == [])
        #expect(events("/x", BTCallName.Interface.headset, "ButtonPressed", ["x"]) == [])
        #expect(events("/x", BTCallName.Interface.headset, "VendorEvent", ["x", .strings([])]) == [])
        #expect(events("/x", BTCallName.Interface.calls, "CallAdded", [.objectPath("/x"), .vardict([:])]) == [])
        #expect(events("/x", "org.freedesktop.DBus.Properties", "PropertiesChanged", []) == [])
        #expect(events("/x", "org.example", "Y", []) == [])
    }
}

extension BridgeEventTests {
    @Test func `Changes of voice processing become events`() {
        func events(_ interface: String, _ member: String, _ arguments: [Value]) -> [BridgeEvent] {
            BridgeEvent.events(
                of: BusSignal(
                    sender: ":1.1", path: BTCallPath.audio, interface: interface, member: member, arguments: arguments))
        }
        #expect(events(BTCallName.Interface.audio, "SpeakingWhileMuted", []) == [.speakingWhileMuted])
        #expect(
            events(
                "org.freedesktop.DBus.Properties", "PropertiesChanged",
                [
                    .string(BTCallName.Interface.audio),
                    .vardict(["VoiceProcessor": "none", "VoiceProcessing": false, "MicVolume": .double(1)]),
                    .strings([]),
                ]) == [
                    .settingChanged(name: "voiceProcessing", value: "false"),
                    .settingChanged(name: "voiceProcessor", value: "none"),
                ])
    }
}
