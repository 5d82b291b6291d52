import AudioPaths
import BTCallBench
import BTCallDaemon
import BluetoothSockets
import BluetoothTypes
import ControlLoop
import DBus
import Diagnostics
import HeadsetControl
import Logging
import TestSupport
import Testing

/// What is kept for each headset ends with its reason.
extension DaemonTests {
    @Suite @ControlPlane struct GrowthTests {
        private final class NoLinks: AudioLinkOpening {
            var onIncoming: (@ControlPlane (any IncomingAudioLink) -> Void)?

            func open(
                _ address: BluetoothAddress, codec: VoiceCodec, timeout: Duration
            ) async throws(AudioLinkError) -> OpenAudioLink {
                throw .headsetAbsent
            }

            func cancel() {}
        }

        private let log = LogLines()

        private func address(_ number: Int) -> BluetoothAddress {
            BluetoothAddress(value: UInt64(0x5E00_0000 + number))
        }

        @Test func `links of a thousand headsets are forgotten with their pauses`() async {
            let pause = Duration.milliseconds(20)
            let admission = LinkAdmission(opener: NoLinks(), pause: pause, logger: log.logger)
            for number in 0..<1000 { admission.linkClosed(address(number)) }
            let end = ControlLoop.now.advanced(by: pause)
            while ControlLoop.now < end { await ControlLoop.shared.sleep(until: end) }
            admission.linkClosed(address(1000))
            #expect(admission.pauseCount == 1)
        }

        @Test func `headsets whose music goes on are forgotten by the program for music`() async {
            let problems = ProblemList(logger: log.logger)
            let none = MediaCommand(nil, limit: .seconds(5), problems: problems, logger: log.logger)
            for number in 0..<100 { none.set(address(number), isSuspended: true) }
            #expect(none.headsetCount == 0)
            let command = MediaCommand("true", limit: .seconds(5), problems: problems, logger: log.logger)
            for number in 0..<5 { command.set(address(number), isSuspended: true) }
            await command.finish()
            #expect(command.headsetCount == 5)
            for number in 0..<5 { command.set(address(number), isSuspended: false) }
            await command.finish()
            #expect(command.headsetCount == 0)
        }

        @Test func `a reader of the log that reads nothing costs a bounded number of bytes`() throws {
            let (ours, theirs) = try #require(PacketSocketPair.open())
            let program = PassedDescriptor(taking: theirs)
            let reader = LogReader(taking: ours)
            try reader.start { _ in }
            let text = String(repeating: "x", count: LogLine.longestText)
            let context = Dictionary(uniqueKeysWithValues: (10..<10 + LogLine.mostValues).map { ("\($0)", text) })
            let line = LogLine(level: "info", module: "test", message: text, context: context)
            #expect(line.packet.count < LogReader.mostBytes)
            for _ in 0..<100 { reader.take(line) }
            #expect(reader.waitingBytes <= LogReader.mostBytes && reader.waitingBytes > LogReader.mostBytes / 3)
            reader.close()
            #expect(reader.waitingBytes == 0)
            withExtendedLifetime(program) {}
        }
    }
}
