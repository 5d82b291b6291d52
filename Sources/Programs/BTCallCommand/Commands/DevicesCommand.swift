import ArgumentParser
import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import JSONText

struct DevicesCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices", abstract: "List the devices that calls can use.",
        discussion: "Example: btcall devices")

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let devices = try await bridge.audioDeviceManager.audioDevices()
        if options.json {
            output.print(.array(devices.map(\.json)))
        } else if devices.isEmpty {
            output.print("no devices: btcalld's configuration names the local ones, and no headset is paired")
        } else {
            output.print(Self.table(devices))
            Self.codecReasons(devices).forEach(output.print)
        }
    }

    /// Reasons for lower codecs, one line for each headset that has one.
    static func codecReasons(_ devices: [AudioDevice]) -> [String] {
        devices.compactMap { device in
            device.codecReason.map { "\(device.name): a lower codec, because \($0)" }
        }
    }

    static func table(_ devices: [AudioDevice]) -> Table {
        var table = Table("DEVICE", "NAME", "AVAILABLE", "OUTPUT", "INPUT", "BATTERY", "CODECS")
        for device in devices {
            table.add(
                device.choice.description, device.name,
                availability(device),
                Self.end(device.output), Self.end(device.input), device.battery.map { "\($0) %" } ?? "-",
                device.codecs.isEmpty ? "-" : device.codecs.joined(separator: ", "))
            table.emphasize(device.isAvailable ? .good : .bad, inColumn: "AVAILABLE")
            if let battery = device.battery, battery <= 20 { table.emphasize(.warning, inColumn: "BATTERY") }
        }
        return table
    }

    static func availability(_ device: AudioDevice) -> String {
        guard device.isAvailable else { return "no: \(device.unavailableBecause ?? "unknown reason")" }
        return device.state == "available" ? "yes" : "yes, \(device.state)"
    }

    /// Removes the address from `sco:ADDRESS`: the row already has it.
    private static func end(_ word: String?) -> String {
        guard let word else { return "-" }
        return word.hasPrefix("sco:") ? "sco" : word.hasPrefix("a2dp:") ? "a2dp" : word
    }
}
