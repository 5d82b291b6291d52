import ArgumentParser
import CommandKit
import ControlLoop

/// The command line of the tools for a laptop.
@main
struct LabEntry: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "btcall-lab",
        abstract: "Try, rehearse and measure btcall on a laptop.",
        discussion: """
            Examples:
              btcall-lab demo --fast                  # a call moves between simulated headsets
              btcall-lab sandbox                      # a box to play with, without hardware
              btcall-lab replay --trace incident.json # why a board has decided as it did
              btcall-lab gateway --control /tmp/driver.sock
              btcall-lab decode --codec msbc --packet-bytes 60 -o heard.wav link.bin
              btcall-lab bench audio                  # what the audio path costs on this machine
              btcall-lab latency --route speakerphone # how long sound takes there and back

            All but latency work without btcalld and Bluetooth. `btcall-lab help VERB` and `man btcall-lab-VERB` \
            describe each verb.

            DEVICE is one of \(DeviceArgument.accepted).
            Exit codes: 0 done, 1 refused or failed, 2 a file or a message is invalid (replay, gateway, decode), \
            3 btcalld is not running (latency), 64 invalid command line.
            """,
        groupedSubcommands: [
            CommandGroup(name: "Try", subcommands: [DemoCommand.self, SandboxCommand.self]),
            CommandGroup(
                name: "Rehearse", subcommands: [ReplayCommand.self, GatewayCommand.self, DecodeCommand.self]),
            CommandGroup(name: "Measure", subcommands: [BenchCommand.self, LatencyCommand.self]),
            CommandGroup(
                name: "Scripting", subcommands: [LabCompletionsCommand.self, LabManualCommand.self]),
        ])

    static func main() { Program.run(Self.self) }
}
