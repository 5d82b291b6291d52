package import AudioPaths
package import Configuration
package import ControlLoop
import Routing

/// Who has the audio in place of the calls: programs that interrupt, a board that sleeps, a program that renders, or one that
/// has the device that a call wants.
@ControlPlane
package final class AudioAccess {
    private let interruptions: Interruptions
    private let holds: InterruptionHolds
    private let calls: CallDirectory
    private let audio: AudioParts
    private let router: any RouteDeciding
    private let settings: Settings

    package init(
        interruptions: Interruptions, holds: InterruptionHolds, calls: CallDirectory, audio: AudioParts,
        router: any RouteDeciding, settings: Settings
    ) {
        self.interruptions = interruptions
        self.holds = holds
        self.calls = calls
        self.audio = audio
        self.router = router
        self.settings = settings
        interruptions.events.subscribe(self) { $0.take($1) }
        interruptions.changes.subscribe(self) { $0.update() }
        update()
    }

    private func take(_ event: RoutingEvent) {
        router.handle(event)
        // The audio is gone, or back: now the far ends are told.
        switch event {
        case .interruptionBegan(let source):
            // A program that renders the audio goes on doing so, but for a board that sleeps.
            if !isManual || source == Interruptions.suspend { holds.began() }
        case .interruptionEnded(let resume): holds.ended(resume: resume)
        default: break
        }
    }

    /// Nothing is opened while somebody else has the audio hardware, or a program has the audio.
    package func update() {
        let sources = interruptions.sources
        audio.microphone.setGivenUp(isManual || !sources.isEmpty)
        // That the devices of calls are busy says nothing of the one that rings.
        audio.graph.setAllowsOutputs(!isManual && sources.allSatisfy { $0 == Interruptions.deviceBusy })
    }

    /// No device has the audio, whoever wants one: a program may have it.
    private var isManual: Bool {
        audio.manual.holder != nil || settings.configuration.routing.manualRendering
    }

    // MARK: Devices that others have

    /// The device that a call wanted cannot be opened, which the policy knows: when it is in use and there is no other one, the
    /// other program has interrupted the call.
    package func deviceFailed(_ error: PathError) {
        guard error.cause == .busy, !calls.calls.isEmpty, !hasDevice else { return }
        interruptions.begin(Interruptions.deviceBusy)
    }

    /// The policy knows other devices than before.
    package func devicesChanged() {
        if hasDevice { interruptions.end(Interruptions.deviceBusy) }
    }

    private var hasDevice: Bool { router.policy.devices(at: ControlLoop.now).contains(where: \.isAvailable) }
}
