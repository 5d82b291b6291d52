import ArgumentParser
import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import JSONText

struct VolumeCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "volume",
        abstract: "List and set the volumes of connected headsets, and of the audio that programs add.",
        discussion: """
            ROLE is speaker or microphone, VALUE a number from 0 to 15. The value is kept for the headset, over \
            its connections and over restarts; a speaker's is limited by the key volumeCeiling of the \
            configuration. With media as ROLE, VALUE is a number from 0 to 127: the loudness of the headset's \
            A2DP playback.

            With application as ROLE, VALUE is a number from 0.0 (digital silence) to 1.0 (unchanged): the \
            loudness for the far end of the audio that `btcall play` and other programs add to the microphone. \
            It is kept over restarts, too. Without VALUE the present one is shown.

            `btcall mic volume` sets that of the microphone; the role mic of earlier versions still does.

            Examples:
              btcall volume
              btcall volume speaker 10
              btcall volume media 100
              btcall volume application 0.5
            """)

    @Argument(
        help: "speaker, microphone, media or application.",
        completion: .list(["speaker", "microphone", "media", "application"]), transform: VolumeCommand.role)
    var role: Role?

    @Argument(help: "0 to 15, where 15 is the loudest; 0 to 127 for media; 0.0 to 1.0 for application.")
    var value: String?

    @Option(
        help: ArgumentHelp(
            "\(HeadsetArgument.accepted) Needed when several are connected.",
            valueName: "headset"), completion: HeadsetArgument.completion)
    var headset: DeviceArgument?

    @OptionGroup var options: CommonOptions

    /// The kind of volume.
    enum Role: Sendable {
        case headset(AudioDeviceManager.VolumeRole)
        /// An earlier word for `btcall mic volume`.
        case mic
        case application
    }

    func validate() throws {
        switch role {
        case .headset(let role):
            if let value { _ = try Self.level(value, of: role) }
        case .mic, .application:
            guard headset == nil else {
                throw ValidationError("--headset applies to speaker, microphone and media only.")
            }
            guard let value else { return }
            guard let number = Double(value), (0...1).contains(number) else {
                throw ValidationError("VALUE is \(value); accepted: 0.0 to 1.0")
            }
        case nil: break
        }
    }

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        switch role {
        case .mic, .application: try await mix(bridge, output)
        case .headset(let role): try await Self.show(headset, role, value, on: bridge, options, output)
        case nil: try await Self.show(headset, nil, nil, on: bridge, options, output)
        }
    }

    /// - Throws: `ValidationError` naming the accepted values.
    static func level(_ value: String, of role: AudioDeviceManager.VolumeRole) throws -> Int {
        guard let number = Int(value), (0...role.highest).contains(number) else {
            throw ValidationError("VALUE is \(value); accepted: 0 to \(role.highest)")
        }
        return number
    }

    /// Sets a volume if a value is given, and prints the volumes of the headset, or of all headsets.
    @ControlPlane
    static func show(
        _ wanted: DeviceArgument?, _ role: AudioDeviceManager.VolumeRole?, _ value: String?, on bridge: CallBridge,
        _ options: CommonOptions, _ output: Output
    ) async throws {
        var headsets = try await connected(bridge)
        if let role, let value {
            let headset = try find(wanted, headsets)
            try await bridge.audioDeviceManager.setVolume(try level(value, of: role), of: role, on: headset.choice)
            headsets = try await connected(bridge).filter { $0.choice == headset.choice }
        } else if wanted != nil {
            headsets = [try find(wanted, headsets)]
        }
        if options.json {
            output.print(.array(headsets.map(\.volumes)))
        } else if headsets.isEmpty {
            output.print("no headset is connected")
        } else {
            output.print(table(headsets))
        }
    }

    /// The volumes of the audio to the far end.
    @ControlPlane
    private func mix(_ bridge: CallBridge, _ output: Output) async throws {
        if let value = value.flatMap({ Double($0) }) {
            if case .mic = role {
                try await bridge.audio.setMicrophoneVolume(value)
            } else {
                try await bridge.audio.setApplicationVolume(value)
            }
        }
        let microphone = try await bridge.audio.microphoneVolume()
        let application = try await bridge.audio.applicationVolume()
        if options.json {
            output.print(["microphoneGain": .number(microphone), "applicationGain": .number(application)])
        } else if case .mic = role {
            output.print("mic \(microphone)")
        } else {
            output.print("application \(application)")
        }
    }

    @ControlPlane
    private static func connected(_ bridge: CallBridge) async throws -> [AudioDevice] {
        try await bridge.audioDeviceManager.audioDevices().filter {
            $0.speakerVolume != nil || $0.mediaVolume != nil
        }
    }

    /// - Parameter wanted: nil for the only connected headset.
    private static func find(_ wanted: DeviceArgument?, _ headsets: [AudioDevice]) throws -> AudioDevice {
        guard !headsets.isEmpty else { throw CommandFailure("no headset is connected") }
        let list = headsets.map { "\($0.address ?? "") (\($0.name))" }.joined(separator: ", ")
        guard let wanted else {
            guard headsets.count == 1 else { throw CommandFailure("name one with --headset; connected are \(list)") }
            return headsets[0]
        }
        let address = try wanted.headset(among: headsets)
        guard let headset = headsets.first(where: { $0.address == address }) else {
            throw CommandFailure("\(address) is not connected; connected are \(list)")
        }
        return headset
    }

    private static func table(_ headsets: [AudioDevice]) -> Table {
        var table = Table("HEADSET", "NAME", "SPEAKER", "MICROPHONE", "MEDIA")
        for headset in headsets {
            table.add(
                headset.address ?? "", headset.name, part(headset.speakerVolume, headset.speakerVolumeMax),
                part(headset.microphoneVolume, headset.microphoneVolumeMax),
                part(headset.mediaVolume, AudioDeviceManager.VolumeRole.media.highest))
        }
        return table
    }

    static func part(_ volume: Int?, _ most: Int?) -> String {
        guard let volume else { return "-" }
        return most.map { "\(volume) of \($0)" } ?? "\(volume)"
    }

    private static func role(_ text: String) throws -> Role {
        if let role = AudioDeviceManager.VolumeRole(rawValue: text) { return .headset(role) }
        switch text {
        case "mic": return .mic
        case "application": return .application
        default: throw ValidationError("accepted: speaker, microphone, media, application")
        }
    }
}
