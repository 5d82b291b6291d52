import BluetoothTypes
import BoardInput
import ControlLoop
import Foundation
import TestSupport
import Testing

@Suite @ControlPlane struct DirectoryWatchTests {
    private let root = FileManager.default.temporaryDirectory.appendingPathComponent("btcall-watch-\(UUID())")
    private let settling = Duration.milliseconds(30)

    private func make(_ path: String) throws {
        try FileManager.default.createDirectory(
            at: root.appendingPathComponent(path), withIntermediateDirectories: true)
    }

    private func touch(_ path: String) throws { try Data().write(to: root.appendingPathComponent(path)) }

    private func remove(_ path: String) throws {
        try FileManager.default.removeItem(at: root.appendingPathComponent(path))
    }

    @Test func `an entry that comes, changes its permissions or goes is reported, once for simultaneous changes`()
        async throws
    {
        try make("snd")
        defer { try? FileManager.default.removeItem(at: root) }
        var changes = 0
        let watch = try DirectoryWatch(
            root.appendingPathComponent("snd").path, settling: settling, isWanted: { $0.hasPrefix("control") },
            onChange: { changes += 1 })
        try touch("snd/controlC0")
        try touch("snd/controlC1")
        try await eventually("the arrival is reported") { changes == 1 }
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o640], ofItemAtPath: root.appendingPathComponent("snd/controlC0").path)
        try await eventually("the permission is reported") { changes == 2 }
        try touch("snd/timer")
        try remove("snd/controlC0")
        try await eventually("the departure is reported") { changes == 3 }
        watch.cancel()
    }

    @Test func `the directory itself may come later, several levels at once, go and come back`() async throws {
        try make("")
        defer { try? FileManager.default.removeItem(at: root) }
        var changes = 0
        let watch = try DirectoryWatch(
            root.appendingPathComponent("a/b/snd").path, settling: settling, isWanted: { _ in true },
            onChange: { changes += 1 })
        try touch("nothing")
        for round in 0..<3 {
            changes = 0
            try make("a/b/snd")
            try await eventually("round \(round): the directory is reported") { changes > 0 }
            changes = 0
            try touch("a/b/snd/controlC0")
            try await eventually("round \(round): the entry is reported") { changes > 0 }
            changes = 0
            try remove("a")
            try await eventually("round \(round): the end is reported") { changes > 0 }
        }
        watch.cancel()
    }

    @Test func `a restless directory is still reported, and a cancelled watch reports nothing`() async throws {
        try make("snd")
        defer { try? FileManager.default.removeItem(at: root) }
        var changes = 0
        let watch = try DirectoryWatch(
            root.appendingPathComponent("snd").path, settling: settling, isWanted: { _ in true },
            onChange: { changes += 1 })
        let end = ControlLoop.now.advanced(by: .seconds(5))
        while changes == 0, ControlLoop.now < end {
            try touch("snd/x")
            try remove("snd/x")
            await ControlLoop.shared.sleep(for: .milliseconds(5))
        }
        #expect(changes > 0)
        try touch("snd/y")
        watch.cancel()
        changes = 0
        var isOver = false
        ControlLoop.shared.schedule(after: settling * 4) { isOver = true }
        try await eventually("the settling time has passed") { isOver }
        #expect(changes == 0)
    }
}
