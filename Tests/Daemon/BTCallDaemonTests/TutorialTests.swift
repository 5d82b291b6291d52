import BTCall
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import Foundation
import TestSupport
import Testing

extension DaemonTests {
    /// The tutorial, executed on a simulated board: its shown output is the real one.
    @Suite(.serialized) @ControlPlane struct TutorialTests {
        private static let path = "docs/Start.md"

        /// A command after a prompt, and the lines below it.
        struct Step {
            let command: String
            var output: [String] = []
        }

        @Test func `Every output in the tutorial is what its commands print, from the empty board to the first call`()
            async throws
        {
            let page = try Page(Self.path)
            let steps = page.samples.filter { $0.kind == "console" }.flatMap(Self.steps)
            #expect(steps.count >= 8)
            let configuration = try #require(page.samples.first { $0.kind == "ini" })
            try await Box.run { box in
                // No headset is paired at first.
                for headset in [Box.first, Box.second] { box.bluez.remove(headset) }
                try await eventually("they are forgotten") {
                    try await box.bridge.audioDeviceManager.audioDevices().allSatisfy { $0.address == nil }
                }
                let btcall = try Program(box.address)
                var ears: Ears?
                for step in steps {
                    let output: String
                    if step.command.hasPrefix("btcalld --check ") {
                        output = try Self.check(configuration.text, as: String(step.command.dropFirst(16)))
                    } else if step.command.hasPrefix("btcall test-call") {
                        output = try await Self.call(with: try #require(ears), step, btcall)
                    } else {
                        if step.command == "btcall devices", ears == nil {
                            box.bluez.addHeadset(Box.first, name: "headset 1")
                            ears = try await box.connect(Box.first, codecs: [.cvsd, .mSBC])
                        }
                        let words = step.command.split(separator: " ").dropFirst().map(String.init)
                        output = try await btcall(words).text
                    }
                    let expected = Self.plain(step.output)
                    let found = Self.plain(output.components(separatedBy: "\n"))
                    #expect(found == expected, "$ \(step.command)\n\(output)")
                }
            }
        }

        /// The headset answers, talks for a moment, and hangs up.
        private static func call(with ears: Ears, _ step: Step, _ btcall: Program) async throws -> String {
            let words = step.command.split(separator: " ").dropFirst().map(String.init)
            let program = try btcall.start(words)
            try await ears.hear(.ring)
            ears.headset.press(.answer)
            try await eventually("both are heard") { program.lines.filter { $0.contains("microphone") }.count >= 3 }
            ears.headset.press(.hangUp)
            #expect(try await program.status() == 0)
            return program.output
        }

        /// Checks with the quirks that are installed on a board.
        private nonisolated static func check(_ text: String, as name: String) throws -> String {
            let file = FileManager.default.temporaryDirectory.appending(path: "tutorial-\(UUID().uuidString).conf")
            defer { try? FileManager.default.removeItem(at: file) }  // A file in the temporary directory may stay.
            let quirks = Page.root.appending(path: "etc/quirks.conf").path()
            let board = text + "\n[quirks]\ndatabase = \(quirks)\noverlay = none\n"
            try board.write(to: file, atomically: true, encoding: .utf8)
            return try ConfigurationCheck.check(file.path()).replacing(file.path(), with: name)
                .replacing(quirks, with: "/usr/share/btcall/quirks.conf")
        }

        private nonisolated static func steps(_ sample: Sample) -> [Step] {
            var steps: [Step] = []
            for line in sample.lines {
                if line.hasPrefix("$ ") {
                    steps.append(Step(command: String(line.dropFirst(2))))
                } else if !steps.isEmpty {
                    steps[steps.count - 1].output.append(line)
                }
            }
            return steps
        }

        /// Lines without run-specific parts: numbers, widths, levels, and the order of two programs' output.
        private nonisolated static func plain(_ lines: [String]) -> [String] {
            lines.compactMap { line in
                let words = line.split(separator: " ").map { word in
                    String(word.split { $0.isNumber }.joined(separator: "0"))
                }
                // The board may stand in until the headset's link is up.
                let isChance = words.contains("far") || words.contains("Refused") || words.last == "(bridge)"
                if words.isEmpty || isChance { return nil }
                // These depend on the machine's load.
                return words[0] == "Gaps" || words[0] == "Blocks" ? words[0] : words.joined(separator: " ")
            }.sorted()
        }
    }
}
