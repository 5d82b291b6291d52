package import BTCallAPI
import BlueZ
import BluetoothTypes
import BoardControl
import Configuration
import ControlLoop
import Diagnostics
import HeadsetControl
import Routing

// The devices as clients see them: what the policy knows, with what only the headsets and the configuration know.
extension Daemon {
    /// Of the internal mix, which every local device is converted to.
    private static let localRates = [16_000]

    package func describeDevices() -> [DeviceDescription] {
        router.policy.devices(at: ControlLoop.now).compactMap { listing in
            guard let word = DeviceWord(listing.device.description) else { return nil }
            return word.address.map { describeHeadset($0, word, listing) } ?? describeLocal(word, listing)
        }
    }

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
        // That it is connected, and why it is of no use all the same.
        if !description.isAvailable, headset?.hasVoice != true, let notice = expectedProfiles.notice(of: address) {
            description.unavailableBecause = notice
        }
        describeReconnection(of: address, in: &description)
        description.state = policy.state(of: listing.device, at: ControlLoop.now).rawValue
        description.mode = mode?.rawValue
        description.isDuplex = mode == .hfp && description.output != nil && description.input != nil
        switch mode {
        case .hfp: description.rates = headsets.rates(of: address)
        case .a2dp: description.rates = [mediaSource.transport(of: address)?.configuration.rate].compactMap { $0 }
        case nil: break
        }
        description.mediaState = headset?.media?.state.rawValue
        description.mediaCodec = headset?.media?.codec
        description.mediaVolume = headset?.media?.volume
        description.hasInbandRing = policy.supportsInbandRing(address)
        if description.speakerVolume != nil {
            description.speakerVolumeMax = headsets.speakerCeiling(of: address)
            description.microphoneVolumeMax = 15
        }
        return description
    }

    private func describeLocal(_ word: DeviceWord, _ listing: RoutingPolicy.Listing) -> DeviceDescription {
        let card = LocalDevice(rawValue: word.description).flatMap { configuration.localDevices[$0] }
        var description = DeviceDescription(
            device: word, name: word.description, isAvailable: listing.isAvailable,
            unavailableBecause: unavailability(listing, word, card))
        // A direction without a card is not there, whatever the policy would like.
        if card?.playback != nil { description.output = listing.output?.description }
        description.input = input(word, listing, card)?.description
        description.state = router.policy.state(of: listing.device, at: ControlLoop.now).rawValue
        description.isDuplex = description.output != nil && description.input != nil
        if description.output != nil || description.input != nil { description.rates = Self.localRates }
        return description
    }

    /// Headphones are used with the board's microphone, as is a wired headset whose card does not record.
    private func input(
        _ word: DeviceWord, _ listing: RoutingPolicy.Listing, _ card: Configuration.SoundCard?
    ) -> AudioInput? {
        guard let input = listing.input, input != .none else { return nil }
        if card?.capture != nil { return input }
        let hasBuiltin = [.speakerphone, .earpiece].contains { configuration.localDevices[$0]?.capture != nil }
        return word == .wiredHeadset && hasBuiltin ? .builtinMic : nil
    }

    /// What keeps a local device away is known better here than by the policy.
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
