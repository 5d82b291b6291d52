import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct OrderCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "order", abstract: "List and set the order in which headsets are chosen.",
        discussion: """
            The first is the best; headsets that are not listed follow, last connected first. It takes effect at \
            once and is kept over restarts (the key routing.headsetOrder).

            Example: btcall headset order 00:00:5E:00:53:01 Jabra
            """)

    @Argument(
        help: ArgumentHelp("Headsets, the best first. \(HeadsetArgument.accepted)", valueName: "headset"),
        completion: HeadsetArgument.completion)
    var headsets: [DeviceArgument] = []

    @Flag(help: "Remove the order: the last connected headset is the best.")
    var clear = false

    @OptionGroup var options: CommonOptions

    private static let key = "routing.headsetOrder"

    func validate() throws {
        if clear, !headsets.isEmpty { throw ValidationError("--clear takes no HEADSET.") }
    }

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let known = try await bridge.audioDeviceManager.audioDevices().filter { $0.address != nil }
        if clear || !headsets.isEmpty {
            var addresses: [String] = []
            for headset in headsets {
                let address = try headset.headset(among: known)
                guard !addresses.contains(address) else { throw CommandFailure("\(headset.text) is named twice") }
                addresses.append(address)
            }
            try await bridge.setSetting(Self.key, to: addresses.joined(separator: ", "))
        }
        let value = try SettingName.find(Self.key, in: try await bridge.settings()).value
        let order = value.split(separator: ", ").map(String.init)
        if options.json {
            output.print(["order": JSON(order)])
        } else if order.isEmpty {
            output.print("no order: the headset that connected last comes first")
        } else {
            for (index, address) in order.enumerated() {
                let name = known.first { $0.address == address }?.name
                output.print("\(index + 1)  \(address)\(name.map { "  \($0)" } ?? "")")
            }
        }
    }
}
