import AudioPaths
import BTCallAPI
import BluetoothTypes
import BusObjects
package import CallControl
package import Configuration
import ControlLoop
import DBus
package import Diagnostics
import HeadsetControl
package import Logging
import Routing
package import Telephony

// The calls: who is told of them, and what is kept of them.
extension Daemon {
    package func joinCalls() {
        calls.audio = audio
        calls.policy = settings.configuration.callPolicy
        calls.absencePatience = configuration.waits.absence
        bus.onStateChange = { [weak self] state in
            if state == .connected { self?.calls.busReturned() }
        }
        calls.onRoutingEvent = { [weak self] event in
            self?.router.handle(event)
            if case .callResumed(let call) = event { self?.interruptionHolds.resumed(call) }
            if case .callMedia = event { self?.followMedia() }
        }
        calls.onSnapshot = { [weak self] snapshot in
            self?.headsets.callsChanged(snapshot)
            self?.sounds.tones.follow(snapshot)
        }
        calls.onUnshownSpeech = { [weak self] isOn in self?.headsets.setVirtualCall(isOn) }
        calls.onRefused = { [weak self] call in
            self?.metrics.callRefused()
            self?.callLog.add(call)
        }
        calls.onChange = { [weak self] change in self?.take(change) }
        joinMedia()
        calls.onFailure = { [weak self] record, reason in self?.sounds.tones.fail(record.identifier, reason) }
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
        expectedProfiles.follow()
        reconnector.follow()
        pairing.follow()
        peace.callsChanged()
        if case .ended(let record, _) = change { pcmCalls.ended(record) }
        pcmCalls.callsChanged()
        microphone.setInCall(!calls.calls.isEmpty)
        followMedia()
        if calls.calls.isEmpty { mute.set(false) }
        switch change {
        case .added(let record), .changed(let record):
            quality.take(change)
            runHooks(of: record)
            interruptionHolds.changed(record)
        case .ended(let record, let reason):
            count(record, reason)
            hookedCalls[record.identifier] = nil
            runHook(.callEnded, record, reason)
            journal?.write(record, reason)
            callLog.add(record, reason)
        }
    }

    package func follow(_ new: CallTable.Configuration, replacing old: CallTable.Configuration) {
        calls.policy = new
        guard new.doNotDisturb != old.doNotDisturb else { return }
        logger.notice("do not disturb is \(new.doNotDisturb ? "on: incoming calls are refused" : "off")")
        callsObject?.doNotDisturbChanged()
    }

    package static func journal(_ configuration: Configuration, _ problems: ProblemList) -> CallJournal? {
        configuration.callRecord.map {
            CallJournal(
                path: $0, withNumbers: configuration.recordsNumbers, limitKiB: configuration.recordKiB,
                problems: problems)
        }
    }

    /// Who wants no record of calls wants none in the state directory either.
    package static func callLog(
        _ configuration: Configuration, _ writer: StateWriter, _ problems: ProblemList, _ logger: Logger
    ) -> CallLog {
        let directory = configuration.callRecord == nil ? nil : configuration.stateDirectory
        return CallLog(
            file: directory.map { CallLogFile(directory: $0) }, withNumbers: configuration.recordsNumbers,
            writer: writer, problems: problems, logger: logger)
    }
}
