import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import Glibc
import JSONText

struct PairCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "pair", abstract: "Open a window in which a headset can be paired.",
        discussion: """
            Put the headset into pairing mode. btcalld pairs, trusts and connects the first allowed headset that \
            it finds or that begins itself; then the window closes. Without --allow any audio device is allowed, \
            nearest first. Ctrl-C closes the window. Exit code 0: a headset is paired.

            During a call btcalld does not search, because that would cost the call audio. A headset that \
            begins itself is paired. --search searches during the call too.

            Examples:
              btcall headset pair
              btcall headset pair --window 60 --allow 00:00:5E:00:53:01
              btcall headset pair --allow 'Jabra*' --allow 'BT-?00' --pin 0000
            """)

    @Option(
        help: ArgumentHelp("Length of the window, 1 to 600.", valueName: "seconds"),
        transform: PairCommand.seconds)
    var window = Pairing.usualSeconds

    @Option(
        help: ArgumentHelp(
            "An allowed address, or name pattern with * for any characters and ? for one. May be repeated.",
            valueName: "address|pattern"))
    var allow: [String] = []

    @Option(help: "For old headsets that need a PIN: 1 to 16 characters, usually 0000.")
    var pin: String?

    @Flag(help: "Search during a call too: it may lose audio, up to 5 s at a time.")
    var search = false

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let pairing = bridge.pairing
        let events = await pairing.events()
        let signals = try [SIGINT, SIGTERM, SIGHUP].map { number in
            try ControlLoop.shared.onSignal(number) {
                // The output already shows that it is closed.
                Task { @ControlPlane in try? await pairing.close() }
            }
        }
        defer { for signal in signals { signal.cancel() } }
        try await pairing.open(seconds: window, allowing: allow, pin: pin, search: search)
        say("the pairing window is open for \(window) s: put the headset into pairing mode", output)
        if try await !bridge.calls.list().isEmpty { say(Self.cost(search), output) }
        for await event in events {
            switch event {
            case .found(let device): say("found \(Self.title(device)), \(device.rssi) dBm", output)
            case .stateChanged(let state): if state == .pairing { say("pairing", output) }
            case .finished(let result): return try end(result, output)
            case .daemonVanished: throw CommandFailure("btcalld has left the bus: the window is closed")
            }
        }
        throw CommandFailure("the connection to the bus was closed")
    }

    /// What the window means for a call that is up.
    private static func cost(_ searches: Bool) -> String {
        searches
            ? "searching during the call: it may lose audio, up to 5 s at a time when a device does not answer"
            : "a call is up: btcalld does not search, which would cost it audio; a headset that starts pairing itself is "
                + "accepted (--search searches anyway)"
    }

    private func end(_ result: Pairing.Result, _ output: Output) throws {
        if options.json {
            output.print(
                [
                    "outcome": .string(result.outcome.rawValue), "address": JSON(result.address),
                    "reason": JSON(result.reason.isEmpty ? nil : result.reason),
                ])
        } else {
            let who = result.address.map { " \($0)" } ?? ""
            let why = result.reason.isEmpty ? "" : ": \(result.reason)"
            let line = "\(Self.words(result.outcome))\(who)\(why)"
            if result.outcome == .paired { output.print(line) } else { output.printError(line) }
        }
        guard result.outcome == .paired else { throw ExitCode(1) }
    }

    private func say(_ line: String, _ output: Output) {
        if !options.json { output.print(line) }
    }

    private static func words(_ outcome: Pairing.Result.Outcome) -> String {
        switch outcome {
        case .paired: "paired"
        case .timedOut: "nothing was paired in time"
        case .cancelled: "nothing was paired"
        case .failed: "not paired"
        }
    }

    static func title(_ device: Pairing.Device) -> String {
        device.name.map { "\($0) (\(device.address))" } ?? device.address
    }

    static func seconds(_ text: String) throws -> Int {
        guard let seconds = Int(text), (1...600).contains(seconds) else {
            throw ValidationError("accepted: a whole number of seconds, 1 to 600")
        }
        return seconds
    }
}
