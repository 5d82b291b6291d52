package import BTCall
package import CallExchange
package import ControlLoop

/// A telephony application with one call, whose far end is a tone or a file.
///
/// It owns the call from beginning to end: registers as a provider, reports the call, exchanges its audio, ends it.
@ControlPlane
package final class TestCall: CallProvider {
    package struct Plan: Sendable {
        package var direction: Call.Direction
        package var number: String
        package var name: String?
        /// Whether the call is dialled by a headset or over the bus instead of being reported.
        package var isDialledHere = false
        package var hasCallState = true
        /// Time until the far end (outgoing) or this application (incoming) answers; nil leaves it to the headset.
        package var answerAfter: Duration?
        /// Duration of the talk; nil until somebody ends the call.
        package var talk: Duration?
        /// File for the call's audio.
        package var recording: String?
        /// Sample format requested from the daemon.
        package var format = CallAudio.SampleFormat.s16
        package var channels = 1

        package init(
            direction: Call.Direction, number: String, name: String? = nil, isDialledHere: Bool = false,
            hasCallState: Bool = true, answerAfter: Duration? = nil, talk: Duration? = nil, recording: String? = nil,
            format: CallAudio.SampleFormat = .s16, channels: Int = 1
        ) {
            self.direction = direction
            self.number = number
            self.name = name
            self.isDialledHere = isDialledHere
            self.hasCallState = hasCallState
            self.answerAfter = answerAfter
            self.talk = talk
            self.recording = recording
            self.format = format
            self.channels = channels
        }
    }

    private enum Phase: Equatable {
        case preparing
        case offered(Call.ID)
        case talking(Call.ID)
        case ended(reason: String?)
    }

    private let plan: Plan
    private let exchange: AudioExchange
    private let report: TestCallReport
    private let rate: Int
    private var recorder: Recorder?
    private var phase = Phase.preparing {
        didSet { if oldValue == .preparing { resume(&offers) } }
    }
    /// Requests that arrived before the call's id.
    private var offers: [CheckedContinuation<Void, Never>] = []
    private var registration: ProviderRegistration?
    private var early: [BridgeEvent] = []
    private var ends: [CheckedContinuation<Void, Never>] = []
    private var tasks: [Task<Void, Never>] = []
    private var failure: (any Error)?
    private var audioRuns = false

    /// - Throws: when the recording cannot be written.
    package init(_ plan: Plan, _ farEnd: FarEnd, _ report: TestCallReport) throws {
        self.plan = plan
        self.report = report
        rate = farEnd.rate
        exchange = AudioExchange(farEnd, isRecording: plan.recording != nil)
        if let path = plan.recording { recorder = try Recorder(path: path, rate: rate) }
    }

    /// A call whose audio the caller evaluates.
    ///
    /// - Parameter rate: sample rate of the exchange in Hz.
    package init(_ plan: Plan, _ exchange: AudioExchange, rate: Int, _ report: TestCallReport) {
        self.plan = plan
        self.report = report
        self.rate = rate
        self.exchange = exchange
    }

    /// Makes the call and returns when it has ended.
    ///
    /// - Throws: the daemon's refusal, or an error of the recording.
    package func run(on bridge: CallBridge) async throws {
        let events = await bridge.events()
        tasks.append(Task { @ControlPlane in for await event in events { self.handle(event) } })
        defer {
            for task in tasks { task.cancel() }
        }
        do {
            try await offer(on: bridge)
            await untilEnded()
        } catch {
            fail(error)
        }
        await untilAudioEnded()
        try saveRecording()
        report.ended(exchange.counters)
        // Without the daemon there is nothing to unregister.
        try? await registration?.unregister()
        if let failure { throw failure }
    }

    /// Ends the call at the request of the person at the keyboard.
    package func interrupt() {
        if case .talking = phase { hangUp(.remoteHangUp) } else { hangUp(.cancelled) }
    }

    // MARK: Course of the call

    private func offer(on bridge: CallBridge) async throws {
        let description = CallProviderDescription(
            name: "test-call", rate: rate, sampleFormat: plan.format, channels: plan.channels,
            capabilities: plan.isDialledHere ? [.hold, .dtmf, .dial] : [.hold, .dtmf], hasCallState: plan.hasCallState)
        let registration = try await bridge.register(self, as: description)
        self.registration = registration
        report.routeIs(try await bridge.audioDeviceManager.activeRoute())
        if plan.isDialledHere { return report.waitsForDialling() }
        let call =
            switch plan.direction {
            case .incoming: try await registration.reportIncoming(number: plan.number, name: plan.name)
            case .outgoing: try await registration.reportOutgoing(number: plan.number, name: plan.name)
            }
        offered(call, plan.number)
        try await connect(call, registration)
    }

    private func offered(_ call: Call.ID, _ number: String) {
        guard case .preparing = phase else { return }
        phase = .offered(call)
        report.offered(call, plan, number)
        let missed = early
        early = []
        for event in missed { handle(event) }
    }

    /// Lets the far end of an outgoing call ring and answer; answers an incoming call if requested.
    private func connect(_ call: Call.ID, _ registration: ProviderRegistration) async throws {
        let delay = plan.answerAfter ?? (plan.direction == .outgoing ? .seconds(1) : nil)
        guard let delay else { return }
        if plan.direction == .outgoing {
            try await registration.update(call, .alerting)
        }
        tasks.append(
            Task { @ControlPlane in
                await ControlLoop.shared.sleep(for: delay)
                guard !Task.isCancelled, phase == .offered(call) else { return }
                do {
                    try await registration.update(call, .active)
                } catch {
                    fail(error)
                }
            })
    }

    private func becameActive(_ call: Call.ID) {
        guard phase == .offered(call) else { return }
        phase = .talking(call)
        exchange.play()
        tasks.append(Task { @ControlPlane in await self.tick() })
        guard let talk = plan.talk else { return }
        tasks.append(
            Task { @ControlPlane in
                await ControlLoop.shared.sleep(for: talk)
                if !Task.isCancelled { self.hangUp(.remoteHangUp) }
            })
    }

    /// Once a second: shows the levels and writes the recorded samples.
    private func tick() async {
        while !Task.isCancelled, case .talking = phase {
            await ControlLoop.shared.sleep(for: .seconds(1))
            guard !Task.isCancelled, case .talking = phase else { return }
            report.levels(exchange.takeLevels())
            do {
                try recorder?.append(exchange.takeRecorded())
            } catch {
                fail(error)
            }
        }
    }

    private func hangUp(_ reason: Call.EndReason) {
        switch phase {
        case .preparing:
            end(reason: reason.rawValue)
        case .offered(let call), .talking(let call):
            guard let registration else { return }
            tasks.append(
                Task { @ControlPlane in
                    do {
                        try await registration.update(call, .ended, reason: reason)
                        self.end(reason: reason.rawValue)
                    } catch {
                        self.fail(error)
                    }
                })
        case .ended:
            break
        }
    }

    private func fail(_ error: any Error) {
        if case .ended = phase { return }
        failure = error
        end(reason: "failed")
    }

    private func end(reason: String?) {
        if case .ended = phase { return }
        phase = .ended(reason: reason)
        report.callEnded(reason: reason)
        // Normally the daemon closes the audio; otherwise it ends here.
        tasks.append(
            Task { @ControlPlane in
                await ControlLoop.shared.sleep(for: .milliseconds(500))
                self.exchange.stop()
            })
        resume(&ends)
    }

    // MARK: Waiting

    private func untilEnded() async {
        if case .ended = phase { return }
        await withCheckedContinuation { ends.append($0) }
    }

    private func untilAudioEnded() async {
        guard audioRuns else { return }
        await withCheckedContinuation { ends.append($0) }
    }

    private func untilOffered() async {
        guard phase == .preparing else { return }
        await withCheckedContinuation { offers.append($0) }
    }

    private func resume(_ waiting: inout [CheckedContinuation<Void, Never>]) {
        let continuations = waiting
        waiting = []
        for continuation in continuations { continuation.resume() }
    }

    private func audioEnded() {
        audioRuns = false
        report.audioEnded()
        if case .ended = phase { resume(&ends) }
    }

    private func saveRecording() throws {
        try recorder?.append(exchange.takeRecorded())
        recorder = nil
    }

    // MARK: Signals of the daemon

    private func handle(_ event: BridgeEvent) {
        switch event {
        case .routeChanged(_, let new, let reason):
            report.routeChanged(new, reason: reason)
        case .callStateChanged(let id, let state, let reason):
            guard isOurs(id, event) else { return }
            if state == .ended { return end(reason: reason) }
            report.stateChanged(state)
            if state == .active { becameActive(id) }
        case .callRemoved(let id, let reason):
            if isOurs(id, event) { end(reason: reason) }
        case .buttonPressed(let address, let button):
            report.button(button, address: address)
        case .mutedChanged(let muted):
            report.muted(muted)
        // The registration reports the end of the daemon; calls survive the bus alone.
        case .daemonAppeared, .daemonVanished, .activationFailed, .callAdded, .callQualityChanged, .devicesChanged,
            .problemsChanged,
            .stateChanged, .settingChanged, .speakingWhileMuted, .callRecordedChanged, .recordingDenied,
            .recordingRequested, .doNotDisturbChanged, .incomingCall, .cameraSettingsChanged, .mediaChangeRequested,
            .headsetEvent, .headsetChanged, .callStatusChanged, .callTalkChanged:
            break
        }
    }

    /// Whether an event concerns our call; keeps the event for later while the call's id is unknown.
    private func isOurs(_ id: Call.ID, _ event: BridgeEvent) -> Bool {
        switch phase {
        case .preparing:
            early.append(event)
            return false
        case .offered(let call), .talking(let call): return call == id
        case .ended: return false
        }
    }

    // MARK: CallProvider

    @ControlPlane package func performStart(_ call: Call.ID, number: String) async throws(ProviderRefusal) {
        guard plan.isDialledHere, phase == .preparing, let registration else {
            throw .failed("this application already has its one call")
        }
        offered(call, number)
        // The call is dialling only once this has returned.
        tasks.append(
            Task { @ControlPlane in
                do {
                    try await self.connect(call, registration)
                } catch {
                    self.fail(error)
                }
            })
    }

    @ControlPlane package func performDTMF(_ call: Call.ID, tones: String) async throws(ProviderRefusal) {
        guard phase == .talking(call) else { throw .failed("there is no such call to send tones in") }
        report.tones(tones)
    }

    @ControlPlane package func performAnswer(_ call: Call.ID) async throws(ProviderRefusal) {
        await untilOffered()
        guard phase == .offered(call), plan.direction == .incoming else {
            throw .failed("the call cannot be answered now")
        }
        report.answered()
    }

    @ControlPlane package func performEnd(_ call: Call.ID, reason: String) async throws(ProviderRefusal) {
        await untilOffered()
        switch phase {
        case .offered(call), .talking(call): report.asked(toEnd: reason)
        case .preparing, .offered, .talking, .ended: throw .noSuchCall("that call belongs to another application")
        }
    }

    /// Hold ends the audio, resume brings a new descriptor; the far end continues where it was.
    @ControlPlane package func performSetHeld(_ call: Call.ID, _ held: Bool) async throws(ProviderRefusal) {
        guard phase == .talking(call) else { throw .failed("there is no such call to hold or resume") }
    }

    @ControlPlane package func audioReady(_ call: Call.ID, _ audio: CallAudio) async {
        if case .ended = phase { return }
        guard audio.rate == rate else {
            fail(CommandFailure("btcalld gave audio at \(audio.rate) Hz instead of \(rate) Hz"))
            return
        }
        audioRuns = true
        report.audioBegan()
        exchange.start(audio) {
            Task { @ControlPlane in self.audioEnded() }
        }
    }

    @ControlPlane package func released() async {
        fail(CommandFailure("btcalld has dropped the call: it was stopped, or has ended"))
    }
}

/// The open recording; a class so that it can be released.
private final class Recorder {
    private var writer: WaveWriter

    init(path: String, rate: Int) throws(WaveFileError) {
        writer = try WaveWriter(path: path, rate: rate)
    }

    func append(_ samples: [Int16]) throws(WaveFileError) {
        try writer.append(samples)
    }
}
