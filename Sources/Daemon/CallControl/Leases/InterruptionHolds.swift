import BTCallAPI
package import ControlLoop
package import Logging
import Routing
import Telephony

/// Holds calls while something else has the audio, so that the far ends know that nobody hears them, and resumes them when
/// the audio comes back. Only applications with the capability `hold` are asked.
@ControlPlane
package final class InterruptionHolds {
    private let calls: CallDirectory
    private let logger: Logger
    package var isOn: Bool
    /// Calls held here that nobody has resumed since.
    private var held: [CallID] = []
    /// Calls whose applications have not answered the request to hold.
    private var asked: [CallID] = []
    /// Outgoing calls not yet answered when the interruption began; held once they are.
    private var pending: [CallID] = []
    /// Calls to resume as soon as they are held: the interruption ended before.
    private var late: [CallID] = []

    package init(calls: CallDirectory, isOn: Bool, logger: Logger) {
        self.calls = calls
        self.isOn = isOn
        self.logger = logger
        calls.routing.subscribe(self) { holds, event in
            if case .callResumed(let call) = event { holds.resumed(call) }
        }
        calls.changes.subscribe(self) { holds, change in
            switch change {
            case .added(let record), .changed(let record): holds.changed(record)
            case .ended: break
            }
        }
    }

    package func began() {
        held = []
        late = []
        pending = []
        guard isOn else { return }
        for record in calls.calls {
            if record.call.state == .active {
                hold(record)
            } else if record.call.direction == .outgoing, record.call.state != .held {
                pending.append(record.identifier)
            }
        }
    }

    /// Holds an outgoing call when it is answered. A call that somebody answers here meanwhile is meant to be heard, and is
    /// not held.
    private func changed(_ record: CallRecord) {
        guard record.call.state == .active, pending.contains(record.identifier) else { return }
        pending.removeAll { $0 == record.identifier }
        hold(record)
    }

    private func hold(_ record: CallRecord) {
        guard record.provider.options.capabilities.contains(.hold) else { return }
        let id = record.identifier
        held.append(id)
        asked.append(id)
        calls.request(.setHeld(id, true)) { [weak self] outcome in self?.answered(record, outcome) }
    }

    private func answered(_ record: CallRecord, _ outcome: CallRequestOutcome) {
        let id = record.identifier
        asked.removeAll { $0 == id }
        let isLate = late.contains(id)
        late.removeAll { $0 == id }
        guard outcome == .done else {
            held.removeAll { $0 == id }
            logger.notice("call \(record.uuid) cannot be held while something else has the audio")
            return
        }
        if isLate { calls.request(.setHeld(id, false)) }
    }

    /// A held call was resumed: if another client did it, it is no longer managed here.
    private func resumed(_ uuid: String) {
        held.removeAll { calls.record($0)?.uuid == uuid }
    }

    /// - Parameter resume: whether the calls get the audio back.
    package func ended(resume: Bool) {
        let ended = held
        held = []
        pending = []
        // A call answered meanwhile is the one to hear: resuming another one would hold it.
        let others = calls.calls.filter { !asked.contains($0.identifier) }
        guard resume, !others.contains(where: { $0.call.state == .active }) else { return }
        for id in ended where calls.record(id) != nil {
            if asked.contains(id) { late.append(id) } else { calls.request(.setHeld(id, false)) }
        }
    }
}
