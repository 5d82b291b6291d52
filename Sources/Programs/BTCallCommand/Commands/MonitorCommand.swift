import ArgumentParser
import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import JSONText

struct MonitorCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "monitor", abstract: "Print events, line by line, until interrupted.",
        discussion: """
            With --json every line is an object with event and time.

            Examples:
              btcall monitor
              btcall monitor --json >events.json
            """)

    @Flag(help: "Also print the daemon's log, which it stops writing to its standard error meanwhile.")
    var log = false

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        if log { followLog(output) }
        let events = await bridge.events()
        if let error = await Self.absence(of: bridge) {
            guard error.code == .notRunning else { throw error }
            output.printError("\(error.message); waiting for it")
        }
        for await event in events {
            if options.json { output.printLine(event.json(at: .now)) } else { output.print(event.line(at: .now)) }
        }
    }

    private func followLog(_ output: Output) {
        let isJSON = options.json
        CallBridge.logMessageCallback = { module, message, level, context in
            let time = WallClock.now
            guard isJSON else {
                let values = context.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
                return output.print("\(time.timeOfDay)  \(level.rawValue) \(module): \(message)\(values)")
            }
            let line: JSON = [
                "event": "log", "time": .string(time.iso8601), "level": .string(level.rawValue),
                "module": .string(module), "message": .string(message),
                "context": JSON(context.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) }),
            ]
            output.printLine(line)
        }
    }

    /// The error of a daemon that does not answer; nil when it answers.
    static func absence(of bridge: CallBridge) async -> BridgeError? {
        do {
            _ = try await bridge.audioDeviceManager.activeRoute()
            return nil
        } catch {
            return error
        }
    }
}
