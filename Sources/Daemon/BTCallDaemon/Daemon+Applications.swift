import AudioPaths
import BTCallAPI
import BoardControl
import BusObjects
import CallControl
import Configuration
import ControlLoop
import Routing

// Programs in place of the devices, and programs that record.
extension Daemon {
    package func joinApplications() {
        manual.onChange = { [weak self] in self?.followManualRendering() }
        taps.onEvent = { [weak self] event in self?.take(event) }
    }

    /// Hands the routing configuration to the policy, and leaves sound cards alone while a program renders the audio.
    package func followManualRendering() {
        var routing = withExcluded(settings.configuration.routing)
        if manual.holder != nil { routing.manualRendering = true }
        if routing.manualRendering {
            updateOutputs()
            router.handle(.configure(routing))
            board.isPaused = true
            locals.isPaused = true
        } else {
            // First what there is, then what to use of it.
            board.isPaused = false
            locals.isPaused = false
            router.handle(.configure(routing))
            // What rings would be in the way of those who look what there is.
            updateOutputs()
        }
    }

    private func take(_ event: CallTaps.Event) {
        switch event {
        case .denied(let call, let busName):
            audioObject?.emitRecording(BTCallName.Audio.recordingDenied, call, busName)
        case .requested(let call, let busName):
            audioObject?.emitRecording(BTCallName.Audio.recordingRequested, call, busName)
        case .changed(let call):
            // Of one that has ended nobody asks any more.
            guard calls.record(at: call.path) != nil else { return }
            callsObject?.changed(call, [BTCallName.Call.recording])
        }
    }
}
