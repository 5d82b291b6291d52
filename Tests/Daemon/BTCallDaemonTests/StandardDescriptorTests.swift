import BTCall
import BTCallDaemon
import BTCallSimulator
import CBTCall
import Configuration
import ControlLoop
import Foundation
import Glibc
import TestSupport
import Testing

extension DaemonTests {
    /// The real program: its standard descriptors, signals and missing resources.
    @Suite(.timeLimit(.minutes(2))) @ControlPlane struct StandardDescriptorTests {
        @Test func `Closed standard descriptors are not reused for anything else`() async throws {
            let daemon = try await DaemonProcess()
            try await daemon.start(by: #"exec "$@" 0<&- 1>&- 2>&-"#)
            for descriptor in 0..<3 { #expect(try daemon.file(descriptor) == "/dev/null") }
            // Its log goes to standard error, not into the connection to the bus.
            daemon.signal(SIGHUP)
            let bridge = try await daemon.bridge()
            #expect(try await bridge.status().state == .active)
            await bridge.close()
            try await daemon.stop()
        }

        /// A full FIFO, and the data read from it.
        private final class FullPipe {
            let path = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID().uuidString)").path()
            private let descriptor: Int32

            init() throws {
                try #require(mkfifo(path, 0o600) == 0)
                descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
                try #require(descriptor >= 0)
                let block = [UInt8](repeating: UInt8(ascii: "."), count: 4096)
                while write(descriptor, block, block.count) > 0 {}
            }

            deinit {
                close(descriptor)
                unlink(path)
            }

            func read() -> String {
                var bytes: [UInt8] = []
                var piece = [UInt8](repeating: 0, count: 65536)
                while case let count = Glibc.read(descriptor, &piece, piece.count), count > 0 {
                    bytes += piece[..<count]
                }
                return String(decoding: bytes.filter { $0 != UInt8(ascii: ".") }, as: UTF8.self)
            }
        }

        @Test func `A standard error that nobody reads does not block the daemon, and lost lines are counted`()
            async throws
        {
            let pipe = try FullPipe()
            let daemon = try await DaemonProcess()
            // Nobody reads while it starts, serves and logs.
            try await daemon.start(by: "exec \"$@\" 2>'\(pipe.path)'")
            let bridge = try await daemon.bridge()
            try await bridge.setSetting("daemon.logLevel", to: "trace")
            for _ in 0..<20 { #expect(try await bridge.status().state == .active) }
            #expect(pipe.read() == "")
            daemon.signal(SIGHUP)
            var text = ""
            try await eventually("it says what was lost") {
                text += pipe.read()
                return text.contains("lines were lost: nobody read standard error\n") && text.contains("SIGHUP")
            }
            await bridge.close()
            try await daemon.stop()
        }

        @Test func `SIGHUP does not end the daemon, and the log says what to do instead`() async throws {
            let daemon = try await DaemonProcess()
            try await daemon.start()
            for count in 1...3 {
                daemon.signal(SIGHUP)
                try await eventually("it is logged") {
                    daemon.errors.ranges(of: "SIGHUP: the configuration is not read again").count == count
                }
            }
            #expect(daemon.errors.contains("`systemctl restart btcalld`"))
            let bridge = try await daemon.bridge()
            #expect(try await bridge.status().state == .active)
            await bridge.close()
            try await daemon.stop()
        }

        @Test func `Without a spare descriptor clients of the PCM wait, and the daemon does not spin`() async throws {
            let path = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID().uuidString).sock").path()
            let daemon = try await DaemonProcess(pcmSocket: path)
            try await daemon.start()
            let bridge = try await daemon.bridge()
            _ = try await bridge.status()
            let used = try daemon.descriptors()
            try await daemon.limitDescriptors(used)
            let clients = try (0..<6).map { _ in try PCMClient(path, PCMClient.hello(BTCALL_PCM_CONTROL)) }
            try await eventually("it is logged") { daemon.errors.contains("no connection can be accepted") }
            let before = try daemon.processorTime()
            await ControlLoop.shared.sleep(for: .milliseconds(2500))
            // A spinning process uses all of that time.
            #expect(try daemon.processorTime() - before < 500)
            #expect(try await bridge.status().state == .active)
            #expect(clients.contains { !$0.isAnswered() })
            try await daemon.limitDescriptors(1024)
            try await eventually("all are served") { clients.allSatisfy { $0.isAnswered() } }
            #expect(daemon.errors.ranges(of: "no connection can be accepted").count == 1)
            #expect(daemon.errors.ranges(of: "the ALSA PCM: connections are accepted again").count == 1)
            await bridge.close()
            try await daemon.stop()
        }

        // MARK: Texts of other programs

        private static let evil = "x\u{1B}[2J\u{9B}m\r\nerror btcalld: FORGED\u{2028}FORGED\u{202E}"

        /// Expects every line to have a level and a module, and only printable text.
        private func expectUnforged(_ log: String) {
            for line in log.split(separator: "\n") {
                #expect(!line.hasPrefix("error btcalld: FORGED") && !line.hasPrefix("FORGED"), "\(line)")
                #expect(
                    line.wholeMatch(of: /(trace|debug|info|notice|warning|error) btcall[a-z.]*: .*/) != nil, "\(line)")
                let bad = line.unicodeScalars.first { !PrintableText.isShown($0) }
                #expect(bad == nil, "U+\(String(bad?.value ?? 0, radix: 16)) in \(line.debugDescription)")
            }
        }

        @Test func `Headsets, applications and programs cannot forge lines of the log or of btcall`() async throws {
            let path = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID().uuidString).sock").path()
            let daemon = try await DaemonProcess(hasBluetooth: true, pcmSocket: path)
            daemon.bluez?.addHeadset(Box.second, name: Self.evil)
            try await daemon.start()
            let program = try Program(daemon.bus.address)
            _ = try await program("config", "logLevel", "trace")
            var hello = PCMClient.hello(BTCALL_PCM_CALL)
            withUnsafeMutableBytes(of: &hello.program) { $0.copyBytes(from: "p\nerror btcalld: FORGED\u{202E}".utf8) }
            let client = try PCMClient(path, hello)
            try await eventually("its stream is open") { client.isAnswered() }
            let call = try program.start(
                "call", "report", "incoming", "5\nFORGED", "--name", Self.evil, "--provider", Self.evil)
            try await eventually("it is reported, or refused") {
                call.output.contains("\n") || call.errors.contains("\n")
            }
            for verb in ["devices", "status", "calls", "log", "why", "config"] {
                let (text, _) = try await program(verb)
                for line in text.split(separator: "\n") {
                    #expect(!line.hasPrefix("FORGED") && !line.hasPrefix("error btcalld"), "\(verb): \(line)")
                    #expect(line.unicodeScalars.allSatisfy { PrintableText.isShown($0) }, "\(verb): \(line)")
                }
            }
            let devices = try await program("devices").text
            #expect(devices.contains(PrintableText.line(Self.evil)))
            for word in [Self.evil, "\u{1B}[2J"] {
                let (text, status) = try await program("config", "preferred", word)
                #expect(status != 0 && text.unicodeScalars.allSatisfy { $0 == "\n" || PrintableText.isShown($0) })
            }
            call.terminate()
            _ = try await call.status()
            try await eventually("the program is in the log") {
                daemon.errors.contains(#"p\u{A}error btcalld: FORGED"#)
            }
            expectUnforged(daemon.errors)
            try await daemon.stop()
        }
    }
}
