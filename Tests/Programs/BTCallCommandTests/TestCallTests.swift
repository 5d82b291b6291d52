import BTCall
import BTCallAPI
import CallExchange
import CommandKit
import CommandTestSupport
import ControlLoop
import Foundation
import Testing

@testable import BTCallCommand

@Suite(.timeLimit(.minutes(1))) struct TestCallTests {
    let bus: PrivateBus
    let daemon: FakeDaemon
    let directory: URL

    init() async throws {
        bus = try PrivateBus()
        daemon = try await FakeDaemon(bus.address)
        await daemon.update { $0.activeRoute = .earpiece }
        directory = FileManager.default.temporaryDirectory.appending(path: "btcall-call-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    /// A signal whose samples tell their position.
    private func counted(_ frames: Int, from start: Int) -> [Int16] {
        (0..<frames).map { Int16(truncatingIfNeeded: start + $0 % 30000) }
    }

    @Test(arguments: [8000, 16000, 48000])
    func `The recording contains the call's audio, and the far end's audio arrives in order`(rate: Int) async throws {
        let farEnd = counted(rate / 2, from: 1)
        let microphone = counted(2 * rate, from: 7)
        let file = directory.appending(path: "far.wav").path()
        let recording = directory.appending(path: "near.wav").path()
        var writer = try WaveWriter(path: file, rate: rate)
        try writer.append(farEnd)
        await setUp { daemon in
            daemon.course = .headsetAnswersAndEnds
            daemon.microphone = microphone
        }
        let run = try await CommandRun.btcall(
            "test-call", "--incoming", "--far-end", file, "--record", recording, "--json", bus: bus)
        #expect(run.errors == "" && run.status == 0)
        let recorded = try WaveFile(path: recording)
        #expect(recorded.rate == rate)
        #expect(recorded.samples == microphone)
        let heard = await daemon.heard
        let spoken = heard.drop { $0 == 0 }
        let isInOrder = spoken.starts(with: farEnd)
        #expect(isInOrder, "of \(heard.count) samples \(spoken.count) came after the first one of the far end")
        #expect(spoken.dropFirst(farEnd.count).allSatisfy { $0 == 0 })
        let object = run.object
        #expect(object["tookPlace"] as? Bool == true && object["answeredByPerson"] as? Bool == true)
        #expect(object["blocksReceived"] as? Int == 200 && object["blocksSent"] as? Int == 200)
        #expect(object["reason"] as? String == "local")
        #expect(object["file"] as? String == recording)
        let requests = await daemon.requests
        #expect(requests.contains("PerformAnswer fulfilled") && requests.contains("PerformEnd fulfilled"))
        #expect(requests.last?.hasPrefix("UnregisterProvider") == true)
    }

    @Test func `An outgoing call is answered by its far end and ended after the time to talk`() async throws {
        await setUp { $0.microphone = [Int16](repeating: 100, count: 16000) }
        let run = try await CommandRun.btcall(
            "test-call", "--outgoing", "--number", "42", "--answer-after", "0.01", "--seconds", "0.2", bus: bus)
        #expect(run.status == 0)
        let states = run.output.split(separator: "\n").compactMap { $0.split(separator: "call: ").dropFirst().first }
        #expect(states == ["alerting", "active", "ended (remoteHangUp)"])
        #expect(run.output.contains("calling 42"))
        #expect(run.output.contains("Call    took place, "))
        #expect(run.output.contains("received"))
        let requests = await daemon.requests.filter { !$0.hasPrefix("RegisterProvider") && !$0.contains("fulfilled") }
        #expect(requests.prefix(4) == ["ReportOutgoing 42", "Update alerting", "Update active", "Update ended"])
    }

    @Test func `An unanswered incoming call is withdrawn at an interrupt, and the code is 1`() async throws {
        let capture = Capture()
        let bridge = try await CallBridge(bus: .address(bus.address))
        let report = await TestCallReport(capture.sink, isJSON: false)
        let plan = TestCall.Plan(direction: .incoming, number: "1")
        let call = try await TestCall(plan, FarEnd(samples: [], rate: 8000), report)
        let run = Task { @ControlPlane in try await call.run(on: bridge) }
        await capture.contains("incoming call from 1, waiting for it to be answered")
        await call.interrupt()
        try await run.value
        #expect(await report.tookPlace == false)
        #expect(capture.output.contains("did not take place: it was not answered"))
        #expect(capture.output.contains("call: ended (cancelled)"))
        #expect(await daemon.calls.isEmpty)
        await bridge.close()
    }

    @Test func `A call is held and resumed, and its far end continues where it was`() async throws {
        let capture = Capture()
        let bridge = try await CallBridge(bus: .address(bus.address))
        let report = await TestCallReport(capture.sink, isJSON: false)
        let plan = TestCall.Plan(direction: .incoming, number: "1", answerAfter: .zero)
        let call = try await TestCall(plan, FarEnd(samples: counted(8000, from: 1), rate: 8000), report)
        let run = Task { @ControlPlane in try await call.run(on: bridge) }
        await capture.contains("call: active")
        await capture.contains("audio: open")
        #expect(await daemon.provider?.options.capabilities == [.hold, .dtmf])
        await daemon.speak([Int16](repeating: 100, count: 2400))
        await daemon.pressHold(true)
        await capture.contains("audio: closed")
        await daemon.pressHold(false)
        await capture.contains("audio: open", times: 2)
        await daemon.speak([Int16](repeating: 100, count: 2400))
        await call.interrupt()
        try await run.value
        #expect(await daemon.heard == counted(4800, from: 1))
        let lines = capture.output.split(separator: "\n")
        let states = lines.compactMap { $0.split(separator: "call: ").dropFirst().first }
        #expect(states == ["active", "held", "active", "ended (remoteHangUp)"])
        await bridge.close()
    }

    @Test func `A call dialled at a headset is answered, shows its tones, and is the only one`() async throws {
        let capture = Capture()
        let bridge = try await CallBridge(bus: .address(bus.address))
        let report = await TestCallReport(capture.sink, isJSON: false)
        let plan = TestCall.Plan(
            direction: .outgoing, number: "not this one", isDialledHere: true, answerAfter: .milliseconds(10))
        let call = try await TestCall(plan, FarEnd(samples: [], rate: 8000), report)
        let run = Task { @ControlPlane in try await call.run(on: bridge) }
        await capture.contains("waiting until somebody dials")
        #expect(await daemon.provider?.options.capabilities == [.hold, .dtmf, .dial])
        await daemon.dial("4711")
        await capture.contains("calling 4711")
        await capture.contains("call: active")
        await daemon.sendTones("1")
        await daemon.sendTones("#")
        await capture.contains("tones: #")
        await daemon.dial("2")
        #expect(await daemon.requests.last == "PerformStart refused: this application already has its one call")
        await call.interrupt()
        try await run.value
        let states = capture.output.split(separator: "\n").compactMap {
            $0.split(separator: "call: ").dropFirst().first
        }
        #expect(states.filter { $0 != "dialing" } == ["alerting", "active", "ended (remoteHangUp)"])
        await bridge.close()
    }

    @Test func `A daemon that goes during the call ends it with an error`() async throws {
        let capture = Capture()
        let bridge = try await CallBridge(bus: .address(bus.address))
        let report = await TestCallReport(capture.sink, isJSON: false)
        let plan = TestCall.Plan(direction: .incoming, number: "1", answerAfter: .zero)
        let call = try await TestCall(plan, FarEnd(.tone(hertz: 440), rate: 16000, loops: false), report)
        await setUp { $0.microphone = [Int16](repeating: 100, count: 1600) }
        let run = Task { @ControlPlane in await exitStatus(capture.sink) { try await call.run(on: bridge) } }
        await capture.contains("audio: open")
        await daemon.close()
        #expect(await run.value == 1)
        #expect(capture.errors.contains("btcalld has"))
        await bridge.close()
    }

    @Test func `An unreadable far end is refused before there is a call`() async throws {
        let file = directory.appending(path: "text.wav").path()
        try "hello, this is no audio".write(toFile: file, atomically: true, encoding: .utf8)
        let run = try await CommandRun.btcall("test-call", "--far-end", file, bus: bus)
        #expect(run.status == 1)
        #expect(run.errors == "btcall: \(file): not a WAV file\n")
        #expect(await daemon.requests.isEmpty)
    }

    @ControlPlane private func setUp(_ change: @ControlPlane (FakeDaemon) -> Void) { change(daemon) }
}
