import ArgumentParser
import BTCall
import CommandKit
import ControlLoop

struct IncidentCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "incident",
        abstract: "Print btcalld's routing record, as a file for `btcall-lab replay`.",
        discussion: """
            Send it with a report: `btcall daemon incident >incident.json`. `btcall-lab replay --trace \
            incident.json` shows it. It contains replacements for Bluetooth addresses. It is JSON with or \
            without --json.

            Example: btcall daemon incident >incident.json
            """)

    @Flag(help: "Keep the real Bluetooth addresses.")
    var addresses = false

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        output.printJSONDocument(try await bridge.audioDeviceManager.incident(includingAddresses: addresses))
    }
}
