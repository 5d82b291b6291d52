import ArgumentParser
import CommandKit
import ControlLoop

/// The command line of btcalld.
@main
struct Entry: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "btcall",
        abstract: "Bluetooth headset call bridge: which device carries the call, and why.",
        discussion: """
            Examples:
              btcall status                   # where the audio is, and what is wrong
              btcall devices                  # headsets and the board's own devices
              btcall prefer bluetooth         # calls go to a headset when there is one
              btcall test-call --seconds 20   # a headset rings: answer with its button
              btcall select speakerphone      # this call to the loudspeaker
              btcall why                      # why the audio is where it is
              btcall doctor                   # why a headset does not connect or is silent
              btcall config volumeCeiling 12  # no headset louder than 12 of 15
              btcall watch --event incomingCall --exec 'logger "$BTCALL_NAME calls"'

            `btcall help VERB` has more of each, and so has `man btcall-VERB`.

            DEVICE is one of \(DeviceArgument.accepted).
            Exit codes: 0 done, 1 refused or failed, 3 btcalld is not running, 64 wrong command line.

            What is for a laptop is in btcall-lab: demo, replay, gateway, decode, bench, latency.
            """,
        // help puts the word "subcommands" behind the names.
        groupedSubcommands: [
            CommandGroup(
                name: "Route",
                subcommands: [
                    StatusCommand.self,
                    DevicesCommand.self,
                    WhyCommand.self,
                    PreferCommand.self,
                    DefaultCommand.self,
                    SelectCommand.self,
                    ExcludeCommand.self,
                    OrderCommand.self,
                    StartCommand.self,
                    StopCommand.self,
                    ActivateCommand.self,
                    DeactivateCommand.self,
                    LogoutCommand.self,
                    SessionCommand.self,
                    InterruptCommand.self,
                ]),
            CommandGroup(
                name: "Call",
                subcommands: [
                    CallsCommand.self,
                    CallCommand.self,
                    AnswerCommand.self,
                    DialCommand.self,
                    HoldCommand.self,
                    ResumeCommand.self,
                    SwapCommand.self,
                    ConferenceCommand.self,
                    DTMFCommand.self,
                    HangupCommand.self,
                    DNDCommand.self,
                    LogCommand.self,
                ]),
            CommandGroup(
                name: "Sound",
                subcommands: [
                    VolumeCommand.self,
                    MuteCommand.self,
                    MicCommand.self,
                    VoiceCommand.self,
                    PlayCommand.self,
                    RecordCommand.self,
                ]),
            CommandGroup(
                name: "Pairing",
                subcommands: [
                    PairCommand.self,
                    ScanCommand.self,
                    TrustCommand.self,
                    ForgetCommand.self,
                ]),
            CommandGroup(
                name: "Settings",
                subcommands: [
                    ConfigCommand.self,
                    HeadsetCommand.self,
                    QuirksCommand.self,
                    SetupCommand.self,
                ]),
            CommandGroup(
                name: "Scripting",
                subcommands: [
                    MonitorCommand.self,
                    WatchCommand.self,
                    ProviderCommand.self,
                    CompletionsCommand.self,
                    ManualCommand.self,
                ]),
            CommandGroup(
                name: "Diagnostic",
                subcommands: [
                    DoctorCommand.self,
                    MetricsCommand.self,
                    TestCallCommand.self,
                    IncidentCommand.self,
                ]),
        ])

    static func main() {
        StandardDescriptors.open()
        LaptopVerbs.handOver(Array(CommandLine.arguments.dropFirst()))
        Program.run(Self.self)
    }
}
