import BTCallAPI
import CallControl
import ControlLoop
import DBus
import Telephony

// The progress of calls in one word.
extension CallsObject {
    /// A call that was answered, or whose device has gone, is usually on a device at once: a shorter `mediaPending` is not
    /// announced.
    private static let mediaGrace = Duration.milliseconds(100)

    /// Sends `StatusChanged` if the status differs from the last announced one.
    func announceStatus(of record: CallRecord) {
        let status = record.status
        if status == .mediaPending {
            guard record.announcedStatus != .mediaPending, record.statusTimer == nil else { return }
            record.statusTimer = ControlLoop.shared.schedule(after: Self.mediaGrace) { [weak self, weak record] in
                guard let record else { return }
                record.statusTimer = nil
                if record.status == .mediaPending { self?.announce(.mediaPending, of: record) }
            }
            return
        }
        let wasPending = record.statusTimer != nil
        record.statusTimer?.cancel()
        record.statusTimer = nil
        // It was answered and ended in that time.
        if wasPending, record.call.state.isEnded { announce(.inCall, of: record) }
        announce(status, of: record)
    }

    private func announce(_ status: CallStatusWord, of record: CallRecord) {
        guard record.announcedStatus != nil, status != record.announcedStatus else { return }
        record.announcedStatus = status
        var reason = record.failure?.rawValue ?? ""
        if status != .inCall, case .ended(let end) = record.call.state { reason = end.rawValue }
        bus.emit(
            path: record.path, interface: BTCallName.Interface.call, member: BTCallName.Call.statusChanged,
            [.string(status.rawValue), .string(reason)])
    }
}
