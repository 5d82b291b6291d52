import CommandTestSupport
import ControlLoop
import Foundation
import TestSupport
import Testing

@testable import btcall_video

/// `Examples/frames.c`, a reader that shares no code with us.
@Suite(.timeLimit(.minutes(2))) @ControlPlane struct FrameExampleTests {
    nonisolated private static let compiler = "/usr/bin/gcc"
    nonisolated private static let canCompile =
        FileManager.default.isExecutableFile(atPath: compiler)
        && FileManager.default.fileExists(atPath: "/usr/include/systemd/sd-bus.h")

    /// Not on the control plane, which serves the program.
    private func aside<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
        await Task { @concurrent in work() }.value
    }

    @Test(.enabled(if: canCompile, "install gcc and libsystemd-dev"))
    func `the example in C reads a ring, and ends with its picture`() async throws {
        let source = Page.root.appending(path: "Examples/frames.c").path()
        let program = FileManager.default.temporaryDirectory.appending(path: "frames-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: program) }  // It may stay in the temporary directory.
        let compiling = try ChildProcess(
            Self.compiler, ["-Wall", "-Wextra", "-Werror", "-o", program, source, "-lsystemd"], capturing: .errors)
        let compiled = await aside { compiling.finish() }
        #expect(compiled.text == "" && compiled.status == 0)

        let box = try await TapBox()
        let child = try ChildProcess(
            "/usr/bin/env", ["DBUS_SYSTEM_BUS_ADDRESS=\(box.bus.address)", program, "/", "local"], capturing: .output)
        try await eventually("it has its tap") { box.table.count == 1 }
        let letter = UInt8(ascii: "A")
        box.pictures.hub.give(try box.frame(letter), to: TapBox.camera)
        let expected =
            "YUV4MPEG2 W64 H48 F30000:1000 C420jpeg\nFRAME\n" + String(repeating: "A", count: 64 * 48 * 3 / 2)
        var text = ""
        while text.utf8.count < expected.utf8.count {
            let piece = await aside { child.read() }
            try #require(!piece.isEmpty, "it has ended after: \(text.prefix(60))")
            text += piece
        }
        #expect(text == expected)
        box.pictures.endPicture(TapBox.camera)
        let rest = await aside { child.finish() }
        #expect(rest.text == "" && rest.status == 0)
        #expect(box.table.count == 0)
        await box.stop()
    }
}
