import BTCallAPI
import BluetoothTypes
import ControlLoop
import Routing

// The calls: who is told of them, and what is kept of them.
extension Daemon {
    func joinCalls() {
        calls.audio = audio
        calls.onRoutingEvent = { [weak self] event in
            self?.router.handle(event)
            if case .callResumed(let call) = event { self?.interruptionHolds.resumed(call) }
        }
        calls.onSnapshot = { [weak self] snapshot in
            self?.headsets.callsChanged(snapshot)
            self?.sounds.tones.follow(snapshot)
        }
        calls.onUnshownSpeech = { [weak self] isOn in self?.headsets.setVirtualCall(isOn) }
        calls.onChange = { [weak self] change in self?.take(change) }
        quality.onChange = { [weak self] record, names in self?.callsObject?.changed(record, names) }
        admission.onRetry = { [weak self] address in self?.quality.retried(address) }
    }

    private func take(_ change: CallDirectory.Change) {
        // What is told of a call that is over has to be told while its object is there.
        if case .ended(let record, _) = change {
            quality.take(change)
            taps.ended(record)
        }
        callsObject?.show(change)
        if case .ended(let record, _) = change { pcmCalls.ended(record) }
        pcmCalls.callsChanged()
        microphone.setInCall(!calls.calls.isEmpty)
        if calls.calls.isEmpty { mute.set(false) }
        switch change {
        case .added, .changed: quality.take(change)
        case .ended(let record, let reason):
            journal?.write(record, reason)
            callFailed(record, reason)
        }
    }

    static func journal(_ configuration: Configuration, _ problems: ProblemList) -> CallJournal? {
        configuration.callRecord.map {
            CallJournal(path: $0, withNumbers: configuration.recordsNumbers, problems: problems)
        }
    }
}
