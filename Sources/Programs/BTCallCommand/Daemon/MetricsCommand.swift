import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct MetricsCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics", abstract: "Print btcalld's counters, for monitoring systems.",
        discussion: """
            Text in the OpenMetrics format 1.0.0: calls, routes, links, lost audio and the process, since the \
            start of btcalld; no addresses, numbers or names. Monitoring systems read it themselves from btcall-web, \
            at /metrics.

            With --json it is an object: contentType and text.

            Example: btcall daemon metrics > /var/lib/node_exporter/btcall.prom
            """)

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let text = try await bridge.metrics()
        if options.json {
            let type = "application/openmetrics-text; version=1.0.0; charset=utf-8"
            output.print(["contentType": .string(type), "text": .string(text)])
        } else {
            output.printDocument(text)
        }
    }
}
