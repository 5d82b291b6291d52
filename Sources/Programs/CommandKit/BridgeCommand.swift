package import ArgumentParser
package import BTCall
import ControlLoop
import Glibc
import Synchronization

/// A verb that talks to btcalld.
package protocol BridgeCommand: ParsableCommand, Sendable {
    var options: CommonOptions { get }
    /// - Throws: `BridgeError`, or ``CommandFailure`` with its own text.
    @ControlPlane func perform(on bridge: CallBridge, _ output: Output) async throws
}

extension BridgeCommand {
    package mutating func run() throws {
        let command = self
        let bus = options.bus
        var terminal = Output.terminal(options.color)
        terminal.reportsJSON = options.json
        let output = terminal
        let code = runOnControlLoop {
            await exitStatus(output) {
                try await command.perform(on: try await CallBridge(bus: bus), output)
            }
        }
        if code != 0 { throw ExitCode(code) }
    }
}

/// Options of every verb.
package struct CommonOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "The bus of btcalld: system, session or a server address. Default: BTCALL_BUS, else system.",
            valueName: "bus"),
        transform: CommonOptions.bus)
    package var bus: BridgeBus = CommonOptions.usualBus()

    @Flag(help: "Print JSON for programs.")
    package var json = false

    @Option(help: "Colours: auto (on a terminal, unless NO_COLOR is set), always or never.")
    package var color = TerminalStyle.ColorChoice.auto

    package init() {}

    private static func bus(_ text: String) throws -> BridgeBus {
        guard let bus = BridgeBus(text) else {
            throw ValidationError("accepted: system, session, or an address like unix:path=/run/dbus/bus")
        }
        return bus
    }

    /// The bus when `--bus` is absent.
    package static func usualBus() -> BridgeBus {
        guard let text = getenv("BTCALL_BUS").map({ String(cString: $0) }), !text.isEmpty else { return .system }
        // An invalid name counts as an address: connecting to it reports the error.
        return BridgeBus(text) ?? .address(text)
    }
}

extension TerminalStyle.ColorChoice: ExpressibleByArgument {}

/// A failure with its text for the person.
package struct CommandFailure: Error, Hashable, CustomStringConvertible {
    /// A cause that a program can distinguish.
    package enum Code: String, Hashable, Sendable {
        case failed
        /// The person did not confirm.
        case cancelled
        /// The typed text matches several devices or calls.
        case ambiguous
        case noSuchDevice
        case noSuchCall
    }

    package let code: Code
    /// The error's name on the bus; nil for an error from elsewhere.
    package let name: String?
    package let description: String

    package init(_ description: String) { self.init(.failed, description) }

    package init(_ code: Code, name: String? = nil, _ description: String) {
        self.code = code
        self.name = name
        self.description = description
    }
}

/// Runs `body` on the control loop, on the calling thread, until it has ended.
package func runOnControlLoop(_ body: @escaping @Sendable @ControlPlane () async -> Int32) -> Int32 {
    let result = ExitStatus()
    ControlLoop.shared.runUntilStopped {
        Task { @ControlPlane in
            result.code.store(await body(), ordering: .relaxed)
            ControlLoop.shared.stop()
        }
    }
    return result.code.load(ordering: .relaxed)
}

private final class ExitStatus: Sendable {
    let code = Atomic<Int32>(0)
}

/// Runs `body`, prints its failure, and returns the exit code: 0 success, 3 without the daemon, otherwise 1.
@ControlPlane
package func exitStatus(_ output: Output, _ body: @ControlPlane () async throws -> Void) async -> Int32 {
    do {
        try await body()
        return 0
    } catch let exit as ExitCode {
        return exit.rawValue
    } catch {
        let failure = FailureReport(error)
        output.report(failure, asJSON: output.reportsJSON)
        return failure.exitCode
    }
}
