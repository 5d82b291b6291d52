import BluetoothTypes
package import ControlLoop
import Diagnostics
package import Logging
import Telephony

/// Ends incoming calls that nobody answers: `[calls] ringSeconds`.
@ControlPlane
package final class RingLimit {
    /// Time until the next attempt, when an application does not end its call.
    private static let retry = Duration.seconds(10)

    private struct Ringing {
        let record: CallRecord
        let since: Instant
        var timer: Timer?
    }

    /// How long a call may ring; zero: forever. A change applies from the moment the call began to ring.
    package var limit: Duration {
        didSet {
            guard limit != oldValue else { return }
            for index in ringing.indices { plan(index) }
        }
    }

    private let calls: CallDirectory
    private let logger: Logger
    private var ringing: [Ringing] = []

    package init(calls: CallDirectory, limit: Duration, logger: Logger) {
        self.calls = calls
        self.limit = limit
        self.logger = logger
        calls.changes.subscribe(self) { $0.handle($1) }
    }

    package func stop() {
        for call in ringing { call.timer?.cancel() }
        ringing = []
    }

    private func handle(_ change: CallDirectory.Change) {
        switch change {
        case .added(let record):
            guard record.call.state.isRinging else { return }
            ringing.append(Ringing(record: record, since: ControlLoop.now))
            plan(ringing.count - 1)
        case .changed(let record):
            if !record.call.state.isRinging { leave(record) }
        case .ended(let record, _): leave(record)
        }
    }

    private func leave(_ record: CallRecord) {
        guard let index = ringing.firstIndex(where: { $0.record === record }) else { return }
        ringing[index].timer?.cancel()
        ringing.remove(at: index)
    }

    private func plan(_ index: Int) {
        guard limit > .zero else {
            ringing[index].timer?.cancel()
            ringing[index].timer = nil
            return
        }
        wait(index, until: ringing[index].since.advanced(by: limit))
    }

    private func wait(_ index: Int, until time: Instant) {
        ringing[index].timer?.cancel()
        let record = ringing[index].record
        ringing[index].timer = ControlLoop.shared.schedule(at: time) { [weak self] in self?.end(record) }
    }

    private func end(_ record: CallRecord) {
        logger.about(call: record.uuid).notice(
            "call \(record.uuid): nobody answered for \(limit.milliseconds / 1000) s ([calls] ringSeconds): it ends as missed"
        )
        calls.request(.giveUp(record.identifier)) { [weak self] outcome in
            guard outcome != .done, let self, limit > .zero,
                let index = ringing.firstIndex(where: { $0.record === record })
            else { return }
            wait(index, until: ControlLoop.now.advanced(by: Self.retry))
        }
    }
}
