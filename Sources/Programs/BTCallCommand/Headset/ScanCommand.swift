import ArgumentParser
import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import JSONText

struct ScanCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "scan", abstract: "Search for Bluetooth devices, and list those found, strongest first.",
        discussion: """
            A headset is visible in pairing mode only. Pairs nothing. Not possible during a call: \
            `btcall headset pair --search` is.

            Example: btcall headset scan --seconds 20
            """)

    @Option(help: "Length of the search, 1 to 600.", transform: PairCommand.seconds)
    var seconds = 10

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let events = await bridge.pairing.events()
        try await bridge.pairing.scan(seconds: seconds)
        let devices = await Self.devices(events, for: .seconds(seconds))
            .sorted { ($1.rssi, $0.address) < ($0.rssi, $1.address) }
        if options.json {
            output.print(.array(devices.map(\.json)))
        } else if devices.isEmpty {
            output.print("nothing was found: is the headset in pairing mode?")
        } else {
            var table = Table("ADDRESS", "NAME", "RSSI", "PROFILES")
            for device in devices {
                table.add(
                    device.address, device.name ?? "-", "\(device.rssi) dBm",
                    device.profiles.isEmpty ? "-" : device.profiles.joined(separator: ", "))
            }
            output.print(table)
        }
    }

    /// The devices found in this time; fewer when the daemon leaves.
    @ControlPlane
    private static func devices(
        _ events: AsyncStream<Pairing.Event>, for duration: Duration
    ) async -> some Collection<Pairing.Device> {
        var found: [String: Pairing.Device] = [:]
        let reading = Task { @ControlPlane in
            for await event in events {
                switch event {
                case .found(let device): found[device.address] = device
                case .daemonVanished: return found
                case .stateChanged, .finished: break
                }
            }
            return found
        }
        let timer = ControlLoop.shared.schedule(after: duration) { reading.cancel() }
        defer { timer.cancel() }
        return await reading.value.values
    }
}
