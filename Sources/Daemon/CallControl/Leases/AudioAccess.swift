package import AudioPaths
package import BTCallAPI
package import Configuration
package import ControlLoop
package import DBus
import Routing

/// Decides whether calls have the audio, or something else has: an interrupting program, a sleeping board, a program that
/// renders, or one that uses the device that a call needs.
@ControlPlane
package final class AudioAccess {
    private let interruptions: Interruptions
    private let holds: InterruptionHolds
    private let calls: CallDirectory
    private let audio: AudioParts
    private let router: any RouteDeciding
    private let settings: Settings
    /// Programs that keep the devices closed without rendering the audio.
    private let manualHolders = LeaseList<Void>()
    private var wasManual = false

    /// A program has begun or stopped to keep the devices closed.
    package let manualHolds = Signal<Void>()
    /// `isManual` has changed.
    package let manualChanges = Signal<Void>()

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
        interruptions.events.subscribe(self) { $0.handle($1) }
        interruptions.changes.subscribe(self) { $0.update() }
        manualHolders.onReleased = { [weak self] _ in self?.manualHolds.send() }
        update()
    }

    private func handle(_ event: RoutingEvent) {
        router.handle(event)
        // The audio has gone or come back: now the far ends are notified by hold.
        switch event {
        case .interruptionBegan(let source):
            // A program that renders the audio continues to do so, unless the board sleeps.
            if !isManual || source == Interruptions.suspend { holds.began() }
        case .interruptionEnded(let resume): holds.ended(resume: resume)
        default: break
        }
    }

    /// Keeps all devices closed during an interruption and while a program renders the audio.
    package func update() {
        let sources = interruptions.sources
        audio.microphone.setGivenUp(isManual || !sources.isEmpty)
        // A busy device of the calls does not concern the ringer's device.
        audio.graph.setAllowsOutputs(!isManual && sources.allSatisfy { $0 == Interruptions.deviceBusy })
        guard isManual != wasManual else { return }
        wasManual = isManual
        manualChanges.send()
    }

    // MARK: Manual rendering

    /// Whether manual rendering keeps the devices closed: a program renders the audio or may do so, or the key says so.
    package var isManual: Bool {
        audio.manual.holder != nil || !manualHolders.holders.isEmpty || settings.configuration.routing.manualRendering
    }

    /// Keeps the devices closed until the program closes the descriptor.
    ///
    /// - Throws: the errors of `LeaseList`.
    package func acquireManual(of busName: String) throws(APIError) -> PassedDescriptor {
        let descriptor = try manualHolders.add((), of: busName)
        manualHolds.send()
        return descriptor
    }

    /// Ends the leases without notifying anyone, when the daemon stops.
    package func close() { manualHolders.removeAll() }

    // MARK: Devices in use by others

    /// The device that a call needs cannot be opened, and the policy knows it. If it is in use and no other device is
    /// available, the program that uses it has interrupted the call.
    package func deviceFailed(_ error: PathError) {
        guard error.cause == .busy, !calls.calls.isEmpty, !hasDevice else { return }
        interruptions.begin(Interruptions.deviceBusy)
    }

    /// The policy's devices have changed.
    package func devicesChanged() {
        if hasDevice { interruptions.end(Interruptions.deviceBusy) }
    }

    private var hasDevice: Bool { router.policy.devices(at: ControlLoop.now).contains(where: \.isAvailable) }
}
