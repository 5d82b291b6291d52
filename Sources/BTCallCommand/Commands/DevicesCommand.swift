import ArgumentParser
import BTCall
import ControlLoop

struct DevicesCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices", abstract: "List the devices that calls can use.")

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let devices = try await bridge.audioDeviceManager.audioDevices()
        if options.json {
            output.print(.array(devices.map(\.json)))
        } else if devices.isEmpty {
            output.print("no devices: btcalld's configuration names the local ones, and no headset is paired")
        } else {
            Self.table(devices).lines.forEach(output.print)
        }
    }

    static func table(_ devices: [AudioDevice]) -> Table {
        var table = Table("DEVICE", "NAME", "AVAILABLE", "OUTPUT", "INPUT", "BATTERY", "CODECS")
        for device in devices {
            table.add(
                device.choice.description, device.name,
                device.isAvailable ? "yes" : "no: \(device.unavailableBecause ?? "unknown reason")",
                Self.end(device.output), Self.end(device.input), device.battery.map { "\($0) %" } ?? "-",
                device.codecs.isEmpty ? "-" : device.codecs.joined(separator: ", "))
        }
        return table
    }

    /// `sco:ADDRESS` without the address, which the row has already.
    private static func end(_ word: String?) -> String {
        guard let word else { return "-" }
        return word.hasPrefix("sco:") ? "sco" : word.hasPrefix("a2dp:") ? "a2dp" : word
    }
}
