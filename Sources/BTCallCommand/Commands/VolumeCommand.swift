import ArgumentParser
import BTCall
import ControlLoop

struct VolumeCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "volume", abstract: "List and set the volumes of connected headsets.",
        discussion: """
            ROLE is speaker or microphone, VALUE a number from 0 to 15. What is set is kept for the headset, over its connections
            and over restarts; a speaker's is at most the key volumeCeiling of the configuration.
            """)

    @Argument(help: "speaker or microphone.", transform: VolumeCommand.role)
    var role: AudioDeviceManager.VolumeRole?

    @Argument(help: "0 to 15, where 15 is the loudest.", transform: VolumeCommand.volume)
    var value: Int?

    @Option(
        help: ArgumentHelp(
            "The headset, by its address or its name in `btcall devices`; needed when several are connected.",
            valueName: "headset"))
    var headset: String?

    @OptionGroup var options: CommonOptions

    func validate() throws {
        if role != nil, value == nil { throw ValidationError("ROLE needs a VALUE from 0 to 15.") }
    }

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        var headsets = try await Self.connected(bridge)
        if let role, let value {
            let headset = try Self.find(self.headset, headsets)
            try await bridge.audioDeviceManager.setVolume(value, of: role, on: headset.choice)
            headsets = try await Self.connected(bridge).filter { $0.choice == headset.choice }
        } else if headset != nil {
            headsets = [try Self.find(headset, headsets)]
        }
        if options.json {
            output.print(.array(headsets.map(Self.json)))
        } else if headsets.isEmpty {
            output.print("no headset is connected")
        } else {
            Self.table(headsets).lines.forEach(output.print)
        }
    }

    @ControlPlane
    private static func connected(_ bridge: CallBridge) async throws -> [AudioDevice] {
        try await bridge.audioDeviceManager.audioDevices().filter { $0.speakerVolume != nil }
    }

    /// - Parameter text: an address or a name; nil is the only one there is.
    private static func find(_ text: String?, _ headsets: [AudioDevice]) throws -> AudioDevice {
        guard !headsets.isEmpty else { throw CommandFailure("no headset is connected") }
        let list = headsets.map { "\($0.address ?? "") (\($0.name))" }.joined(separator: ", ")
        guard let text else {
            guard headsets.count == 1 else { throw CommandFailure("name one with --headset; connected are \(list)") }
            return headsets[0]
        }
        let address = try HeadsetArgument.address(text, headsets)
        guard let headset = headsets.first(where: { $0.address == address }) else {
            throw CommandFailure("\(address) is not connected; connected are \(list)")
        }
        return headset
    }

    private static func table(_ headsets: [AudioDevice]) -> Table {
        var table = Table("HEADSET", "NAME", "SPEAKER", "MICROPHONE")
        for headset in headsets {
            table.add(
                headset.address ?? "", headset.name, part(headset.speakerVolume, headset.speakerVolumeMax),
                part(headset.microphoneVolume, headset.microphoneVolumeMax))
        }
        return table
    }

    private static func part(_ volume: Int?, _ most: Int?) -> String {
        guard let volume else { return "-" }
        return most.map { "\(volume) of \($0)" } ?? "\(volume)"
    }

    private static func json(_ headset: AudioDevice) -> JSON {
        [
            "device": .string(headset.choice.description),
            "name": .string(headset.name),
            "speaker": JSON(headset.speakerVolume),
            "speakerMax": JSON(headset.speakerVolumeMax),
            "microphone": JSON(headset.microphoneVolume),
            "microphoneMax": JSON(headset.microphoneVolumeMax),
        ]
    }

    private static func role(_ text: String) throws -> AudioDeviceManager.VolumeRole {
        guard let role = AudioDeviceManager.VolumeRole(rawValue: text) else {
            throw ValidationError("accepted: speaker, microphone")
        }
        return role
    }

    private static func volume(_ text: String) throws -> Int {
        guard let volume = Int(text), (0...15).contains(volume) else {
            throw ValidationError("accepted: 0 to 15")
        }
        return volume
    }
}
