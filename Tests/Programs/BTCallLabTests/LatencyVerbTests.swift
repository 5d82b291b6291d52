import ArgumentParser
import BTCall
import BTCallAPI
import CommandTestSupport
import ControlLoop
import Testing

@testable import BTCallLab

@Suite(.timeLimit(.minutes(1))) struct LatencyVerbTests {
    let bus: PrivateBus
    let daemon: FakeDaemon

    init() async throws {
        bus = try PrivateBus()
        daemon = try await FakeDaemon(bus.address)
    }

    @Test func `The delay is the device's, without the block being captured`() async throws {
        await setUp { $0.loopFrames = 1_200 }
        try await start()
        let run = try await CommandRun.lab(
            "latency", "--route", "speakerphone", "--count", "1", "--rate", "8000", "--json", bus: bus)
        #expect(run.errors == "" && run.status == 0)
        // 150 ms, less the 10 ms for capturing a block.
        #expect(run.output.contains("\"roundTripMilliseconds\": 140"))
        #expect(run.output.contains("\"heard\": 1"))
        #expect(await daemon.router.selected == .speakerphone)
    }

    @Test func `A microphone that hears nothing is reported, with what to do, and the code is 1`() async throws {
        await setUp { $0.microphone = [Int16](repeating: 0, count: 8_000) }
        let run = try await CommandRun.lab("latency", "--count", "1", "--rate", "8000", bus: bus)
        #expect(run.status == 1)
        #expect(run.output.contains("nothing came back of 1 chirps: let the microphone hear the loudspeaker"))
    }

    @Test(arguments: [["--count", "0"], ["--count", "61"], ["--rate", "11025"], ["--route", ""]])
    func `Arguments that cannot be measured are refused with the accepted ones`(arguments: [String]) {
        #expect(throws: (any Error).self) { try LabEntry.parseAsRoot(["latency"] + arguments) }
    }

    @ControlPlane private func start() async throws {
        let bridge = try await CallBridge(bus: .address(bus.address))
        try await bridge.audioDeviceManager.start()
        await bridge.close()
    }

    @ControlPlane private func setUp(_ change: @ControlPlane (FakeDaemon) -> Void) { change(daemon) }
}
