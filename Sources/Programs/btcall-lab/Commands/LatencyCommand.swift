import ArgumentParser
import BTCall
import CallExchange
import CommandKit
import ControlLoop
import Glibc
import JSONText

struct LatencyCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "latency", abstract: "Measure the delay of sound to a device and back.",
        discussion: """
            Makes a call whose far end plays chirps, and looks for them in the call's microphone: the delay from \
            the application to the device, through the air (1 ms for 34 cm) or a cable, and back. The microphone \
            must hear the loudspeaker: lay a headset's earpiece on its microphone, or turn the loudspeaker up; a \
            headset that cancels echo hides the chirps. With --route the call is moved to that device first; \
            several are measured one after the other. Exit code 0: chirps came back on every route.

            Example: btcall-lab latency --route bluetooth --count 10
            """)

    @Option(
        help: ArgumentHelp("Measure on this device; may be given several times. \(DeviceArgument.accepted)"),
        completion: DeviceArgument.completion)
    var route: [DeviceArgument] = []

    @Option(help: ArgumentHelp("Number of chirps, one a second, 1 to 60.", valueName: "n"))
    var count = 5

    @Option(
        help: ArgumentHelp(
            "Sample rate of the call in Hz: 8000, 16000, 24000, 32000, 44100 or 48000.", valueName: "rate"))
    var rate = 16_000

    @OptionGroup var options: CommonOptions

    func validate() throws {
        guard (1...60).contains(count) else { throw ValidationError("--count accepts 1 to 60") }
        guard WaveFile.rates.contains(rate) else {
            throw ValidationError("--rate accepts \(WaveFile.rates.map(String.init).joined(separator: ", "))")
        }
    }

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        var measured: [LatencyResult] = []
        var devices: [DeviceChoice] = []
        for device in route { devices.append(try await device.device(on: bridge)) }
        for device in devices.isEmpty ? [DeviceChoice.none] : devices {
            let result = try await measure(device, on: bridge)
            measured.append(result)
            if !options.json { output.print(result.line) }
        }
        if options.json { output.print(.array(measured.map(\.json))) }
        if measured.contains(where: { $0.echoes.isEmpty }) { throw ExitCode(1) }
    }

    @ControlPlane private func measure(_ device: DeviceChoice, on bridge: CallBridge) async throws -> LatencyResult {
        let train = ChirpTrain(rate: rate, count: count)
        // Silence first: links and queues settle, and echo cancellers must not adapt yet.
        let lead = [Int16](repeating: 0, count: rate)
        let exchange = AudioExchange(FarEnd(samples: lead + train.samples, rate: rate), isRecording: true)
        let report = TestCallReport(Output(write: { _ in }, writeError: { _ in }), isJSON: true)
        let plan = TestCall.Plan(
            direction: .outgoing, number: "latency", talk: .milliseconds(1000 * count + 1500))
        let call = TestCall(plan, exchange, rate: rate, report)
        let interrupts = try [SIGINT, SIGTERM].map { try ControlLoop.shared.onSignal($0) { call.interrupt() } }
        defer {
            for interrupt in interrupts { interrupt.cancel() }
        }
        if device != .none { try await bridge.audioDeviceManager.select(device) }
        try await call.run(on: bridge)
        guard report.tookPlace else { throw CommandFailure("there was no call with audio: see btcall why") }
        let start = exchange.counters.blocksBeforePlay * rate / 100 + lead.count
        return LatencyResult(
            wanted: device, route: report.route, rate: rate, sent: count,
            echoes: train.echoes(in: exchange.takeRecorded(), from: start))
    }
}

/// The delays measured on one route.
struct LatencyResult {
    let wanted: DeviceChoice
    /// The route at the end of the call.
    let route: DeviceChoice
    let rate: Int
    let sent: Int
    let echoes: [ChirpTrain.Echo]

    /// In milliseconds, shortest first.
    private var delays: [Double] { echoes.map { Double($0.delay) * 1000 / Double(rate) }.sorted() }
    private var median: Double? { delays.isEmpty ? nil : delays[delays.count / 2] }

    var line: String {
        guard let median, let first = delays.first, let last = delays.last else {
            return
                "\(route): nothing came back of \(sent) chirps: let the microphone hear the loudspeaker, and turn it up"
        }
        let elsewhere = wanted == .none || wanted == route ? "" : ", not \(wanted): see btcall why"
        return "\(route): \(median.tenths) ms there and back (\(first.tenths) to \(last.tenths)), "
            + "\(echoes.count) of \(sent) chirps heard\(elsewhere)"
    }

    var json: JSON {
        [
            "route": .string(route.description),
            "roundTripMilliseconds": median.map(JSON.number) ?? .null,
            "shortestMilliseconds": delays.first.map(JSON.number) ?? .null,
            "longestMilliseconds": delays.last.map(JSON.number) ?? .null,
            "likeness": echoes.map(\.likeness).max().map(JSON.number) ?? .null,
            "heard": JSON(echoes.count),
            "sent": JSON(sent),
        ]
    }
}
