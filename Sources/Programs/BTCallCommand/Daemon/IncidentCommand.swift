import ArgumentParser
import BTCall
import CommandKit
import ControlLoop

struct IncidentCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "incident",
        abstract: "Print what btcalld remembers of its routing, as a file for `btcall-lab replay`.",
        discussion: """
            To be sent with a report: `btcall daemon incident >incident.json`, and look at it with `btcall-lab replay --trace \
            incident.json`. Bluetooth addresses in it are replaced by others. It is JSON with or without --json.

            Example: btcall daemon incident >incident.json
            """)

    @Flag(help: "With the real Bluetooth addresses.")
    var addresses = false

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        output.printJSONDocument(try await bridge.audioDeviceManager.incident(includingAddresses: addresses))
    }
}
