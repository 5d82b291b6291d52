import AudioPaths
import BluetoothSockets
import BluetoothTypes
import ControlLoop
import Diagnostics
import HeadsetControl
import TestSupport
import Testing

/// Data kept for a headset is dropped when it is no longer needed.
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

    @Test func `links of a thousand headsets are forgotten after their pauses`() async {
        let pause = Duration.milliseconds(20)
        let admission = LinkAdmission(opener: NoLinks(), pause: pause, logger: log.logger)
        for number in 0..<1000 { admission.linkClosed(address(number)) }
        let end = ControlLoop.now.advanced(by: pause)
        while ControlLoop.now < end { await ControlLoop.shared.sleep(until: end) }
        admission.linkClosed(address(1000))
        #expect(admission.pauseCount == 1)
    }

    @Test func `the program for music forgets headsets once their music is restored`() async {
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
}
