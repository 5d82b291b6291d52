import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import DBus
import Spelling

/// `btcall doctor`: examines the machine without the daemon, or makes a test call with it.
struct DoctorCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Find out why headsets do not connect, ring or carry a call, and what to do.",
        discussion: """
            It checks the kernel, the adapter, bluetoothd, other programs that use headsets, the limits and \
            groups of btcalld, the sound cards and the paired headsets, and works without btcalld. It changes \
            nothing. Some checks need root.

            --report prints a report to paste into an issue: with versions and adapters, with addresses cut in \
            half, and without the names of headsets.

            --call makes a test call through btcalld instead. The call plays chirps for 5 s, listens for their \
            return, and reports whether sound goes both ways. With DEVICE it uses that device, otherwise the one \
            that a call would use now; the earlier selection is restored. It makes no call while another one is \
            up.

            Exit codes: 0 no fault (there may be warnings), 1 a fault.

            Examples:
              btcall doctor
              btcall doctor --all                       # also what is well
              btcall doctor profile-owner adapter-off   # these checks alone
              btcall doctor --report > report.txt
              btcall doctor --call bluetooth            # a call on the headset
            """)

    @Argument(
        help: "Checks to run; all by default.",
        completion: .list(DoctorCheck.all.map(\.id)), transform: DoctorCommand.check)
    var checks: [String] = []

    @Flag(help: "Also show checks that passed or were skipped.")
    var all = false

    @Flag(help: "Print a report to paste into an issue.")
    var report = false

    @Option(
        defaultAsFlag: DeviceArgument("none"),
        help: ArgumentHelp(
            "Make a test call, on DEVICE if given, and report whether sound goes both ways. \(DeviceArgument.accepted)",
            valueName: "device"),
        completion: DeviceArgument.completion, transform: { DeviceArgument($0) })
    var call: DeviceArgument?

    @OptionGroup var options: CommonOptions

    func validate() throws {
        if report, options.json { throw ValidationError("--report prints text: omit --json") }
        if call != nil, report || all || !checks.isEmpty {
            throw ValidationError("--call runs no checks: omit --report, --all and CHECKS")
        }
    }

    mutating func run() throws {
        let command = self
        let output = Output.terminal(options.color)
        let text = options.bus.description
        let bus = BusAddress(text) ?? .address(text)
        let code = runOnControlLoop {
            if let device = command.call { return await command.makeCall(on: device, bus, output) }
            return command.examine(await DoctorSystem.machine(bus: bus), output)
        }
        if code != 0 { throw ExitCode(code) }
    }

    /// - Returns: the exit code.
    func examine(_ system: DoctorSystem, _ output: Output) -> Int32 {
        let chosen = checks.isEmpty ? DoctorCheck.all : DoctorCheck.all.filter { checks.contains($0.id) }
        let result = DoctorReport(chosen, on: system)
        if options.json {
            output.print(result.json)
        } else if report {
            output.printDocument(result.issueText(on: system) + "\n")
        } else {
            result.lines(showsAll: all, in: output.style).forEach(output.print)
        }
        return result.exitCode
    }

    /// - Returns: the exit code.
    @ControlPlane
    func makeCall(on device: DeviceArgument, _ bus: BusAddress, _ output: Output) async -> Int32 {
        let outcome: CallOutcome
        do {
            let bridge = try await CallBridge(bus: options.bus)
            outcome = await LoopbackCall.make(on: try await device.device(on: bridge), over: bridge)
            await bridge.close()
        } catch let failure as CommandFailure {
            return await exitStatus(output) { throw failure }
        } catch {
            outcome = .noDaemon("\(error)")
        }
        var others: [DoctorFinding] = []
        if case .measured = outcome, let check = DoctorCheck.all.first(where: { $0.id == "realtime-limit" }) {
            others = check.findings(in: check.examine(await DoctorSystem.machine(bus: bus)))
        }
        let verdict = CallVerdict(outcome, others: others)
        if options.json {
            output.print(verdict.json)
        } else {
            verdict.lines(in: output.style).forEach(output.print)
        }
        return verdict.exitCode
    }

    private static func check(_ text: String) throws -> String {
        if let name = DoctorCheck.formerNames[text] { return name }
        guard DoctorCheck.all.contains(where: { $0.id == text }) else {
            let near = Suggestion.words(near: text, among: DoctorCheck.all.map { ($0.id, [$0.id]) })
            throw ValidationError(
                "there is no check \(text); "
                    + (near.isEmpty
                        ? "`btcall doctor --all` lists them" : "did you mean \(near.joined(separator: " or "))?"))
        }
        return text
    }
}
