import AudioPaths
import BoardControl
import CallControl
import Configuration
import ControlLoop
import Routing

/// Feeds the policy with events of the board and of local devices, and with the routing configuration; a program that
/// renders the audio or excludes devices changes that configuration.
@ControlPlane
final class RoutingInputs {
    private let router: RouteController
    private let board: Board
    private let audio: AudioParts
    private let calls: CallParts
    private let settings: Settings

    init(router: RouteController, board: Board, audio: AudioParts, calls: CallParts, settings: Settings) {
        self.router = router
        self.board = board
        self.audio = audio
        self.calls = calls
        self.settings = settings
        board.events.subscribe(self) { $0.handle($1) }
        board.cardChanges.subscribe(self) { inputs in
            inputs.audio.locals.cardsChanged(except: inputs.router.policy.current?.local)
        }
        audio.locals.found.subscribe(self) { $0.found($1) }
        audio.locals.losses.subscribe(self) { inputs, device in inputs.router.handle(.localLost(device)) }
        audio.graph.events.subscribe(self) { inputs, event in
            if case .pathFailed(let error) = event { inputs.failed(error) }
        }
        router.notices.subscribe(self) { inputs, notice in
            if case .devicesChanged = notice { inputs.devicesChanged() }
        }
        audio.manual.changes.subscribe(self) { $0.configure() }
        calls.access.manualHolds.subscribe(self) { $0.configure() }
        audio.devices.exclusionChanges.subscribe(self) { $0.configure() }
    }

    private func handle(_ event: RoutingEvent) {
        // The policy routes to the handset before the call is answered on it.
        router.handle(event)
        if event == .handsetOffHook { calls.directory.handsetLifted() }
    }

    private func found(_ device: LocalDevice) {
        // With an empty jack the wired headset is absent, whatever its sound card reports.
        let isJacksToSay = device == .wiredHeadset && board.managesWired && router.policy.jack == .empty
        if !isJacksToSay { router.handle(.localFound(device)) }
    }

    /// A local device cannot be opened, or has failed. The policy looks for another device first; only without one does
    /// the program that holds the device interrupt the call.
    private func failed(_ error: PathError) {
        audio.locals.lost(error)
        router.handle(.localLost(error.device))
        calls.access.deviceFailed(error)
    }

    /// Reports the loss of the wired headset before anything asks whether a device is left.
    private func devicesChanged() {
        // The jack reports a headset, but its sound card cannot be opened.
        if router.policy.jack != .empty, !audio.locals.present.contains(.wiredHeadset) {
            router.handle(.localLost(.wiredHeadset))
        }
        calls.access.devicesChanged()
    }

    /// Applies a changed configuration.
    func follow(_ new: Configuration, replacing old: Configuration) {
        guard new.routing != old.routing else { return }
        audio.graph.setSilentLimit(new.routing.silentLimit > .zero ? new.routing.silentLimit : nil)
        configure()
    }

    /// Hands the routing configuration to the policy, and leaves sound cards alone while a program renders the audio.
    private func configure() {
        var routing = audio.devices.excluding(settings.configuration.routing)
        if calls.access.isManual { routing.manualRendering = true }
        if routing.manualRendering {
            calls.access.update()
            router.handle(.configure(routing))
            board.isPaused = true
            audio.locals.isPaused = true
        } else {
            // The available devices first, then the configuration that selects among them.
            board.isPaused = false
            audio.locals.isPaused = false
            router.handle(.configure(routing))
            // An open ring output would get in the way of device detection, so access is updated last.
            calls.access.update()
        }
    }
}
