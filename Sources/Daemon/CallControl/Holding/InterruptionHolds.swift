import BTCallAPI
package import ControlLoop
package import Logging
import Routing
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
    /// Applications that have been asked to hold and have not answered.
    private var asked: [CallID] = []
    /// Outgoing calls that were not answered when the interruption began: held when they are.
    private var pending: [CallID] = []
    /// Taken up again as soon as they are held: the interruption was over before.
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

    /// A call is different. One that somebody answers here meanwhile is to be heard, and is no matter of ours.
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
            logger.notice("call \(record.uuid) is not held while somebody else has the audio")
            return
        }
        if isLate { calls.request(.setHeld(id, false)) }
    }

    /// A held call was taken up again: if not from here, it is nothing to us any more.
    private func resumed(_ uuid: String) {
        held.removeAll { calls.record($0)?.uuid == uuid }
    }

    /// - Parameter resume: whether the calls get the audio back.
    package func ended(resume: Bool) {
        let ended = held
        held = []
        pending = []
        // A call that was answered meanwhile is the one to be heard: it would be held in turn.
        let others = calls.calls.filter { !asked.contains($0.identifier) }
        guard resume, !others.contains(where: { $0.call.state == .active }) else { return }
        for id in ended where calls.record(id) != nil {
            if asked.contains(id) { late.append(id) } else { calls.request(.setHeld(id, false)) }
        }
    }
}
