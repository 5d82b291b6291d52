import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

/// `btcall mic`: the microphone as the far end of all calls hears it.
struct MicCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "mic", abstract: "Show the microphone, and set its use, its volume and what muting does.",
        discussion: """
            Without ACTION it shows the state. ACTION is one of:
              on, off          whether calls use a microphone at all (MicrophoneEnabled, kept over restarts)
              volume VALUE     how loud the far end hears it, on any device: 0.0 (digital silence) to 1.0 \
            (unchanged); kept over restarts
              mode MODE        effect of muting: voiceProcessing (silence), restart (the sound card's microphone is \
            closed) or inputMixer (added audio is still heard); kept over restarts
              prepared on|off  keep the board's microphone running between calls; until btcalld ends
              allow, deny      answer for the person, where privacy.microphone is ask-client

            `btcall mute` mutes the calls; the actions mute and unmute of earlier versions still do.

            Examples:
              btcall mic
              btcall mic volume 0.5
              btcall mic mode inputMixer
            """)

    @Argument(help: "on, off, volume, mode, prepared, allow or deny.")
    var action: Action?

    @Argument(help: "The new value of volume, mode or prepared.")
    var value: String?

    @OptionGroup var options: CommonOptions

    enum Action: String, ExpressibleByArgument, CaseIterable, Sendable {
        case on, off, volume, mode, prepared, allow, deny
        // Earlier words for `btcall mute`.
        case mute, unmute

        static var allValueStrings: [String] {
            allCases.filter { $0 != .mute && $0 != .unmute }.map(\.rawValue)
        }
    }

    func validate() throws {
        switch action {
        case .volume:
            guard let value else { return }
            guard let volume = Double(value), (0...1).contains(volume) else {
                throw ValidationError("volume accepts 0.0 to 1.0")
            }
        case .mode:
            guard let value, BridgeAudio.MuteMode(rawValue: value) == nil else { return }
            let modes = BridgeAudio.MuteMode.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("mode accepts one of \(modes)")
        case .prepared:
            guard let value, Switch(rawValue: value) == nil else { return }
            throw ValidationError("prepared accepts on or off")
        case .on, .off, .mute, .unmute, .allow, .deny, nil:
            if let action, let value { throw ValidationError("\(action.rawValue) accepts no value: omit \(value)") }
        }
    }

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        try await act(bridge)
        let microphone = try await Microphone(bridge)
        if options.json {
            output.print(microphone.json)
        } else {
            microphone.lines.forEach(output.print)
        }
    }

    @ControlPlane
    private func act(_ bridge: CallBridge) async throws {
        switch action {
        case .on, .off: try await bridge.audio.setMicrophone(enabled: action == .on)
        case .volume:
            if let volume = value.flatMap({ Double($0) }) { try await bridge.audio.setMicrophoneVolume(volume) }
        case .mute, .unmute: try await bridge.calls.setMuted(action == .mute)
        case .mode:
            if let mode = value.flatMap(BridgeAudio.MuteMode.init(rawValue:)) {
                try await bridge.audio.setMuteMode(mode)
            }
        case .prepared:
            if let value { try await bridge.audio.setRecordingAlwaysPreparedMode(value == "on") }
        case .allow, .deny: try await bridge.audio.allowMicrophone(action == .allow)
        case nil: break
        }
    }

    private struct Microphone {
        let isEnabled: Bool
        let isMuted: Bool
        let mode: BridgeAudio.MuteMode
        let access: BridgeAudio.MicrophoneAccess
        let isAlwaysPrepared: Bool
        let isPrepared: Bool
        let isInUse: Bool
        let isCameraInUse: Bool
        let output: BridgeAudio.PrivacyOutput
        let volume: Double

        @ControlPlane
        init(_ bridge: CallBridge) async throws {
            isEnabled = try await bridge.audio.isMicrophoneEnabled()
            isMuted = try await bridge.calls.isMuted()
            mode = try await bridge.audio.muteMode()
            access = try await bridge.audio.microphoneAccess()
            isAlwaysPrepared = try await bridge.audio.isRecordingAlwaysPrepared()
            isPrepared = try await bridge.audio.isPrepared()
            isInUse = try await bridge.audio.isMicrophoneInUse()
            isCameraInUse = try await bridge.isCameraInUse()
            output = try await bridge.audio.privacyOutput()
            volume = try await bridge.audio.microphoneVolume()
        }

        var lines: [String] {
            var table = Table("MICROPHONE", "")
            table.add("enabled", isEnabled ? "yes" : "no")
            table.add("muted", isMuted ? "yes" : "no")
            table.add("mute mode", mode.rawValue)
            table.add("access", access.rawValue)
            table.add("prepared", isAlwaysPrepared ? (isPrepared ? "yes" : "not yet") : "no")
            table.add("heard now", isInUse ? "yes" : "no")
            table.add("camera in use", isCameraInUse ? "yes" : "no")
            table.add("privacy output", output.rawValue)
            table.add("volume", "\(volume)")
            return table.lines
        }

        var json: JSON {
            [
                "microphoneEnabled": JSON(isEnabled), "muted": JSON(isMuted), "muteMode": .string(mode.rawValue),
                "microphoneAccess": .string(access.rawValue), "alwaysPrepared": JSON(isAlwaysPrepared),
                "prepared": JSON(isPrepared), "microphoneInUse": JSON(isInUse),
                "cameraInUse": JSON(isCameraInUse),
                "privacyOutput": JSON(output == .none ? nil : output.rawValue),
                "microphoneGain": .number(volume),
            ]
        }
    }
}
