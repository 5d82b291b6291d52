package import AudioPaths
import BTCallAPI
import BusObjects
import CallControl
package import Configuration
import ControlLoop
import Diagnostics
import Logging
import Routing
import Telephony

// What the board itself lets people hear, and who has the audio instead of it.
extension Daemon {
    package func joinSounds() {
        router.onRinging = { [weak self] ringing in self?.sounds.ringer.follow(ringing) }
        interruptions.onEvent = { [weak self] event in
            guard let self else { return }
            router.handle(event)
            // The audio is gone, or back: now the far ends are told.
            switch event {
            case .interruptionBegan(let source):
                // A program that renders the audio goes on doing so, but for a board that sleeps.
                if !isManual || source == Interruptions.suspend { interruptionHolds.began() }
            case .interruptionEnded(let resume): interruptionHolds.ended(resume: resume)
            default: break
            }
        }
        interruptions.onChange = { [weak self] in
            self?.updateOutputs()
            self?.routerObject?.refresh()
        }
        applySounds(configuration)
    }

    package func applySounds(_ new: Configuration) {
        sounds.follow(new.soundedRing)
        noteRingDevice()
        interruptionHolds.isOn = new.holdsInterrupted
        outside.paths.setMixing(new.mixesWithOthers)
        if new.mixesWithOthers, !isMixingSaid {
            logger.notice(
                "sound cards are shared with other programs (mixWithOthers): hw: devices open by dmix and dsnoop")
        }
        isMixingSaid = new.mixesWithOthers
        updateOutputs()
    }

    /// Nothing is opened while somebody else has the audio hardware, or the client has the audio.
    package func updateOutputs() {
        let sources = interruptions.sources
        microphone.setGivenUp(isManual || !sources.isEmpty)
        // That the devices of calls are busy says nothing of the one that rings.
        graph.setAllowsOutputs(!isManual && sources.allSatisfy { $0 == Interruptions.deviceBusy })
    }

    /// No device has the audio, whoever wants one: a program may have it.
    private var isManual: Bool { manual.holder != nil || settings.configuration.routing.manualRendering }

    package func noteOutput(_ failure: AudioGraph.OutputFailure?) {
        outputFailure = failure
        noteRingDevice()
    }

    private func noteRingDevice() {
        if let failure = outputFailure {
            problems.begin(
                "ring.device", what: "nothing is played on \(failure.device): \(failure.error.what)",
                remedy: failure.error.remedy)
        } else if let (key, device) = settings.configuration.silentRingDevice {
            problems.begin(
                "ring.device",
                what: "[ring] \(key) is \(device.rawValue), which has no section with playback: nothing is heard there",
                remedy: "name another device or none, or write [device \(device.rawValue)] with playback = hw:0,0")
        } else {
            problems.end("ring.device")
        }
    }

    // MARK: Devices that others have

    /// The device that a call wanted is in use: with no other one there the other program has interrupted the call.
    package func noteBusy(_ error: PathError) {
        guard error.cause == .busy, !calls.calls.isEmpty, !hasDevice else { return }
        interruptions.begin(Interruptions.deviceBusy)
    }

    /// Called when the devices are others than before.
    package func endBusy() {
        if hasDevice { interruptions.end(Interruptions.deviceBusy) }
    }

    private var hasDevice: Bool { router.policy.devices(at: ControlLoop.now).contains(where: \.isAvailable) }
}
