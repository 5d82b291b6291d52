package import AudioPaths
package import BTCallAPI
package import ControlLoop
package import DBus
package import Logging
import Telephony

/// The owner of the implied call: acts for programs on the PCM that belong to no reported call.
@ControlPlane
package final class PCMCalls: CallOwner {
    package let options = ProviderOptions(name: "pcm", audio: .pcm, capabilities: [.hold])
    package var name: String { options.name }
    package var busName: String? { nil }

    private let calls: CallDirectory
    private let logger: Logger
    private var machine = ImpliedCall()
    private var timer: Timer?
    private var record: CallRecord?
    private var isRegistered = false

    package init(calls: CallDirectory, pcm: PCMServer, logger: Logger) {
        self.calls = calls
        self.logger = logger
        calls.changes.subscribe(self) { pcmCalls, change in
            if case .ended(let record, _) = change { pcmCalls.ended(record) }
            pcmCalls.callsChanged()
        }
        calls.providerChanges.subscribe(self) { $0.callsChanged() }
        pcm.changes.subscribe(self) { pcmCalls in
            pcmCalls.streamsChanged(
                isPlaying: pcm.count(.call) > 0, isCapturing: pcm.count(.call, isCapture: true) > 0)
        }
    }

    // MARK: Events

    private func streamsChanged(isPlaying: Bool, isCapturing: Bool) {
        perform(machine.streams(isPlaying: isPlaying, isCapturing: isCapturing, at: ControlLoop.now))
    }

    /// Called when other calls, or their owners, may have changed.
    private func callsChanged() {
        let isOccupied = calls.calls.contains { $0.hasSpeech && $0.provider.options.audio == .descriptor }
        let mayLast = calls.acceptsProviders && !calls.hasProvider { $0.options.audio == .pcm && $0 !== self }
        perform(machine.circumstances(mayBegin: !isOccupied, mayLast: mayLast, at: ControlLoop.now))
    }

    /// Called when any call has ended.
    private func ended(_ ended: CallRecord) {
        guard let record, ended === record else { return }
        self.record = nil
        // The registration ends after the present actions have been carried out.
        ControlLoop.shared.perform { [weak self] in self?.leave() }
        perform(machine.ended(at: ControlLoop.now))
    }

    package func stop() {
        timer?.cancel()
        timer = nil
    }

    // MARK: Steps

    private func perform(_ actions: [ImpliedCall.Action]) {
        for action in actions {
            switch action {
            case .setDeadline(let due):
                timer?.cancel()
                timer = ControlLoop.shared.schedule(at: due) { [weak self] in
                    guard let self else { return }
                    timer = nil
                    perform(machine.deadlineReached(at: ControlLoop.now))
                }
            case .begin: begin()
            case .end: end()
            }
        }
    }

    private func begin() {
        do throws(APIError) {
            if !isRegistered {
                calls.register(self)
                isRegistered = true
            }
            let record = try calls.reportOutgoing(from: self, number: "", options: ReportOptions())
            self.record = record
            try calls.update(record, .active, from: self)
            logger.notice("programs play and record on btcall:call: that is call \(record.uuid)")
        } catch {
            logger.warning("programs play and record on btcall:call, but no call can be created for them: \(error)")
            perform(machine.ended(at: ControlLoop.now))
        }
    }

    private func end() {
        guard let record else { return }
        self.record = nil
        do throws(APIError) {
            try calls.update(record, .ended(.remoteHangUp), from: self)
        } catch {
            logger.debug("call \(record.uuid) has already ended: \(error)")
        }
        leave()
    }

    private func leave() {
        guard isRegistered, record == nil else { return }
        isRegistered = false
        calls.unregister(self)
    }

    // MARK: CallOwner

    package func start(
        _ call: String, _ number: String, _ media: MediaState, for account: AccountDescription
    ) async throws(APIError) {
        throw Self.unable("dial")
    }

    package func answer(_ call: String, _ media: MediaState, for account: AccountDescription) async throws(APIError) {
        throw Self.unable("answer")
    }

    package func sendDTMF(_ call: String, _ tones: String) async throws(APIError) { throw Self.unable("send tones") }

    /// The programs cannot be asked to hang up; from now on nobody hears them.
    package func end(_ call: String, reason: String) async throws(APIError) {
        logger.notice(
            "\(call) is hung up; the programs on btcall:call cannot be notified: they hear silence until they stop")
    }

    /// The programs cannot be asked to hold either: they hear silence meanwhile.
    package func setHeld(_ call: String, _ held: Bool) async throws(APIError) {}

    package func audioReady(
        _ call: String, _ descriptor: PassedDescriptor, _ format: AudioFormat
    ) async throws(APIError) {}

    package func released() { isRegistered = false }

    private static func unable(_ what: String) -> APIError {
        APIError(
            .notSupported,
            "the call was made by programs on btcall:call, which cannot be asked to \(what): use the program")
    }
}
