import BluetoothTypes
import Configuration
import ControlLoop
import Foundation
import HeadsetControl
import HeadsetPolicy
import Testing

@Suite struct ReconnectStoreTests {
    private let first = BluetoothAddress(value: 0x0000_5E00_5301)
    private let second = BluetoothAddress(value: 0x0000_5E00_5302)

    private func inDirectory(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-reconnect-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }  // It may stay in the temporary directory.
        try body(folder.path())
    }

    @Test func `a written file is read back unchanged, and an absent file is empty`() throws {
        try inDirectory { directory in
            let store = ReconnectStore(directory: directory, boot: "a")
            #expect(try store.load().isEmpty)
            let all: [BluetoothAddress: ReconnectManager.Memory] = [
                first: .init(used: 12, left: .byHeadset, quarantine: Instant(milliseconds: 4321)),
                second: .init(used: 7, left: .byHand),
            ]
            try store.file.replace(with: store.text(all))
            #expect(try store.load() == all)
            try store.file.replace(with: store.text([:]))
            #expect(try store.load().isEmpty)
        }
    }

    @Test func `another boot keeps the order and disconnections by hand, and nothing else`() throws {
        try inDirectory { directory in
            let store = ReconnectStore(directory: directory, boot: "a")
            try store.file.replace(
                with: store.text([
                    first: .init(used: 12, left: .byHeadset, quarantine: Instant(milliseconds: 4321)),
                    second: .init(used: 7, left: .byHand),
                ]))
            #expect(
                try ReconnectStore(directory: directory, boot: "b").load() == [
                    first: .init(used: 12), second: .init(used: 7, left: .byHand),
                ])
            // If the kernel does not say which boot this is, it may be another one.
            let unknown = ReconnectStore(directory: directory, boot: "")
            try unknown.file.replace(with: unknown.text([first: .init(used: 1, left: .byHeadset)]))
            #expect(try ReconnectStore(directory: directory, boot: "").load() == [first: .init(used: 1)])
        }
        #expect(ReconnectStore.presentBoot.count == 36 && ReconnectStore.presentBoot == ReconnectStore.presentBoot)
    }

    @Test(arguments: [
        "[00:00:5E:00:53]\nused = 1\n", "[00:00:5E:00:53:01]\nused = -1\n", "[00:00:5E:00:53:01]\nused = many\n",
        "[00:00:5E:00:53:01]\nquarantine = 99999999999999999999\n", "[00:00:5E:00:53:01]\nleft = alone\n",
        "[00:00:5E:00:53:01]\ncolour = red\n", "nonsense\n",
    ])
    func `an invalid file is reported with its line`(_ text: String) throws {
        try inDirectory { directory in
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: URL(filePath: directory + "/reconnect.conf"))
            let error = try #require(throws: ConfigurationError.self) {
                try ReconnectStore(directory: directory).load()
            }
            #expect(error.line != nil && "\(error)".contains("reconnect.conf"), "\(error)")
        }
    }

    @Test func `an unwritable directory is an error with its call`() {
        let error = #expect(throws: SystemError.self) {
            try ReconnectStore(directory: "/proc/btcall").file.replace(with: "")
        }
        #expect(error?.call == "mkdir")
    }

    @Test(arguments: [
        (UInt8(0x08), DisconnectionReason.timeout), (0x22, .timeout), (0x13, .remote), (0x14, .remote), (0x15, .remote),
        (0x16, .local), (0x05, .authentication), (0x06, .authentication), (0x00, .unknown), (0xFF, .unknown),
    ])
    func `the controller's code is translated into a reason`(code: UInt8, reason: DisconnectionReason) {
        #expect(DisconnectionReason(controllerError: code) == reason)
    }
}
