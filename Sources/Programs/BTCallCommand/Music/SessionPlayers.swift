import ControlLoop
import DBus

/// The players on the session bus (MPRIS 2).
@ControlPlane
final class SessionPlayers {
    private static let namespace = "org.mpris.MediaPlayer2."
    private static let path = "/org/mpris/MediaPlayer2"
    private static let interface = "org.mpris.MediaPlayer2.Player"
    private static let busName = "org.freedesktop.DBus"
    private static let timeout = Duration.seconds(1)
    /// More players than a session has.
    private static let limit = 32

    private let bus: BusConnection
    /// Bus names of the players that were paused here.
    private var paused: [String] = []

    init(bus: BusConnection) {
        self.bus = bus
    }

    /// Pauses the players that play now.
    ///
    /// - Returns: their number.
    func pause() async -> Int {
        for name in await names() where await status(of: name) == "Playing" {
            if await tell(name, "Pause") { paused.append(name) }
        }
        return paused.count
    }

    /// Resumes the players that were paused here and still are.
    func resume() async {
        let names = paused
        paused = []
        for name in names where await status(of: name) == "Paused" { _ = await tell(name, "Play") }
    }

    private func names() async -> [String] {
        // Without an answer no player is paused; PipeWire's streams still are.
        let answer = try? await bus.call(
            Self.busName, "/org/freedesktop/DBus", Self.busName, "ListNames", timeout: Self.timeout)
        let names = answer?.first?.stringsValue ?? []
        return Array(names.filter { $0.hasPrefix(Self.namespace) }.sorted().prefix(Self.limit))
    }

    private func status(of name: String) async -> String? {
        // A player that has left or does not answer is left alone.
        let answer = try? await bus.call(
            name, Self.path, "org.freedesktop.DBus.Properties", "Get",
            [.string(Self.interface), .string("PlaybackStatus")], timeout: Self.timeout)
        return answer?.first?.unwrapped.stringValue
    }

    private func tell(_ name: String, _ member: String) async -> Bool {
        do throws(BusError) {
            _ = try await bus.call(name, Self.path, Self.interface, member, timeout: Self.timeout)
            return true
        } catch {
            return false
        }
    }
}
