import BTCall
import CallExchange
import CommandKit
import ControlLoop
import Glibc
import Routing

/// The doctor's test call: its far end plays chirps for five seconds and records the audio that returns.
@ControlPlane
final class LoopbackCall {
    /// Sample rate of the call in Hz: wide-band, like real calls.
    nonisolated static let rate = 16_000
    nonisolated static let chirps = 5
    private static let number = "doctor"
    private static let pause = Duration.milliseconds(200)
    /// Blocks of 10 ms to wait after a device carries the call, until the received audio is its own.
    private static let settling = 20

    /// A snapshot of the device that carried the call.
    private struct Look {
        let blocks: Int
        let link: CallLink?
    }

    private let bridge: CallBridge
    private let exchange: AudioExchange
    private let train: ChirpTrain
    private let lead: Int
    private var result = CallMeasurement()
    private var looks: [Look] = []
    /// Audio that btcalld made up so far.
    private var concealedMs = 0

    /// Makes the call, and restores the settings it changed.
    ///
    /// - Parameter device: the device for the call; `.none` lets btcalld choose.
    static func make(on device: DeviceChoice, over bridge: CallBridge) async -> CallOutcome {
        do {
            return try await LoopbackCall(bridge).make(on: device)
        } catch let error as BridgeError where error.code == .notRunning || error.code == .noBus {
            return .noDaemon(error.message)
        } catch {
            return .refused("\(error)")
        }
    }

    private init(_ bridge: CallBridge) {
        self.bridge = bridge
        train = ChirpTrain(rate: Self.rate, count: Self.chirps)
        // Silence first: links and queues settle, and echo cancellers must not adapt yet.
        let silence = [Int16](repeating: 0, count: Self.rate)
        lead = silence.count
        exchange = AudioExchange(FarEnd(samples: silence + train.samples, rate: Self.rate), isRecording: true)
    }

    private func make(on device: DeviceChoice) async throws -> CallOutcome {
        let before = try await bridge.status()
        guard before.calls.isEmpty else {
            return .busy(before.calls.map { "\($0.state.rawValue): \($0.party), by \($0.provider)" })
        }
        let manager = bridge.audioDeviceManager
        let chosen = try await manager.explain().levels.first { $0.name == RoutingLevel.explicitChoice.name }?.spec
            .flatMap { DeviceChoice($0) }
        // A stopped manager accepts no selection.
        let mustStart = device != .none && !before.isStarted
        if mustStart { try await manager.start() }
        let outcome: Result<CallOutcome, any Error>
        do {
            outcome = .success(try await select(device, before))
        } catch {
            outcome = .failure(error)
        }
        // The end of the last call withdraws selections, both ours and the earlier one.
        if let chosen, chosen != .none { try await manager.select(chosen) }
        if mustStart { try await manager.stop() }
        return try outcome.get()
    }

    /// Moves the call to the device for its whole duration.
    private func select(_ device: DeviceChoice, _ before: BridgeStatus) async throws -> CallOutcome {
        let manager = bridge.audioDeviceManager
        result.wanted = device
        guard device != .none else {
            result.expected = try await manager.explain().chosen
            return try await measure()
        }
        result.expected = device
        let hold: Hold
        do {
            hold = try await manager.acquireSelection(device)
        } catch {
            guard error.code == .unavailable else { throw error }
            let reason = before.devices.first { $0.choice.isMeant(by: device) }?.unavailableBecause
            return .unavailable(device, [error.message, reason].compactMap { $0 }.joined(separator: "; "))
        }
        defer { hold.release() }
        return try await measure()
    }

    private func measure() async throws -> CallOutcome {
        try await talk()
        evaluate()
        return .measured(result)
    }

