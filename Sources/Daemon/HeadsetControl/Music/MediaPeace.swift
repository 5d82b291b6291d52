package import AudioPaths
package import BluetoothTypes
package import CallControl
package import ControlLoop
import HeadsetPolicy
package import Logging

/// Has other music make room before a headset's audio link is opened.
@ControlPlane
package protocol MakingRoom: AnyObject {
    /// - Parameter ready: called later, once, when the link may be opened; not after `cancel`.
    /// - Returns: false when there is nothing to wait for; `ready` is not called then.
    func makeRoom(for address: BluetoothAddress, _ ready: @escaping @ControlPlane () -> Void) -> Bool
    /// The link is not to be opened any more.
    func cancel(_ address: BluetoothAddress)
}

/// Keeps the peace between calls and the music of other programs: players are paused and the configured program is run
/// before a headset's audio link opens, a foreign stream to the headset has a moment to end, and all of it comes back
/// some time after the last call.
@ControlPlane
package final class MediaPeace: MakingRoom {
    private static let interval = Duration.milliseconds(20)

    /// Whether music is streamed to the headset at this moment (A2DP), from here or by another program. A test replaces it.
    package var isPlaying: @ControlPlane (BluetoothAddress) -> Bool
    /// What is played to headsets from here.
    private let ownMusic: MediaLinks
    private let calls: CallDirectory

    private struct Wait {
        let ready: @ControlPlane () -> Void
        let end: Instant
        var timer: Timer?
    }

    private let players: MusicPlayers
    private let command: MediaCommand
    private let patience: Duration
    private let logger: Logger
    private var machine: MusicSuspension
    private var timer: Timer?
    private var waits: [BluetoothAddress: Wait] = [:]
    /// Headsets whose foreign stream did not end: waited for once.
    private var coping: Set<BluetoothAddress> = []

    /// - Parameters:
    ///   - delay: from the end of the last call until the music comes back.
    ///   - patience: for a foreign stream to end.
    package init(
        players: MusicPlayers, command: MediaCommand, music: MusicControl, calls: CallDirectory,
        admission: LinkAdmission, router: any RouteDeciding, delay: Duration, patience: Duration, logger: Logger
    ) {
        isPlaying = { [weak music] address in music?.isPlaying(address) ?? false }
        ownMusic = music.links
        self.calls = calls
        self.players = players
        self.command = command
        self.patience = patience
        self.logger = logger
        machine = MusicSuspension(delay: delay)
        calls.changes.subscribe(self) { peace, _ in peace.callsChanged() }
        music.changes.subscribe(self) { peace, change in
            switch change {
            case .stream, .foreignMusic: peace.streamsChanged()
            case .registered, .foreign, .shown: break
            }
        }
        admission.events.subscribe(self) { peace, event in
            if case .settingUp(let address) = event { peace.linkOpening(address) }
        }
        router.musicReturns.subscribe(self) { $0.restoreDue($1) }
    }

    private var hasCalls: Bool { !calls.calls.isEmpty }

    /// What a player on the bus says that it does, by its bus name.
    package func status(ofPlayer name: String) -> String? { players.status(of: name) }

    // MARK: What happens

    /// Of music that is suspended from now on.
    package func setDelay(_ delay: Duration) { machine.delay = delay }

    private func callsChanged() { perform(machine.callsChanged(hasCalls, at: ControlLoop.now)) }

    /// The policy gives a headset back to its music.
    private func restoreDue(_ address: BluetoothAddress) { perform(machine.restoreDue(address)) }

    /// A link of a call is being set up, which nothing can hold up any more.
    private func linkOpening(_ address: BluetoothAddress) {
        guard hasCalls else { return }
        perform(machine.linkOpening(address, hasCalls: true, at: ControlLoop.now))
    }

    /// Foreign streams may have begun or ended.
    private func streamsChanged() {
        for address in waits.keys.sorted() { look(address) }
    }

    /// Gives everything back; returns when that is done.
    package func stop() async {
        timer?.cancel()
        timer = nil
        for wait in waits.values { wait.timer?.cancel() }
        waits = [:]
        for action in machine.end() {
            switch action {
            case .restore(let address): command.set(address, isSuspended: false)
            case .resumePlayers: players.resumeAtOnce()
            case .pausePlayers, .suspend, .setDeadline: break
            }
        }
        await command.finish()
        players.stop()
    }

    // MARK: MakingRoom

    package func makeRoom(for address: BluetoothAddress, _ ready: @escaping @ControlPlane () -> Void) -> Bool {
        cancel(address)
        perform(machine.linkOpening(address, hasCalls: hasCalls, at: ControlLoop.now))
        guard isPlaying(address), !coping.contains(address) else { return false }
        waits[address] = Wait(ready: ready, end: ControlLoop.now.advanced(by: patience))
        lookLater(address)
        return true
    }

    package func cancel(_ address: BluetoothAddress) { waits.removeValue(forKey: address)?.timer?.cancel() }

    private func lookLater(_ address: BluetoothAddress) {
        guard let wait = waits[address] else { return }
        wait.timer?.cancel()
        let next = min(wait.end, ControlLoop.now.advanced(by: Self.interval))
        waits[address]?.timer = ControlLoop.shared.schedule(at: next) { [weak self] in self?.look(address) }
    }

    private func look(_ address: BluetoothAddress) {
        guard let wait = waits[address] else { return }
        let isPlaying = isPlaying(address)
        guard !isPlaying || ControlLoop.now >= wait.end else { return lookLater(address) }
        cancel(address)
        if isPlaying, ownMusic.isStreaming(address) {
            logger.notice("\(address): its A2DP has not ended yet; the link is opened beside it")
        } else if isPlaying {
            coping.insert(address)
            logger.notice(
                "\(address): another program's music goes on; the link is opened beside it, the headset has to cope")
        }
        wait.ready()
    }

    // MARK: Steps

    private func perform(_ actions: [MusicSuspension.Action]) {
        for action in actions {
            switch action {
            case .pausePlayers: players.pause()
            case .resumePlayers:
                coping = []
                players.resume()
            case .suspend(let address):
                ownMusic.keepBack(address)
                command.set(address, isSuspended: true)
            case .restore(let address):
                ownMusic.resume(address)
                command.set(address, isSuspended: false)
            case .setDeadline(let deadline): setDeadline(deadline)
            }
        }
    }

    private func setDeadline(_ deadline: Instant?) {
        timer?.cancel()
        timer = deadline.map { deadline in
            ControlLoop.shared.schedule(at: deadline) { [weak self] in
                guard let self else { return }
                timer = nil
                perform(machine.deadlineReached(at: ControlLoop.now))
            }
        }
    }
}
