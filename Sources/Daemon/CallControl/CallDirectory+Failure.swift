import AudioPaths
package import BTCallAPI
package import BluetoothTypes
package import ControlLoop
import Logging
package import Telephony

// Calls that could not be made. They stay, with their route, while the failure tone plays; any other event ends them at
// once. Their applications no longer own them.
extension CallDirectory {
    /// Handles the end of an outgoing call that nobody answered.
    ///
    /// - Returns: true when the call is to end after the tone.
    /// - Throws: `noSuchCall` for a call that has already ended for its application.
    package func isFailing(_ id: CallID, _ state: CallState) throws(APIError) -> Bool {
        guard let record = record(id) else { return false }
        guard record.failure == nil else { throw Self.refusal(.unknownCall) }
        guard case .ended(let reason) = state, record.call.isShown, record.call.direction == .outgoing,
            record.startedAt == 0,
            record.call.state == .dialing || record.call.state == .alerting,
            let length = tones?.fail(record.identifier, reason)
        else { return false }
        record.failure = reason
        logger.info("call \(record.uuid): failed, \(reason.rawValue)")
        endAudio(of: record)
        properties.send((record, [BTCallName.Call.status]))
        record.failureTimer = ControlLoop.shared.schedule(after: length) { [weak self] in self?.finishFailures() }
        return true
    }

    /// Ends the calls that could not be made.
    package func finishFailures() {
        for record in calls {
            guard let reason = record.failure else { continue }
            record.failureTimer?.cancel()
            do throws(CallReportError) {
                run(try table.ended(record.identifier, reason, from: record.call.provider))
            } catch {
                logger.warning("call \(record.uuid) cannot end: \(error)")
            }
        }
    }

    /// Ends the failed calls before a request is carried out.
    ///
    /// - Returns: true when that already fulfils the request.
    package func endFailed(by request: CallRequest) -> Bool {
        let failed = calls.filter { $0.failure != nil }.map(\.identifier)
        guard !failed.isEmpty else { return false }
        switch request {
        case .setHeld, .sendDTMF, .responseAndHold, .giveUp: return false
        case .hangUp(let id), .end(let id):
            finishFailures()
            return failed.contains(id)
        case .answer, .reject, .dial, .threeWay:
            finishFailures()
            return false
        }
    }

    /// - Parameter time: milliseconds of the monotonic clock.
    /// - Throws: `invalidArgument` for a time in the future.
    package static func instant(_ time: UInt64?) throws(APIError) -> Instant? {
        guard let time else { return nil }
        let now = ControlLoop.now.nanoseconds / 1_000_000
        guard let time = Int64(exactly: time), time <= now else {
            throw APIError(
                .invalidArgument, "time is \(time), which is to come; accepted: milliseconds of CLOCK_MONOTONIC")
        }
        return Instant(milliseconds: time)
    }
}

extension WallClock {
    /// The wall clock's time at a past instant.
    package static func at(_ instant: Instant) -> WallClock {
        WallClock(milliseconds: now.milliseconds - instant.duration(to: ControlLoop.now).milliseconds)
    }
}
