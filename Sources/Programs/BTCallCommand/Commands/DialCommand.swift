import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct DialCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "dial", abstract: "Call a number through a telephony application.",
        discussion: """
            The application gets the same request as when somebody dials at a headset. `btcall monitor` shows \
            the progress of the call; `btcall test-call --dialled` is an application to try it with.

            Example: btcall dial +4930123456
            """)

    @Argument(help: "The number as dialled.")
    var number: String

    @Option(help: ArgumentHelp("The application to ask, by its name in `btcall calls`.", valueName: "name"))
    var provider: String?

    @OptionGroup var options: CommonOptions

    func validate() throws {
        if number.isEmpty { throw ValidationError("NUMBER is empty: give the number to dial") }
    }

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let call = try await place(on: bridge)
        if options.json {
            output.print(["call": .string(call.description), "number": .string(number)])
        } else {
            output.print("dialled: \(number)")
        }
    }

    @ControlPlane
    private func place(on bridge: CallBridge) async throws -> Call.ID {
        do throws(BridgeError) {
            return try await bridge.calls.place(number, provider: provider)
        } catch {
            guard error.code == .noSuchProvider else { throw error }
            throw CommandFailure("\(error.message); try `btcall test-call --dialled`")
        }
    }
}
