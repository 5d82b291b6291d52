import Foundation
import Testing

/// The helper, built as for a board.
@Suite struct SCORoutingHelperTests {
    private func run(_ program: String, _ arguments: [String], input: String = "") throws -> (
        status: Int32, output: String, errors: String
    ) {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        let (standardInput, output, errors) = (Pipe(), Pipe(), Pipe())
        process.standardInput = standardInput
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try standardInput.fileHandleForWriting.close()
        let said = try output.fileHandleForReading.readToEnd() ?? Data()
        let wrong = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (
            process.terminationStatus, String(decoding: said, as: UTF8.self), String(decoding: wrong, as: UTF8.self)
        )
    }

    @Test func `the helper is built small, and says what is wrong with its arguments`() throws {
        let helper = FileManager.default.temporaryDirectory.appending(path: "btcall-sco-routing-\(UUID())")
        defer { try? FileManager.default.removeItem(at: helper) }
        let built = try run(
            RepositoryTests.root.appending(path: "scripts/build-sco-routing").path, [helper.path])
        try #require(built.status == 0, "\(built.errors)")
        let size = try FileManager.default.attributesOfItem(atPath: helper.path)[.size] as? Int
        #expect(try #require(size) < 32_768)
        for arguments in [[], ["--help"], ["hci0", "hci1"]] {
            let result = try run(helper.path, arguments)
            #expect(result.status == 2 && result.errors.hasPrefix("usage: "))
        }
        let wrong = try run(helper.path, ["eth0"])
        #expect(wrong.status == 1 && wrong.output == "" && wrong.errors.hasPrefix("eth0: 'eth0' is not a controller"))
        // As systemd runs it: the answer's first word is the status.
        let served = try run(helper.path, ["--serve"], input: "eth0\n")
        #expect(served.status == 1 && served.output.hasPrefix("1 'eth0' is not a controller"))
        let hostile = try run(helper.path, ["--serve"], input: "\u{1B}[2J\r\u{9B}1m\n")
        #expect(hostile.output == "1 '?[2J???1m' is not a controller: hci0, hci1, ... (see `bluetoothctl list`)\n")
        #expect(hostile.errors == "?[2J???1m: " + hostile.output.dropFirst(2))
        for input in ["", "hci0", "hci0000000000000000000000000000000000000000000\n"] {
            let result = try run(helper.path, ["--serve"], input: input)
            #expect(result.status == 1 && result.output == "" && result.errors.contains("no controller was asked for"))
        }
    }

    @Test func `the daemon, the helper and its units name the same files`() throws {
        let source = try RepositoryTests.contents("Sources/Programs/btcall-sco-routing/main.c")
        let socket = try RepositoryTests.contents("dbus/btcall-sco-routing.socket")
        let service = try RepositoryTests.contents("dbus/btcall-sco-routing@.service")
        let daemon = try RepositoryTests.contents("Sources/Daemon/HeadsetControl/Links/VoiceRouting.swift")
        #expect(source.contains("SERVICE[] = \"/run/btcall-sco-routing.sock\""))
        #expect(socket.contains("ListenStream=/run/btcall-sco-routing.sock\n") && socket.contains("Accept=yes\n"))
        #expect(service.contains("ExecStart=/usr/libexec/btcall-sco-routing --serve\n"))
        #expect(service.contains("CapabilityBoundingSet=CAP_NET_RAW\n"))
        #expect(daemon.contains("\"/usr/libexec/btcall-sco-routing\""))
    }
}
