package import AudioPaths
package import BluetoothTypes
package import CallControl
package import ControlLoop
import HeadsetPolicy
package import Logging

/// Makes room among other music before a headset's audio link is opened.
@ControlPlane
package protocol MakingRoom: AnyObject {
    /// - Parameter ready: called once, later, when the link may be opened; not called after `cancel`.
    /// - Returns: false if there is nothing to wait for; `ready` is not called then.
    func makeRoom(for address: BluetoothAddress, _ ready: @escaping @ControlPlane () -> Void) -> Bool
    /// The link is no longer wanted.
    func cancel(_ address: BluetoothAddress)
}

/// Coordinates calls with the music of other programs. Before a headset's audio link opens, it pauses players, runs the
/// configured program, and gives a foreign stream to the headset a moment to end. It restores all of it some time after the
/// last call.
@ControlPlane
package final class MediaPeace: MakingRoom {
    private static let interval = Duration.milliseconds(20)

    /// Whether music is streamed to the headset now (A2DP), by btcalld or another program. A test replaces it.
    package var isPlaying: @ControlPlane (BluetoothAddress) -> Bool
    /// btcalld's own streams to headsets.
    private let ownMusic: MediaLinks
    private let calls: CallDirectory

    private struct Wait {
        let ready: @ControlPlane () -> Void
        let end: Instant
        var timer: Timer?
    }

    private let players: MusicPlayers
    private let command: MediaCommand
    private let foreignStreamTimeout: Duration
    private let logger: Logger
    private var machine: MusicSuspension
    private var timer: Timer?
    private var waits: [BluetoothAddress: Wait] = [:]
    /// Headsets whose foreign stream did not end: not waited for again.
    private var coping: Set<BluetoothAddress> = []

    /// - Parameters:
    ///   - delay: from the end of the last call until the music is restored.
    ///   - foreignStreamTimeout: how long to wait for a foreign stream to end.
    package init(
        players: MusicPlayers, command: MediaCommand, music: MusicControl, calls: CallDirectory,
        admission: LinkAdmission, router: any RouteDeciding, delay: Duration, foreignStreamTimeout: Duration,
        logger: Logger
    ) {
        isPlaying = { [weak music] address in music?.isPlaying(address) ?? false }
        ownMusic = music.links
        self.calls = calls
        self.players = players
        self.command = command
        self.foreignStreamTimeout = foreignStreamTimeout
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

    /// `PlaybackStatus` of a player, by its bus name.
    package func status(ofPlayer name: String) -> String? { players.status(of: name) }

    // MARK: Events

    /// Sets the delay for music that is suspended from now on.
    package func setDelay(_ delay: Duration) { machine.delay = delay }

    private func callsChanged() { perform(machine.callsChanged(hasCalls, at: ControlLoop.now)) }

    /// The policy returns a headset to its music.
    private func restoreDue(_ address: BluetoothAddress) { perform(machine.restoreDue(address)) }

    /// A call's link is being set up and can no longer be delayed.
    private func linkOpening(_ address: BluetoothAddress) {
        guard hasCalls else { return }
        perform(machine.linkOpening(address, hasCalls: true, at: ControlLoop.now))
    }

    /// Foreign streams may have begun or ended.
    private func streamsChanged() {
        for address in waits.keys.sorted() { look(address) }
    }

    /// Restores everything; returns when that is done.
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
        waits[address] = Wait(ready: ready, end: ControlLoop.now.advanced(by: foreignStreamTimeout))
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
            logger.notice("\(address): another program's music goes on; the link is opened nevertheless")
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
