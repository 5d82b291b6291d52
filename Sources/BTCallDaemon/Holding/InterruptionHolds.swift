import BTCallAPI
package import ControlLoop
package import Logging
import Telephony

/// Tells the far ends that nobody hears them: while somebody else has the audio, calls are held whose applications can do
/// that, and taken up again when the audio comes back.
@ControlPlane
package final class InterruptionHolds {
    private let calls: CallDirectory
    private let logger: Logger
    package var isOn: Bool
    /// Held here, and not taken up by anybody since.
    private var held: [CallID] = []

    package init(calls: CallDirectory, isOn: Bool, logger: Logger) {
        self.calls = calls
        self.isOn = isOn
        self.logger = logger
    }

    package func began() {
        guard isOn else { return }
        for record in calls.calls where record.call.state == .active {
            guard record.provider.options.capabilities.contains(.hold) else { continue }
            let id = record.identifier
            held.append(id)
            calls.request(.setHeld(id, true)) { [weak self] outcome in
                guard outcome != .done else { return }
                self?.held.removeAll { $0 == id }
                self?.logger.notice("call \(record.uuid) is not held while somebody else has the audio")
            }
        }
    }

    /// - Parameter resume: whether the calls get the audio back.
    package func ended(resume: Bool) {
        guard resume else { return }
        let ended = held
        held = []
        for id in ended where calls.record(id) != nil { calls.request(.setHeld(id, false)) }
    }
}
