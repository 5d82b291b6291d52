import BTCallDaemon
import Configuration
import Foundation
import Testing

/// Files of the repository that have to agree with the code.
@Suite struct RepositoryTests {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func contents(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test func `the example configuration is what btcalld prints`() throws {
        // A build without webrtc has another default.
        let example = ConfigurationExample.text.replacing("#voiceProcessing = speex", with: "#voiceProcessing = webrtc")
        #expect(try Self.contents("etc/btcalld.conf") == example)
    }

    @Test func `the example configuration is understood as it is and with every key switched on`() throws {
        _ = try Configuration(text: ConfigurationExample.text, name: "example")
        let values = ConfigurationExample.text.split(separator: "\n").compactMap { line -> String? in
            if line.hasPrefix("[") { return String(line) }
            guard line.hasPrefix("#"), !line.hasPrefix("# "), line.contains(" = "), !line.hasSuffix("= ") else {
                return nil
            }
            return String(line.dropFirst())
        }
        let text = values.joined(separator: "\n")
        _ = try Configuration(text: text, name: "example")
    }

    @Test func `the policy, the activation file and the unit have the daemon's names`() throws {
        #expect(try Self.contents("dbus/org.btcall.conf").contains("<allow own=\"org.btcall\"/>"))
        #expect(try Self.contents("dbus/org.btcall.service").contains("Name=org.btcall\n"))
        #expect(try Self.contents("dbus/org.btcall.service").contains("SystemdService=btcalld.service"))
        #expect(try Self.contents("dbus/btcalld.service").contains("BusName=org.btcall\n"))
    }

    @Test func `the unit leaves /sys writable for the light of the microphone`() throws {
        let lines = try Self.contents("dbus/btcalld.service").split(separator: "\n")
        #expect(lines.contains("ProtectSystem=strict"))
        for line in lines where line.hasPrefix("ProtectKernelTunables=") || line.hasPrefix("ReadOnlyPaths=") {
            Issue.record("a light cannot be switched with \(line)")
        }
    }

    @Test func `every interface has its page`() throws {
        let folder = Self.root.appending(path: "dbus")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        for xml in files where xml.hasSuffix(".xml") {
            #expect(files.contains(xml.replacing(".xml", with: ".md")), "\(xml) has no reference page")
        }
    }

    @Test func `every deliberate mistake in the list can be made`() throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", Self.root.appending(path: "Tests/Mutations/mutate").path, "--check"]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        let text = String(decoding: output, as: UTF8.self)
        #expect(process.terminationStatus == 0, "\(text)")
        let count = text.split(separator: " ").first.flatMap { Int($0) } ?? 0
        #expect(count >= 45)
    }
}
