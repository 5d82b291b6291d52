import ArgumentParser
import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import JSONText

/// `btcall headset`: verbs about headsets.
struct HeadsetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "headset", abstract: "Pair, connect, order, show and forget headsets.",
        discussion: """
            HEADSET is its address, its name or the beginning of its name, in any case; `bluetooth` stands for \
            the only one.

            Examples:
              btcall headset
              btcall headset pair
              btcall headset connect Jabra
            """,
        subcommands: [
            List.self, Show.self, Connect.self, Disconnect.self, PairCommand.self, ScanCommand.self, TrustCommand.self,
            ForgetCommand.self, OrderCommand.self, ExcludeCommand.self, Volume.self, ForgetCodec.self,
            QuirksCommand.self,
        ], defaultSubcommand: List.self)

    struct List: BridgeCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the paired headsets.",
            discussion: "Example: btcall headset list")

        @OptionGroup var options: CommonOptions

        func perform(on bridge: CallBridge, _ output: Output) async throws {
            let headsets = try await bridge.audioDeviceManager.audioDevices().filter { $0.address != nil }
            if options.json {
                output.print(.array(headsets.map(\.json)))
            } else if headsets.isEmpty {
                output.print("no headset is paired: `btcall headset pair` pairs one")
            } else {
                output.print(Self.table(headsets))
                DevicesCommand.codecReasons(headsets).forEach(output.print)
            }
        }

        static func table(_ headsets: [AudioDevice]) -> Table {
            var table = Table("HEADSET", "NAME", "USABLE", "BATTERY", "CODECS")
            for headset in headsets {
                table.add(
                    headset.address ?? "", headset.name, DevicesCommand.availability(headset),
                    headset.battery.map { "\($0) %" } ?? "-",
                    headset.codecs.isEmpty ? "-" : headset.codecs.joined(separator: ", "))
                table.emphasize(headset.isAvailable ? .good : .bad, inColumn: "USABLE")
                if let battery = headset.battery, battery <= 20 { table.emphasize(.warning, inColumn: "BATTERY") }
            }
            return table
        }
    }

    struct Show: BridgeCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show everything known about a headset.",
            discussion: "Example: btcall headset show Jabra")

        @Argument(help: HeadsetArgument.help, completion: HeadsetArgument.completion)
        var headset: DeviceArgument

        @OptionGroup var options: CommonOptions

        func perform(on bridge: CallBridge, _ output: Output) async throws {
            let (address, device) = try await headset.headset(on: bridge)
            guard let device else {
                throw CommandFailure(
                    .noSuchDevice, "\(address) is not known to btcalld: see `btcall headset list`")
            }
            if options.json { output.print(device.json) } else { output.print(Self.facts(device)) }
        }

        /// Facts with a value only.
        static func facts(_ device: AudioDevice) -> Facts {
            var facts = Facts()
            facts.add("Headset", device.address ?? "")
            facts.add("Name", device.name)
            facts.add("Usable", DevicesCommand.availability(device), device.isAvailable ? .good : .bad)
            if let reconnect = device.reconnect { facts.add("Reconnection", reconnect) }
            if let battery = device.battery { facts.add("Battery", "\(battery) %", battery <= 20 ? .warning : nil) }
            if let mode = device.mode { facts.add("Profile", mode == "hfp" ? "HFP" : mode.uppercased()) }
            if !device.codecs.isEmpty { facts.add("Codecs", device.codecs.joined(separator: ", ")) }
            if let reason = device.codecReason { facts.add("Lower codec", "because \(reason)") }
            if let volume = device.speakerVolume {
                facts.add("Speaker", VolumeCommand.part(volume, device.speakerVolumeMax))
            }
            if let volume = device.microphoneVolume {
                facts.add("Microphone", VolumeCommand.part(volume, device.microphoneVolumeMax))
            }
            if device.isMicrophoneMuted == true { facts.add("Muted", "at the headset", .warning) }
            if let source = device.powerSource { facts.add("Power", source == "external" ? "external" : "battery") }
            if let isOn = device.isSafetyEnhanced { facts.add("Safety", isOn ? "on" : "off") }
            if let media = device.mediaState {
                facts.add("A2DP", [media.rawValue, device.mediaCodec].compactMap { $0 }.joined(separator: ", "))
            }
            return facts
        }
    }

    struct Connect: BridgeCommand {
        static let configuration = CommandConfiguration(
            commandName: "connect", abstract: "Connect a paired headset that is switched on.",
            discussion: """
                bluetoothd pages the headset, which takes some seconds.

                Example: btcall headset connect Jabra
                """)

        @Argument(help: HeadsetArgument.help, completion: HeadsetArgument.completion)
        var headset: DeviceArgument

        @OptionGroup var options: CommonOptions

        func perform(on bridge: CallBridge, _ output: Output) async throws {
            try await HeadsetCommand.set(headset, connected: true, bridge, options, output)
        }
    }

    struct Disconnect: BridgeCommand {
        static let configuration = CommandConfiguration(
            commandName: "disconnect", abstract: "Disconnect a headset; btcalld does not page it afterwards.",
            discussion: """
                A call on it continues on the next device. btcalld does not page it again until it connects on \
                its own or somebody connects it.

                Example: btcall headset disconnect Jabra
                """)

        @Argument(help: HeadsetArgument.help, completion: HeadsetArgument.completion)
        var headset: DeviceArgument

        @OptionGroup var options: CommonOptions

        func perform(on bridge: CallBridge, _ output: Output) async throws {
            try await HeadsetCommand.set(headset, connected: false, bridge, options, output)
        }
    }

    @ControlPlane
    private static func set(
        _ headset: DeviceArgument, connected: Bool, _ bridge: CallBridge, _ options: CommonOptions, _ output: Output
    ) async throws {
        let (address, device) = try await headset.headset(on: bridge)
        let (manager, choice) = (bridge.audioDeviceManager, DeviceChoice.bluetooth(address: address) ?? .bluetooth)
        if connected { try await manager.connect(choice) } else { try await manager.disconnect(choice) }
        if options.json {
            output.print(["address": .string(address), "connected": JSON(connected)])
        } else {
            let name = device.map { " (\($0.name))" } ?? ""
            output.print("\(connected ? "connected" : "disconnected"): \(address)\(name)")
        }
    }

    struct Volume: BridgeCommand {
        static let configuration = CommandConfiguration(
            commandName: "volume", abstract: "Show and set the volumes of a headset.",
            discussion: """
                Without HEADSET it shows the volumes of all connected headsets. VALUE is 0 to 15, for media 0 to \
                127. `btcall volume` describes the volumes.

                Examples:
                  btcall headset volume
                  btcall headset volume Jabra
                  btcall headset volume Jabra speaker 10
                """)

        @Argument(help: HeadsetArgument.help, completion: HeadsetArgument.completion)
        var headset: DeviceArgument?

        @Argument(
            help: "speaker, microphone or media.",
            completion: .list(AudioDeviceManager.VolumeRole.allCases.map(\.rawValue)), transform: Volume.role)
        var role: AudioDeviceManager.VolumeRole?

        @Argument(help: "0 to 15, where 15 is the loudest; 0 to 127 for media.")
        var value: String?

        @OptionGroup var options: CommonOptions

        func validate() throws {
            guard let role, let value else { return }
            _ = try VolumeCommand.level(value, of: role)
        }

        func perform(on bridge: CallBridge, _ output: Output) async throws {
            try await VolumeCommand.show(headset, role, value, on: bridge, options, output)
        }

        private static func role(_ text: String) throws -> AudioDeviceManager.VolumeRole {
            guard let role = AudioDeviceManager.VolumeRole(rawValue: text) else {
                let words = AudioDeviceManager.VolumeRole.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("accepted: \(words)")
            }
            return role
        }
    }

    struct ForgetCodec: BridgeCommand {
        static let configuration = CommandConfiguration(
            commandName: "forget-codec", abstract: "Make btcalld try all codecs of a headset again.",
            discussion: """
                `btcall headset show` says why a better codec is not used. It takes effect when the headset's \
                audio link is next opened.

                Example: btcall headset forget-codec 00:00:5E:00:53:01
                """)

        @Argument(help: HeadsetArgument.help, completion: HeadsetArgument.completion)
        var headset: DeviceArgument

        @OptionGroup var options: CommonOptions

        func perform(on bridge: CallBridge, _ output: Output) async throws {
            let address = try await headset.headset(on: bridge).address
            try await bridge.forgetCodecs(of: address)
            if options.json {
                output.print(["address": .string(address)])
            } else {
                output.print("\(address): btcalld tries all codecs again when its audio is next opened")
            }
        }
    }
}
