import ArgumentParser
import BTCallAPI
import CommandKit
import ControlLoop

/// The command line of btcall.
@main
struct Entry: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "btcall",
        abstract: "Bluetooth headset call bridge: which device carries the call.",
        discussion: """
            Examples:
              btcall status                   # where the audio is, and what is wrong
              btcall headset pair             # put the headset into pairing mode first
              btcall prefer bluetooth         # calls go to a headset when there is one
              btcall test-call --seconds 20   # a headset rings: answer with its button
              btcall move speakerphone        # this call to the loudspeaker
              btcall why                      # why the audio is where it is
              btcall doctor                   # why a headset does not connect or is silent
              btcall config volumeCeiling 12  # no headset louder than 12 of 15
              btcall watch --event incomingCall --exec 'logger "$BTCALL_NAME calls"'

            `btcall help VERB` and `man btcall-VERB` describe each verb. `--bus`, `--json` and `--color` may \
            precede or follow the verb.

            DEVICE is \(DeviceArgument.accepted). HEADSET is a DEVICE that is a headset. Case does not matter.

            The tools for a laptop are in btcall-lab: demo, sandbox, replay, gateway, decode, bench, latency.
            """,
        version: "btcall \(ProductVersion.current)",
        // The help output adds the word "subcommands" to the names.
        groupedSubcommands: VerbGroup.all.map { CommandGroup(name: $0.title, subcommands: $0.verbs) })

    static func main() {
        StandardDescriptors.open()
        LaptopVerbs.handOver(Array(CommandLine.arguments.dropFirst()))
        Program.run(Self.self, OldVerbs.names, firstScreen: firstScreen.lines)
    }

    /// The output without a verb.
    static let firstScreen = FirstScreen(
        of: Self.self,
        groups: VerbGroup.all.map { FirstScreen.Group($0.title, $0.summary) },
        examples: [
            "btcall status            # where the audio is, and what is wrong",
            "btcall headset pair      # put the headset into pairing mode first",
            "btcall prefer bluetooth  # calls go to a headset when there is one",
            "btcall move earpiece     # this call goes there; a headset's name does as well",
            "btcall why               # why the audio is where it is",
            "btcall doctor            # why a headset does not connect or is silent",
        ],
        notes: [
            "btcall VERB --help has examples of a verb, btcall help --all lists all verbs.",
            "Options of every verb: --bus BUS, --json, --color WHEN. btcall --version.",
        ])
}

/// Verbs grouped by task.
struct VerbGroup {
    let title: String
    let verbs: [any ParsableCommand.Type]
    /// The group on the first screen: the verbs that most people need.
    let summary: String

    /// - Parameter rare: verbs listed by `help --all` only.
    private init(_ title: String, _ verbs: [any ParsableCommand.Type], rare: Set<String> = []) {
        self.title = title
        self.verbs = verbs
        summary = verbs.map(Self.name).filter { !rare.contains($0) }.joined(separator: " ")
    }

    /// The group of one verb's subverbs.
    private init(_ title: String, below verb: any ParsableCommand.Type, rare: Set<String>) {
        self.title = title
        verbs = [verb]
        let names = verb.configuration.subcommands.map(Self.name).filter { !rare.contains($0) }
        summary = "\(Self.name(verb)) \(names.joined(separator: " | "))"
    }

    private static func name(_ verb: any ParsableCommand.Type) -> String { verb.configuration.commandName ?? "" }

    static let all = [
        VerbGroup(
            "Calls",
            [
                DialCommand.self, AnswerCommand.self, HangupCommand.self, HoldCommand.self, ResumeCommand.self,
                SwapCommand.self, MergeCommand.self, DTMFCommand.self, CallsCommand.self, HistoryCommand.self,
                DNDCommand.self,
            ]),
        VerbGroup(
            "Where",
            [
                StatusCommand.self, WhyCommand.self, MoveCommand.self, PreferCommand.self, FallbackCommand.self,
                DevicesCommand.self,
            ]),
        VerbGroup("Headsets", below: HeadsetCommand.self, rare: ["forget-codec", "quirks"]),
        VerbGroup(
            "Sound",
            [
                MuteCommand.self, TalkCommand.self, VolumeCommand.self, PlayCommand.self, RecordCommand.self,
                MicCommand.self,
                ProcessingCommand.self,
            ]),
        VerbGroup(
            "Scripts",
            [
                MonitorCommand.self, ProviderCommand.self, CallCommand.self, NotifyIncomingCommand.self,
                WatchCommand.self, InterruptCommand.self, SessionCommand.self, PauseMusicCommand.self,
                CompletionsCommand.self, ManualCommand.self,
            ], rare: ["notify-incoming", "watch", "interrupt", "session", "pause-music", "completions", "manual"]),
        VerbGroup(
            "System",
            [
                ConfigCommand.self, SetupCommand.self, DoctorCommand.self, TestCallCommand.self, DaemonCommand.self,
                VideoCommand.self, WebCommand.self,
            ]),
    ]
}
