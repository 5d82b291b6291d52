import BTCall
import BTCallAPI
import BluetoothTypes
import CommandKit
import CommandTestSupport
import ControlLoop
import Testing

@testable import BTCallCommand

/// DEVICE and HEADSET of a command line, which every verb parses in the same way.
@Suite(.timeLimit(.minutes(1))) struct DeviceArgumentTests {
    let bus: PrivateBus
    let daemon: FakeDaemon

    init() async throws {
        bus = try PrivateBus()
        daemon = try await FakeDaemon(bus.address)
        await prepare { daemon in
            daemon.router = RouterState(isStarted: true)
            daemon.router.devices = [
                Self.headset(0xAABB_CCDD_EE0F, "Jabra Talk"), Self.headset(0x0000_5E00_5301, "Jabra Evolve"),
                Self.headset(0x0000_5E00_5302, "Büro"),
                DeviceDescription(device: .earpiece, name: "Handset", isAvailable: true),
            ]
        }
    }

    private static func headset(_ address: UInt64, _ name: String) -> DeviceDescription {
        DeviceDescription(
            device: .headset(BluetoothAddress(value: address)), name: name, isAvailable: true)
    }

    @ControlPlane private func prepare(_ change: @ControlPlane (FakeDaemon) -> Void) { change(daemon) }

    @Test(arguments: [
        ("earpiece", "earpiece"), ("EarPiece", "earpiece"), ("wiredheadset", "wiredHeadset"),
        ("Bluetooth", "bluetooth"),
        ("NONE", "none"), ("bluetooth:AA:BB:CC:DD:EE:0F", "bluetooth:AA:BB:CC:DD:EE:0F"),
        ("aa:bb:cc:dd:ee:0f", "bluetooth:AA:BB:CC:DD:EE:0F"),
        ("BlueTooth:aa:bb:cc:dd:ee:0f", "bluetooth:AA:BB:CC:DD:EE:0F"),
        // Unknown, but still a device.
        ("00:00:5E:00:53:77", "bluetooth:00:00:5E:00:53:77"),
        ("Jabra Talk", "bluetooth:AA:BB:CC:DD:EE:0F"), ("jabra e", "bluetooth:00:00:5E:00:53:01"),
        ("BÜ", "bluetooth:00:00:5E:00:53:02"), ("bluetooth:büro", "bluetooth:00:00:5E:00:53:02"), ("hands", "earpiece"),
    ])
    func `A device is a kind, an address with or without its prefix, or a name or its beginning`(
        typed: String, device: String
    ) async throws {
        #expect(try await CommandRun.btcall("prefer", typed, bus: bus).status == 0)
        #expect(await daemon.router.preferred.description == device)
    }

    @Test(arguments: [
        (
            "jab",
            "several devices have a name that begins with jab: AA:BB:CC:DD:EE:0F (Jabra Talk), "
                + "00:00:5E:00:53:01 (Jabra Evolve): give more of the name, or the address"
        ),
        (
            "earpeace",
            "there is no device earpeace: did you mean 'earpiece'? known are AA:BB:CC:DD:EE:0F (Jabra Talk), "
                + "00:00:5E:00:53:01 (Jabra Evolve), 00:00:5E:00:53:02 (Büro), earpiece (Handset); "
                + "accepted: \(DeviceArgument.accepted)"
        ),
        (
            "Jabra Tlak",
            "there is no device Jabra Tlak: did you mean 'Jabra Talk'? known are AA:BB:CC:DD:EE:0F (Jabra Talk), "
                + "00:00:5E:00:53:01 (Jabra Evolve), 00:00:5E:00:53:02 (Büro), earpiece (Handset); "
                + "accepted: \(DeviceArgument.accepted)"
        ),
    ])
    func `An ambiguous device is refused with the candidates, and nothing is changed`(
        typed: String, message: String
    ) async throws {
        for verb in ["prefer", "default", "select", "exclude"] {
            let run = try await CommandRun.btcall(verb, typed, bus: bus)
            #expect(run.status == 1 && run.errors == "btcall: \(message)\n")
        }
        #expect(await daemon.requests.isEmpty)
        #expect(await daemon.router.preferred == .none)
    }

    @Test func `A headset is named like a device, and bluetooth is the only one`() async throws {
        await prepare { $0.quirksExplanation = QuirksExplanationDescription(address: BluetoothAddress(value: 1)) }
        func asked(_ typed: String) async throws -> String? {
            _ = try await CommandRun.btcall("quirks", "explain", typed, bus: bus)
            return await daemon.requests.last
        }
        for typed in ["JABRA T", "bluetooth:jabra talk", "aa:bb:cc:dd:ee:0f", "bluetooth:AA:BB:CC:DD:EE:0F"] {
            #expect(try await asked(typed) == "ExplainQuirks AA:BB:CC:DD:EE:0F")
        }
        let several = try await CommandRun.btcall("quirks", "explain", "bluetooth", bus: bus)
        #expect(
            several.errors.hasPrefix("btcall: there are several headsets; name one: AA:BB:CC:DD:EE:0F (Jabra Talk), "))
        let local = try await CommandRun.btcall("quirks", "explain", "earpiece", bus: bus)
        #expect(local.errors.hasPrefix("btcall: earpiece is not a headset; known are AA:BB:CC:DD:EE:0F (Jabra Talk), "))
        // A local device's name is not a headset's.
        let handset = try await CommandRun.btcall("quirks", "explain", "hands", bus: bus)
        #expect(handset.status == 1 && handset.errors.hasPrefix("btcall: there is no headset hands: known are "))
        await prepare { $0.router.devices.removeAll { $0.name.hasPrefix("Jabra") } }
        #expect(try await asked("bluetooth") == "ExplainQuirks 00:00:5E:00:53:02")
    }
}
