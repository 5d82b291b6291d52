import BTCall
import BTCallAPI
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import TestSupport
import Testing

extension DaemonTests {
    /// `Headset1`: an object for every paired headset, connected or not.
    @Suite @ControlPlane struct HeadsetObjectTests {
        private static let path = BTCallPath.headset(Box.first)
        private static let unavailable = "org.btcall.Error.Unavailable"
        private let headset = DeviceChoice("bluetooth:\(Box.first)") ?? .none

        private func property(_ box: Box, _ name: String) async throws -> Value? {
            try await box.client.call(
                BTCallName.bus, Self.path, "org.freedesktop.DBus.Properties", "Get",
                [.string(BTCallName.Interface.headset), .string(name)]
            ).first?.unwrapped
        }

        private func objects(_ box: Box) async throws -> [String: [String]] {
            let reply = try await box.client.call(
                BTCallName.bus, BTCallPath.manager, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
            var objects: [String: [String]] = [:]
            for entry in reply.first?.entries ?? [] {
                objects[entry.key.stringValue ?? ""] = (entry.value.entries ?? []).compactMap(\.key.stringValue)
            }
            return objects
        }

        @Test func `clients see objects of paired headsets, not those made for bluetoothd`() async throws {
            try await Box.run { box in
                let objects = try await objects(box)
                #expect(
                    Set(objects.keys) == [
                        BTCallPath.router, BTCallPath.audio, BTCallPath.session, BTCallPath.calls, Self.path,
                        BTCallPath.headset(Box.second),
                    ])
                #expect(objects.values.allSatisfy { $0.allSatisfy { $0.hasPrefix("org.btcall.") } })
                // bluetoothd still finds it.
                #expect(!box.bluez.profiles.isEmpty)
            }
        }

        @Test func `no signal names objects made for bluetoothd`() async throws {
            try await Box.run(
                configure: { $0.autostart = false },
                body: { box in
                    var told: [String] = []
                    let added = box.client.subscribe(
                        sender: BTCallName.bus, path: BTCallPath.manager, member: "InterfacesAdded"
                    ) { signal in told.append(signal.arguments.first?.stringValue ?? "") }
                    defer { added.cancel() }
                    try await box.bridge.activate()
                    try await eventually("the profile is registered") { !box.bluez.profiles.isEmpty }
                    let registration = try await box.register()
                    let call = try await registration.reportIncoming(number: "1", name: "Door")
                    try await eventually("the call is signalled") { told.contains(BTCallPath.call("\(call)")) }
                    #expect(told.allSatisfy { $0.hasPrefix(BTCallPath.calls) || $0.hasPrefix(BTCallPath.headsets) })
                })
        }

        @Test func `an absent headset has its name, refuses impossible requests, and can be connected`() async throws {
            try await Box.run { box in
                #expect(try await property(box, "Connected") == false)
                #expect(try await property(box, "Name") == "headset 1")
                #expect(try await property(box, "Battery") == .int32(-1))
                let interface = BTCallName.Interface.headset
                #expect(await box.error(Self.path, interface, "Disconnect") == Self.unavailable)
                for (name, volume): (String, Value) in [
                    ("SpeakerVolume", .byte(3)), ("MicrophoneVolume", .byte(3)), ("MediaVolume", .int32(3)),
                ] {
                    let error = await box.error(
                        Self.path, "org.freedesktop.DBus.Properties", "Set",
                        [.string(interface), .string(name), .variant(volume)])
                    #expect(error == Self.unavailable, "\(name)")
                }
                // The headset is absent.
                let refused = await refusal { () throws(BridgeError) in
                    try await box.bridge.audioDeviceManager.connect(headset)
                }
                #expect(refused?.code == .unavailable && refused?.message.contains("is not connected: ") == true)
                let ears = Ears(
                    VirtualHeadset(.init(address: Box.first, name: "headset 1", codecs: [.cvsd], battery: 70)))
                box.bluez.onConnected = { _, descriptor in
                    do {
                        try ears.headset.attach(descriptor)
                    } catch {
                        Issue.record("\(error)")
                    }
                }
                try await box.bridge.audioDeviceManager.connect(headset)
                try await eventually("it is connected") { try await property(box, "Connected") == true }
                // A second call does nothing.
                let pages = box.bluez.pages.count
                try await box.bridge.audioDeviceManager.connect(headset)
                #expect(box.bluez.pages.count == pages)
                try await box.bridge.audioDeviceManager.disconnect(headset)
                try await eventually("it is away") { try await property(box, "Connected") == false }
                #expect(try await property(box, "Codecs") == .strings([]))
                #expect(try await objects(box)[Self.path] != nil)
            }
        }

        @Test func `unpairing a headset removes its object, and Connect is refused`() async throws {
            try await Box.run { box in
                try await box.bridge.pairing.forget("\(Box.first)")
                try await eventually("its object is gone") { try await objects(box)[Self.path] == nil }
                let error = await refusal { () throws(BridgeError) in
                    try await box.bridge.audioDeviceManager.connect(headset)
                }
                #expect(error?.code == .unavailable && error?.message.hasPrefix("\(Box.first) is not paired") == true)
                let local = await refusal { () throws(BridgeError) in
                    try await box.bridge.audioDeviceManager.connect(.earpiece)
                }
                #expect(local?.code == .invalidArgument)
            }
        }

        @Test func `Connect fails at once while the daemon is inactive`() async throws {
            try await Box.run { box in
                try await box.bridge.deactivate()
                let error = await box.error(Self.path, BTCallName.Interface.headset, "Connect")
                #expect(error == "org.btcall.Error.WrongState")
                #expect(box.bluez.pages.isEmpty)
            }
        }
    }
}
