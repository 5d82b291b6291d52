import BTCallAPI
import Foundation
import Testing

/// The program without bus, btcalld and baresip: its command line and its configuration.
@Suite struct BaresipProgramTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// - Returns: its standard output, standard error and exit status.
    private func run(
        _ arguments: [String], bus: String = "unix:path=/nowhere/bus"
    ) throws -> (output: String, errors: String, status: Int32) {
        let directory = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let process = Process()
        let (output, errors) = (Pipe(), Pipe())
        process.executableURL = directory.appending(path: "btcall-baresip")
        process.arguments = arguments
        process.environment = ["BTCALL_BUS": bus]
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let said = [output, errors].map {
            String(decoding: $0.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        }
        process.waitUntilExit()
        return (said[0], said[1], process.terminationStatus)
    }

    private func withFile<Result>(_ text: String, _ body: (String) throws -> Result) throws -> Result {
        let file = FileManager.default.temporaryDirectory.appending(path: "baresip-\(UUID().uuidString).conf")
        try Data(text.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }  // A file in the temporary directory may stay.
        return try body(file.path())
    }

    @Test func `help and version go to standard output`() throws {
        let help = try run(["--help"])
        #expect(help.status == 0)
        #expect(help.output.hasPrefix("usage: btcall-baresip "))
        #expect(help.errors == "")
        let version = try run(["--version"])
        #expect(version.output == "btcall-baresip \(ProductVersion.current)\n")
        #expect(version.status == 0)
    }

    @Test(arguments: [
        (["--color"], "unknown argument --color"), (["--config"], "--config needs a value"),
        (["--config", "etc/baresip.conf", "--control", "4444"], "control: '4444' is not accepted"),
    ])
    func `invalid arguments end it with 2 and the usage`(words: [String], message: String) throws {
        let words = words.map { $0.hasPrefix("etc/") ? Self.root.appending(path: $0).path() : $0 }
        let (output, errors, status) = try run(words)
        #expect(status == 2)
        #expect(output == "")
        #expect(errors.hasPrefix("btcall-baresip: \(message)"), "\(errors)")
        #expect(errors.contains("usage: btcall-baresip "))
    }

    @Test func `the shipped configuration is accepted, unchanged and with every key enabled`() throws {
        let file = Self.root.appending(path: "etc/baresip.conf")
        let (output, errors, status) = try run(["--check", file.path()])
        #expect(output == "\(file.path()) is understood\n")
        #expect(errors == "")
        #expect(status == 0)
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        let keys = lines.filter { $0.hasPrefix("#") && !$0.hasPrefix("# ") && $0.contains(" = ") }
        #expect(keys.count == 3)
        try withFile(keys.map { $0.dropFirst() }.joined(separator: "\n")) { path in
            let checked = try run(["--check", path])
            #expect(checked.status == 0, "\(checked.errors)")
        }
    }

    @Test func `a wrong or missing configuration ends it with 1 and the line`() throws {
        try withFile("control = 127.0.0.1:4444\nenabled = yes\n") { path in
            for words in [["--check", path], ["--config", path]] {
                let (_, errors, status) = try run(words)
                #expect(status == 1)
                #expect(errors.hasPrefix("btcall-baresip: \(path):2: enabled: there is no such key; "), "\(errors)")
            }
        }
        let (_, errors, status) = try run(["--config", "/nowhere/baresip.conf"])
        #expect(status == 1)
        #expect(errors.hasPrefix("btcall-baresip: /nowhere/baresip.conf: "), "\(errors)")
    }

    @Test func `without a bus it says so and ends with 1`() throws {
        let file = Self.root.appending(path: "etc/baresip.conf").path()
        let (_, errors, status) = try run(["--config", file])
        #expect(status == 1)
        #expect(errors.hasPrefix("btcall-baresip: cannot reach the bus at unix:path=/nowhere/bus: "), "\(errors)")
        let (_, refusal, refused) = try run(["--config", file, "--bus", "tram"])
        #expect(refused == 2)
        #expect(refusal.hasPrefix("btcall-baresip: bus 'tram' is not accepted; "), "\(refusal)")
    }
}
