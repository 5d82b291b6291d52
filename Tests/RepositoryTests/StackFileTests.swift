import Configuration
import Testing

/// The list of known faults that ships.
@Suite struct StackFileTests {
    private static func database() throws -> StackDatabase {
        try StackDatabase(parsing: Array(RepositoryTests.contents("etc/stack.conf").utf8), file: "stack.conf")
    }

    @Test(
        arguments: [
            ("5.50", []), ("5.55", ["crash-at-connection-5-55"]), ("5.59", ["music-profile-5-59"]),
            ("5.63", ["crash-at-connection-5-62"]), ("5.66", []), ("5.67", ["crash-with-music-5-67"]),
            ("5.71", ["forgets-keys-5-71", "crash-after-music-5-71"]), ("5.82", []), ("5.83", ["music-at-start-5-83"]),
            ("5.84", ["music-at-start-5-83", "earbuds-refused-5-84"]),
            ("5.86", ["earbuds-refused-5-84", "music-both-ways-5-86"]),
            ("5.87", ["earbuds-refused-5-84", "music-after-power-cycle-5-87"]),
        ] as [(String, [String])])
    func `faults of bluetoothd`(_ version: String, _ names: [String]) throws {
        let subject = StackFault.Subject(release: version, distribution: "debian")
        #expect(try Self.database().faults(of: .bluetoothd, in: subject).map(\.name) == names)
    }

    @Test(
        arguments: [
            ("5.4.0-42-generic", nil, 6, ["packet-status"]),
            ("5.4.0-42-generic", nil, 1, ["packet-status", "wrong-size-at-setting-1"]),
            ("5.10.0-9-amd64", "5.10.70", 1, ["no-setting-6"]), ("5.10.0-9-amd64", "5.10.70", 6, []),
            ("5.10.55-rpi", nil, 1, ["no-setting-6", "wrong-size-at-setting-1"]),
            ("6.1.0-50-amd64", "6.1.176", 1, []), ("6.1.0-56-amd64", "6.1.192", 6, ["debian-channel-list"]),
            ("6.6.26", nil, 6, ["own-connections-unseen"]), ("6.6.28", nil, 6, []), ("6.8.12", nil, 6, ["one-profile"]),
            ("6.12.25+rpt-rpi-v8", nil, 1, []), ("7.2.3-amd64", nil, 1, []),
        ] as [(String, String?, Int, [String])])
    func `faults of the kernel`(_ release: String, _ upstream: String?, _ setting: Int, _ names: [String]) throws {
        let subject = StackFault.Subject(
            release: release, upstream: upstream, distribution: "debian", alternateSettings: [setting])
        #expect(try Self.database().faults(of: .kernel, in: subject).map(\.name) == names)
    }

    @Test func `every row has been written out`() throws {
        for fault in try Self.database().faults {
            #expect(fault.isEnabled && !fault.symptom.isEmpty && !fault.reference.isEmpty, "\(fault.name)")
            // A remedy of its own where an update alone does not help.
            #expect(fault.severity == .warning || fault.remedy != nil, "\(fault.name)")
        }
    }
}
