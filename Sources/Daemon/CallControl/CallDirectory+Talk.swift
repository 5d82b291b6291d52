import BTCallAPI
import ControlLoop
import Diagnostics
import Logging
import Routing
package import Talk
package import TalkWords
import Telephony

// Push to talk: how the far end of each call hears the person.
extension CallDirectory {
    /// The call's own mode, else that of its application, else the configured one.
    package func talkMode(of record: CallRecord) -> TalkMode {
        record.ownTalkMode ?? record.provider.options.talk ?? configuredTalkMode
    }

    /// Sets the mode that the call's application reports.
    package func setTalkMode(_ mode: TalkMode, of record: CallRecord) {
        record.ownTalkMode = mode
        followTalkMode(of: record)
    }

    package func talkModesChanged() {
        for record in calls { followTalkMode(of: record) }
    }

    private func followTalkMode(of record: CallRecord) {
        let mode = talkMode(of: record)
        guard mode != record.talkMode, !record.call.state.isEnded else { return }
        record.talkMode = mode
        audio?.gate(record)
        logger.about(call: record.uuid).info("call \(record.uuid): talk mode \(mode.rawValue)")
        properties.send((record, [BTCallName.Call.talkMode]))
        talkModeChanges.send(record)
    }

    /// Lets the far end of a call with a talk mode hear the person, or not.
    package func setTalking(_ talking: Talking, on record: CallRecord) {
        guard talking != record.talking else { return }
        let wasOpen = record.talking.isOpen
        record.talking = talking
        if talking.isOpen != wasOpen {
            audio?.gate(record)
            routing.send(.callTalking(call: record.uuid, isTalking: talking.isOpen))
        }
        let holder = talking.holder.map { ", \($0)" } ?? ""
        logger.about(call: record.uuid).debug("call \(record.uuid): \(talking.state.rawValue)\(holder)")
        // A call that has ended has no object any more.
        guard !record.call.state.isEnded else { return }
        let names = [BTCallName.Call.talkState, BTCallName.Call.talkHolder]
        properties.send((record, talking.isOpen == wasOpen ? names : [BTCallName.Call.talking] + names))
    }
}
