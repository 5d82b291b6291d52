import ArgumentParser
import BTCall
import CommandKit
import JSONText

struct ExcludeCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "exclude", abstract: "List and change the devices that never carry calls.",
        discussion: """
            It takes effect at once and is kept over restarts (the key routing.exclude).

            Examples:
              btcall headset exclude wiredHeadset
              btcall headset exclude wiredHeadset --remove
            """)

    @Argument(help: DeviceArgument.help, completion: DeviceArgument.completion)
    var devices: [DeviceArgument] = []

    @Flag(help: "Let these devices carry calls again.")
    var remove = false

    @Flag(help: "Let all devices carry calls again.")
    var clear = false

    @OptionGroup var options: CommonOptions

    func validate() throws {
        if clear, remove || !devices.isEmpty { throw ValidationError("--clear takes no DEVICE and no --remove.") }
        if remove, devices.isEmpty { throw ValidationError("--remove takes at least one DEVICE.") }
        if devices.contains(where: { $0.fixed == DeviceChoice.none }) {
            throw ValidationError("none is not a device; --clear excludes nothing.")
        }
    }

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let manager = bridge.audioDeviceManager
        var named: [DeviceChoice] = []
        for device in devices { named.append(try await device.device(on: bridge)) }
        var excluded = try await manager.excludedAudioDevices()
        if clear {
            excluded = []
        } else if remove {
            excluded.removeAll(where: named.contains)
        } else {
            for device in named where !excluded.contains(device) { excluded.append(device) }
        }
        if clear || !devices.isEmpty {
            try await manager.setExcludedAudioDevices(excluded)
            excluded = try await manager.excludedAudioDevices()
        }
        if options.json {
            output.print(["exclude": JSON(excluded.map(\.description))])
        } else if excluded.isEmpty {
            output.print("nothing is excluded")
        } else {
            output.print("excluded: \(excluded.map(\.description).joined(separator: ", "))")
        }
    }
}
