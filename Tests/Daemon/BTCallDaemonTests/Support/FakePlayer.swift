import ControlLoop
import DBus

/// A music player on the bus (MPRIS 2).
@ControlPlane
final class FakePlayer {
    private static let path = "/org/mpris/MediaPlayer2"
    private static let interface = "org.mpris.MediaPlayer2.Player"

    /// The commands received, in order.
    private(set) var commands: [String] = []
    /// Whether it signals its changes.
    var isTalkative = true
    /// The error of `Pause`.
    var refusal: BusError?
    /// Called before it executes a command.
    var onCommand: ((String) -> Void)?
    private(set) var status: String
    private let bus: BusConnection
    private let name: String

    init(_ address: BusAddress, _ name: String, _ status: String) async throws {
        bus = try BusConnection(address)
        self.name = "org.mpris.MediaPlayer2.\(name)"
        self.status = status
        bus.export(
            [
                ExportedInterface(
                    Self.interface,
                    methods: [
                        .init("Pause") { [weak self] _ throws(BusError) in
                            try self?.obey("Pause", "Paused")
                            return []
                        },
                        .init("Play") { [weak self] _ throws(BusError) in
                            try self?.obey("Play", "Playing")
                            return []
                        },
                    ],
                    properties: [
                        .init("PlaybackStatus", "s", get: { [weak self] in .string(self?.status ?? "Stopped") })
                    ])
            ], at: Self.path)
        try await bus.requestName(self.name)
    }

    /// Changes its status as a person would.
    func set(_ status: String) {
        guard status != self.status else { return }
        self.status = status
        if isTalkative { bus.propertiesChanged(path: Self.path, interface: Self.interface, ["PlaybackStatus"]) }
    }

    func close() { bus.close() }

    private func obey(_ command: String, _ status: String) throws(BusError) {
        commands.append(command)
        onCommand?(command)
        if let refusal { throw refusal }
        set(status)
    }
}