    private func talk() async throws {
        let report = TestCallReport(Output(write: { _ in }, writeError: { _ in }), isJSON: true)
        let plan = TestCall.Plan(
            direction: .outgoing, number: Self.number,
            talk: .milliseconds(ChirpTrain.distanceMilliseconds * (Self.chirps + 1) + 500))
        let call = TestCall(plan, exchange, rate: Self.rate, report)
        let interrupts = try [SIGINT, SIGTERM].map { try ControlLoop.shared.onSignal($0) { call.interrupt() } }
        let events = await bridge.events()
        let followers = [
            Task { @ControlPlane in for await event in events { self.follow(event) } },
            Task { @ControlPlane in await self.watch() },
        ]
        defer {
            for interrupt in interrupts { interrupt.cancel() }
            for follower in followers { follower.cancel() }
        }
        try await call.run(on: bridge)
    }

    private func follow(_ event: BridgeEvent) {
        if case .activationFailed(let device) = event, device.isMeant(by: result.expected) { result.wasTried = true }
    }

    /// Takes snapshots until it is cancelled.
    private func watch() async {
        while !Task.isCancelled {
            // A daemon that has gone ends the call, which reports it.
            if let status = try? await bridge.status() { await note(status) }
            await ControlLoop.shared.sleep(for: Self.pause)
        }
    }

    private func note(_ status: BridgeStatus) async {
        guard let call = status.calls.first(where: { $0.number == Self.number && $0.state == .active }) else { return }
        if status.pending.isMeant(by: result.expected) { result.wasTried = true }
        result.isMuted = status.isMuted
        result.link = call.link
        looks.append(Look(blocks: exchange.counters.blocksReceived, link: call.link))
        result.packets = call.totalQuality?.packets ?? 0
        result.lost = call.totalQuality?.lost ?? 0
        concealedMs = call.totalQuality?.concealedMs ?? 0
        if let link = call.link {
            result.name = status.devices.first { $0.choice == link.device }?.name
            if link.device.isMeant(by: result.expected) { result.hasCarried = true }
        }
        guard !result.isCarried else {
            result.why = nil
            return
        }
        if let explanation = try? await bridge.audioDeviceManager.explain() {
            result.why = why(explanation, status)
        }
    }

    /// The explanation of `btcall why` for the expected device and for the actual one.
    private func why(_ explanation: RouteExplanation, _ status: BridgeStatus) -> String? {
        let refused = explanation.levels.filter { level in
            let devices = [level.candidate, level.spec].compactMap { $0 }.compactMap { DeviceChoice($0) }
            return !level.isEligible && devices.contains { $0.isMeant(by: result.expected) }
        }
        var parts = refused.map { "\($0.name): \($0.verdict)" }
        let device = status.devices.first { $0.choice.isMeant(by: result.expected) }
        if let device { parts.append("\(device.choice) is \(device.unavailableBecause ?? device.state)") }
        if !status.interruptions.isEmpty {
            parts.append("interrupted by " + status.interruptions.joined(separator: ", "))
        }
        if let level = explanation.level { parts.append("\(explanation.chosen) by the level \(level)") }
        return parts.isEmpty ? explanation.text.first : parts.joined(separator: "; ")
    }

    private func evaluate() {
        let counters = exchange.counters
        result.blocksReceived = counters.blocksReceived
        result.blocksSent = counters.blocksSent
        result.chirps = Self.chirps
        var recorded = exchange.takeRecorded()
        let blockFrames = Self.rate / 100
        // Audio from a stand-in, or still in a queue, tells nothing about this device.
        let others = looks.lastIndex { $0.link?.device != result.link?.device } ?? -1
        let since = others + 1 < looks.count ? looks[others + 1].blocks + Self.settling : 0
        let start = min(since * blockFrames, recorded.count)
        for index in 0..<start { recorded[index] = 0 }
        result.microphone = CallMeasurement.Microphone(recorded[start...], concealedMs: concealedMs)
        let sent = counters.blocksBeforePlay * blockFrames + lead
        result.delays = train.echoes(in: recorded, from: sent).map { Double($0.delay) * 1000 / Double(Self.rate) }
    }
}
