import BTCall
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import Foundation
import HandsFree
import HeadsetControl
import TestSupport
import Testing

extension DaemonTests {
    /// Each key of `[buttons]`, from the configuration's text to its command.
    @Suite @ControlPlane struct ButtonTests {
        private nonisolated static let keys = [
            "buttons.callKey", "buttons.callKey.double", "buttons.callKey.long", "buttons.hangUp",
            "buttons.hangUp.double", "buttons.play", "buttons.play.double", "buttons.pause", "buttons.pause.double",
            "buttons.playPause", "buttons.playPause.double", "buttons.stop", "buttons.stop.double", "buttons.next",
            "buttons.next.double", "buttons.previous", "buttons.previous.double",
        ]

        /// A script that appends its arguments and the press to a file.
        private final class Recorder {
            private let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID().uuidString)")
            var path: String { folder.appending(path: "press").path() }

            init() throws {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                let text = "#!/bin/sh\necho \"$1 $BTCALL_BUTTON $BTCALL_PRESS\" >>\(folder.path())/presses\n"
                try text.write(toFile: path, atomically: true, encoding: .utf8)
                try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
            }

            deinit { try? FileManager.default.removeItem(at: folder) }

            /// Nothing was pressed while the file is absent.
            var presses: [String] {
                let text = try? String(contentsOf: folder.appending(path: "presses"), encoding: .utf8)
                return (text ?? "").split(separator: "\n").map(String.init)
            }
        }

        @Test func `Each key of [buttons] acts on its own press only`() async throws {
            #expect(Set(Self.keys) == Set(ConfigurationSection.buttonKeys.map { "buttons.\($0.name)" }))
            let recorder = try Recorder()
            let lines = Self.keys.map { $0.dropFirst("buttons.".count) }.map { "\($0) = run \(recorder.path) \($0)" }
            let buttons = try Configuration(text: "[buttons]\n" + lines.joined(separator: "\n"), name: "test").buttons
            #expect(buttons.count == Self.keys.count)
            try await Box.run(
                configure: { $0.buttons = buttons },
                body: { box in
                    let headset = try await box.rawHeadset()
                    // With voice recognition, which the long press needs.
                    headset.say("AT+BRSF=24", "AT+CIND=?", "AT+CIND?", "AT+CMER=3,0,0,1")
                    try await eventually("it is connected") { headset.lines.count { $0 == "OK" } >= 4 }
                    try await eventually("bluetoothd has the endpoint") { !box.bluez.media.endpoints.isEmpty }
                    try await box.bluez.configureMedia(of: Box.first)
                    try await eventually("its A2DP is up") { box.daemon.media.likelySource == Box.first }
                    for key in Self.keys {
                        let words = key.split(separator: ".").dropFirst().map(String.init)
                        let kind = words.count == 2 ? words[1] : "short"
                        for _ in 0..<(kind == "double" ? 2 : 1) {
                            try await press(words[0], kind, headset, box)
                        }
                        let expected = "\(words.joined(separator: ".")) \(words[0]) \(kind)"
                        try await eventually("\(key) acts") { recorder.presses.last == expected }
                    }
                    #expect(recorder.presses.count == Self.keys.count, "\(recorder.presses)")
                })
        }

        /// Presses a button once, as the headset reports it.
        private func press(_ button: String, _ kind: String, _ headset: RawHeadset, _ box: Box) async throws {
            switch button {
            case "callKey": headset.say(kind == "long" ? "AT+BVRA=1" : "AT+CKPD=200")
            // The gateway reports it only while the audio belongs to no call.
            case "hangUp": box.daemon.headsets.changes.send(.buttonPressed(Box.first, .hangUp))
            default:
                let method = button.prefix(1).uppercased() + button.dropFirst()
                try await eventually("\(method) is taken") { box.bluez.pressMedia(method, of: Box.first) }
            }
        }
    }
}
