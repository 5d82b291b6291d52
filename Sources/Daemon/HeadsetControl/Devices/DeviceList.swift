package import AudioPaths
package import BTCallAPI
import BlueZ
package import BluetoothTypes
package import BoardControl
package import Configuration
package import ControlLoop
package import Diagnostics
import HeadsetPolicy
package import Routing

/// The devices as clients see them: the policy's state, with what only the headsets and the configuration know.
@ControlPlane
package final class DeviceList {
    /// Rates of local devices: those of the internal mix, to which every local device is converted.
    private static let localRates = [16_000]

    /// A device's description may have changed. The policy's own decisions are not reported here.
    package let changes = Signal<Void>()
    private let cards: [LocalDevice: Configuration.SoundCard]
    private let router: any RouteDeciding
    private let headsets: HeadsetDirectory
    private let music: MusicControl
    private let expectedProfiles: ExpectedProfiles
    private let reconnector: Reconnector
    private let foreignProfiles: ForeignProfileChanges
    private let voiceRouting: VoiceRouting
    private let board: Board
    private let graph: AudioGraph
    private let problems: ProblemList

    /// - Parameter cards: the local devices of the configuration.
    package init(
        cards: [LocalDevice: Configuration.SoundCard], router: any RouteDeciding, headsets parts: HeadsetParts,
        board: Board, graph: AudioGraph, problems: ProblemList
    ) {
        self.cards = cards
        self.router = router
        headsets = parts.directory
        music = parts.music
        expectedProfiles = parts.expectedProfiles
        reconnector = parts.reconnector
        foreignProfiles = parts.foreignProfiles
        voiceRouting = parts.voiceRouting
        self.board = board
        self.graph = graph
        self.problems = problems
        graph.events.subscribe(self) { list, event in
            if case .routed = event { list.changes.send() }
        }
        parts.registry.events.subscribe(self) { list, event in
            if case .deviceChanged = event { list.changes.send() }
        }
        headsets.changes.subscribe(self) { list, change in
            switch change {
            case .appeared, .vanished, .changed, .buttonPressed, .buttonHeld: list.changes.send()
            default: break
            }
        }
        music.changes.subscribe(self) { list, change in
            if case .stream = change { list.changes.send() }
        }
        reconnector.changes.subscribe(self) { $0.changes.send() }
        expectedProfiles.changes.subscribe(self) { list, _ in list.changes.send() }
        // The reason why a device is unavailable may be a problem.
        problems.changes.subscribe(self) { $0.changes.send() }
    }

    /// The codec of a headset's open link.
    package func codec(of address: BluetoothAddress) -> VoiceCodec? { graph.codec(ofLink: address) }

    /// Remarks for an explanation of the route: settings that are left to other programs.
    package var notes: [String] { board.notes + foreignProfiles.notes + voiceRouting.notes }

    package var descriptions: [DeviceDescription] {
        router.policy.devices(at: ControlLoop.now).compactMap { listing in
            guard let word = DeviceWord(listing.device.description) else { return nil }
            return word.address.map { describeHeadset($0, word, listing) } ?? describeLocal(word, listing)
        }
    }

    // MARK: Headsets

    private func describeHeadset(
        _ address: BluetoothAddress, _ word: DeviceWord, _ listing: RoutingPolicy.Listing
    ) -> DeviceDescription {
        let headset = headsets.description(of: address)
        let policy = router.policy
        let mode = policy.current?.address == address ? policy.current?.mode : policy.usableMode(of: address)
        var description = DeviceDescription(
            device: word, name: headsets.name(of: address), isAvailable: listing.isAvailable,
            unavailableBecause: listing.unavailableBecause, output: listing.output?.description,
            input: listing.input.flatMap { $0 == .none ? nil : $0.description }, battery: headset?.battery,
            speakerVolume: headset?.hasVoice == true ? headset.map { Int($0.speakerVolume) } : nil,
            microphoneVolume: headset?.hasVoice == true ? headset.map { Int($0.microphoneVolume) } : nil,
            codecs: headset?.codecs ?? [],
            category: headsets.category(of: address)?.rawValue)
        description.codecReason = headset?.codecReason
        description.isMicrophoneMuted = headset?.hasVoice == true ? headset?.isMicrophoneMuted : nil
        description.powerSource = headset?.powerSource
        description.isSafetyEnhanced = headset?.isSafetyEnhanced
        // The headset is connected, but of no use: say why.
        if !description.isAvailable, headset?.hasVoice != true, let notice = expectedProfiles.notice(of: address) {
            description.unavailableBecause = notice
        }
        describeReconnection(of: address, in: &description)
        description.state = policy.state(of: listing.device, at: ControlLoop.now).rawValue
        description.mode = mode?.rawValue
        description.isDuplex = mode == .hfp && description.output != nil && description.input != nil
        switch mode {
        case .hfp: description.rates = headsets.rates(of: address)
        case .a2dp: description.rates = [music.source.transport(of: address)?.configuration.rate].compactMap { $0 }
        case nil: break
        }
        description.mediaState = headset?.media?.state.rawValue
        description.mediaCodec = headset?.media?.codec
        description.mediaVolume = headset?.media?.volume
        description.hasInbandRing = headset?.hasVoice == true && policy.supportsInbandRing(address)
        if description.speakerVolume != nil {
            description.speakerVolumeMax = headsets.speakerCeiling(of: address)
            description.microphoneVolumeMax = 15
        }
        return description
    }

    private func describeReconnection(of address: BluetoothAddress, in description: inout DeviceDescription) {
        let standing = reconnector.standing(of: address)
        guard standing != .none else { return }
        description.reconnect = standing.rawValue
        guard !description.isAvailable else { return }
        switch standing {
        case .none, .waiting, .paging: return
        case .leftAlone: description.unavailableBecause = "disconnected on purpose"
        case .quarantined: description.unavailableBecause = "not connected: its connection is unstable"
        }
    }

    // MARK: Local devices

    private func describeLocal(_ word: DeviceWord, _ listing: RoutingPolicy.Listing) -> DeviceDescription {
        let card = LocalDevice(rawValue: word.description).flatMap { cards[$0] }
        var description = DeviceDescription(
            device: word, name: word.description, isAvailable: listing.isAvailable,
            unavailableBecause: unavailability(listing, word, card))
        // A direction without a card does not exist, whatever the policy plans.
        if card?.playback != nil { description.output = listing.output?.description }
        description.input = input(word, listing, card)?.description
        description.state = router.policy.state(of: listing.device, at: ControlLoop.now).rawValue
        description.isDuplex = description.output != nil && description.input != nil
        if description.output != nil || description.input != nil { description.rates = Self.localRates }
        return description
    }

    /// Headphones use the board's microphone, and so does a wired headset whose card cannot record.
    private func input(
        _ word: DeviceWord, _ listing: RoutingPolicy.Listing, _ card: Configuration.SoundCard?
    ) -> AudioInput? {
        guard let input = listing.input, input != .none else { return nil }
        if card?.capture != nil { return input }
        let hasBuiltin = [.speakerphone, .earpiece].contains { cards[$0]?.capture != nil }
        return word == .wiredHeadset && hasBuiltin ? .builtinMic : nil
    }

    /// Why a local device is unavailable; the problem list knows this better than the policy.
    private func unavailability(
        _ listing: RoutingPolicy.Listing, _ word: DeviceWord, _ card: Configuration.SoundCard?
    ) -> String? {
        guard !listing.isAvailable else { return nil }
        guard card != nil else { return "not configured" }
        for id in ["device.\(word)", "jack.\(word)"] {
            if let problem = problems.problems.first(where: { $0.id == id }) { return problem.what }
        }
        return word == .wiredHeadset && board.isWiredUnplugged ? "nothing is plugged in" : listing.unavailableBecause
    }
}
