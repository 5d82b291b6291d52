import ArgumentParser

/// The command line of btcalld.
@main
struct Entry: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "btcall",
        abstract: "Bluetooth headset call bridge: which device carries the call, and why.",
        discussion: """
            DEVICE is one of \(DeviceArgument.accepted).
            Exit codes: 0 done, 1 refused or failed, 2 a file or a message is not understood (replay, gateway, decode), 3 \
            btcalld is not running, 64 wrong command line.
            """,
        subcommands: [
            StatusCommand.self,
            DevicesCommand.self,
            PreferCommand.self,
            DefaultCommand.self,
            SelectCommand.self,
            StartCommand.self,
            StopCommand.self,
            ExcludeCommand.self,
            OrderCommand.self,
            HeadsetCommand.self,
            VolumeCommand.self,
            ConfigCommand.self,
            QuirksCommand.self,
            SessionCommand.self,
            InterruptCommand.self,
            CallsCommand.self,
            CallCommand.self,
            AnswerCommand.self,
            DialCommand.self,
            HoldCommand.self,
            ResumeCommand.self,
            DTMFCommand.self,
            HangupCommand.self,
            SwapCommand.self,
            ConferenceCommand.self,
            MuteCommand.self,
            DNDCommand.self,
            LogCommand.self,
            VoiceCommand.self,
            MicCommand.self,
            PlayCommand.self,
            RecordCommand.self,
            WhyCommand.self,
            IncidentCommand.self,
            MonitorCommand.self,
            WatchCommand.self,
            ProviderCommand.self,
            TestCallCommand.self,
            DemoCommand.self,
            ReplayCommand.self,
            GatewayCommand.self,
            DecodeCommand.self,
            LatencyCommand.self,
            BenchCommand.self,
        ])
}
