import ArgumentParser
import BTCall
import ControlLoop

struct MonitorCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "monitor", abstract: "Print what happens, line by line, until interrupted.",
        discussion: "With --json every line is an object with event and time.")

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let events = await bridge.events()
        if let error = await Self.absence(of: bridge) {
            guard error.code == .notRunning else { throw error }
            output.printError("\(error.message); waiting for it")
        }
        for await event in events {
            output.print(options.json ? event.json(at: .now).text() : event.line(at: .now))
        }
    }

    /// How the daemon does not answer; nil when it does.
    static func absence(of bridge: CallBridge) async -> BridgeError? {
        do {
            _ = try await bridge.audioDeviceManager.activeRoute()
            return nil
        } catch {
            return error
        }
    }
}
