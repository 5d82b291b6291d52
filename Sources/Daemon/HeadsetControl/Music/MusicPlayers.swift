package import ControlLoop
package import DBus
package import Logging

/// Pauses the players on the bus (MPRIS 2, `org.mpris.MediaPlayer2.Player`) for calls, and resumes those that nobody else
/// has touched meanwhile.
///
/// The match rules accept signals of known players only, so other senders at the players' path cause no work. Without a
/// player on the bus the only cost is two match rules.
@ControlPlane
package final class MusicPlayers {
    private static let namespace = "org.mpris.MediaPlayer2"
    private static let path = "/org/mpris/MediaPlayer2"
    private static let interface = "org.mpris.MediaPlayer2.Player"
    private static let properties = "org.freedesktop.DBus.Properties"
    private static let busName = "org.freedesktop.DBus"
    private static let busPath = "/org/freedesktop/DBus"
    /// More players than a box has.
    private static let limit = 64
    private static let timeout = Duration.seconds(5)

    /// What btcalld has done to a player.
    private enum Part {
        case untouched
        /// btcalld has called Pause; the player has not confirmed it.
        case asked
        case paused
    }

    private struct Player {
        let owner: String
        let changes: Subscription
        var status: String?
        var part = Part.untouched
    }

    /// Whether players are paused for calls.
    package var isOn: Bool {
        didSet {
            guard isOn != oldValue else { return }
            if !isOn { resumeAtOnce() }
            follow()
        }
    }
    private let bus: BusConnection
    private let logger: Logger
    private var subscriptions: [Subscription] = []
    /// By bus name.
    private var players: [String: Player] = [:]
    private var isQuiet = false

    package init(bus: BusConnection, isOn: Bool, logger: Logger) {
        self.bus = bus
        self.isOn = isOn
        self.logger = logger
        follow()
    }

    isolated deinit { stop() }

    /// `PlaybackStatus` of a player; nil while it is unknown.
    package func status(of name: String) -> String? { players[name]?.status }

    /// Pauses the players that play now; a player that starts later is left alone.
    package func pause() {
        isQuiet = true
        for (name, player) in players.sorted(by: { $0.key < $1.key }) where player.status == "Playing" {
            logger.notice("\(name) plays and is paused for the call")
            players[name]?.part = .asked
            let owner = player.owner
            bus.send(owner, Self.path, Self.interface, "Pause", timeout: Self.timeout) { [weak self] result in
                guard case .failure(let error) = result, let self, players[name]?.owner == owner else { return }
                players[name]?.part = .untouched
                refused("be paused", name, error)
            }
        }
    }

    /// Resumes the players that were paused here and still are.
    package func resume() {
        isQuiet = false
        for (name, player) in players.sorted(by: { $0.key < $1.key }) where player.part != .untouched {
            // Not every player signals its changes.
            readStatus(of: name, player.owner) { [weak self] in self?.resume(name) }
        }
    }

    /// Like `resume`, from the known states only, before the connection is closed.
    package func resumeAtOnce() {
        isQuiet = false
        for (name, player) in players.sorted(by: { $0.key < $1.key }) where player.part != .untouched {
            players[name]?.part = .untouched
            bus.post(player.owner, Self.path, Self.interface, "Play")
        }
    }

    package func stop() {
        for subscription in subscriptions { subscription.cancel() }
        subscriptions = []
        forgetAll()
    }

    private func resume(_ name: String) {
        // Another call has begun meanwhile, or another program has started or stopped the player.
        guard !isQuiet, let player = players[name], player.part != .untouched else { return }
        players[name]?.part = .untouched
        guard player.status == "Paused" else { return }
        logger.notice("\(name) is resumed")
        // Until the player confirms it: a call that comes now finds it playing.
        players[name]?.status = "Playing"
        bus.send(player.owner, Self.path, Self.interface, "Play", timeout: Self.timeout) { [weak self] result in
            guard case .failure(let error) = result, let self else { return }
            refused("be resumed", name, error)
            readStatus(of: name, player.owner) {}
        }
    }

    private func refused(_ what: String, _ name: String, _ error: BusError) {
        let remedy =
            error.hasName(BusError.Name.accessDenied)
            ? "let the user of btcalld call it in a D-Bus policy, as /usr/share/dbus-1/system.d/org.btcall.conf of btcall's package does"
            : "pause it by hand, or set [bluetooth] mediaCommand"
        logger.warning("\(name) cannot \(what): \(error); \(remedy)")
    }

    // MARK: Presence

    private func follow() {
        stop()
        guard isOn else { return }
        subscriptions = [
            bus.subscribe(
                sender: Self.busName, interface: Self.busName, member: "NameOwnerChanged",
                argument0Namespace: Self.namespace
            ) { [weak self] signal in
                guard signal.arguments.count == 3, let name = signal.arguments[0].stringValue,
                    let owner = signal.arguments[2].stringValue
                else { return }
                self?.owned(name, owner.isEmpty ? nil : owner)
            },
            // After a restart of the bus the unique names differ.
            bus.watchName(Self.busName) { [weak self] owner in
                self?.forgetAll()
                if owner != nil { self?.list() }
            },
        ]
    }

    private func list() {
        bus.send(Self.busName, Self.busPath, Self.busName, "ListNames") { [weak self] result in
            guard let self, case .success(let values) = result else { return }
            for name in values.first?.stringsValue ?? [] where name.hasPrefix(Self.namespace + ".") {
                bus.send(Self.busName, Self.busPath, Self.busName, "GetNameOwner", [.string(name)]) {
                    [weak self] result in
                    guard case .success(let values) = result, let owner = values.first?.stringValue else { return }
                    self?.owned(name, owner)
                }
            }
        }
    }

    private func owned(_ name: String, _ owner: String?) {
        guard isOn, players[name]?.owner != owner else { return }
        players.removeValue(forKey: name)?.changes.cancel()
        guard let owner, players.count < Self.limit else { return }
        let changes = bus.subscribe(
            sender: owner, path: Self.path, interface: Self.properties, member: "PropertiesChanged",
            argument0: Self.interface
        ) { [weak self] in self?.changed(name, $0) }
        players[name] = Player(owner: owner, changes: changes)
        readStatus(of: name, owner) {}
    }

    private func forgetAll() {
        for player in players.values { player.changes.cancel() }
        players = [:]
    }

    // MARK: Playback state

    private func changed(_ name: String, _ signal: BusSignal) {
        guard signal.arguments.count == 3, players[name]?.owner == signal.sender else { return }
        if let status = signal.arguments[1]["PlaybackStatus"]?.stringValue {
            statusChanged(status, of: name)
        } else if signal.arguments[2].stringsValue?.contains("PlaybackStatus") == true {
            readStatus(of: name, signal.sender) {}
        }
    }

    private func statusChanged(_ status: String, of name: String) {
        players[name]?.status = status
        switch players[name]?.part {
        case .asked:
            if status == "Paused" { players[name]?.part = .paused }
            if status == "Stopped" { players[name]?.part = .untouched }
        case .paused:
            guard status != "Paused" else { return }
            logger.info("\(name) was touched meanwhile (\(status)): left alone")
            players[name]?.part = .untouched
        case .untouched, nil: return
        }
    }

    /// - Parameter then: called when the player has answered or failed to; not called when the player was replaced or access
    ///   is denied.
    private func readStatus(of name: String, _ owner: String, then: @escaping @ControlPlane () -> Void) {
        let arguments: [Value] = [.string(Self.interface), "PlaybackStatus"]
        bus.send(owner, Self.path, Self.properties, "Get", arguments, timeout: Self.timeout) { [weak self] result in
            guard let self, players[name]?.owner == owner else { return }
            switch result {
            case .success(let values):
                guard let status = values.first?.unwrapped.stringValue else { return }
                statusChanged(status, of: name)
                then()
            case .failure(let error) where error.hasName(BusError.Name.accessDenied):
                refused("be queried", name, error)
            case .failure(let error):
                logger.info("\(name) does not say whether it plays: \(error)")
                then()
            }
        }
    }
}
