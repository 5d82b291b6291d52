import AudioPaths
import BTCallAPI
import BlueZ
import BluetoothTypes
import BusObjects
import Configuration
import ControlLoop
import DBus
import Diagnostics
import HeadsetControl
import Logging
import Routing

// A2DP: what bluetoothd, the policy and the audio graph know of it.
extension Daemon {
    package func joinA2DP() {
        router.streams = media
        graph.streams = media
        graph.setListener(configuration.listener)
        media.onRoutingEvent = { [weak self] event in self?.router.handle(event) }
        media.onChange = { [weak self] address in
            guard let self else { return }
            headsetObjects?.follow(address)
            expectedProfiles.follow()
            reconnector.follow()
            peace.streamsChanged()
            mediaSource.setPlaying(media.isAnyStreaming)
            routerObject?.refresh()
        }
        headsets.servesA2DP = configuration.a2dp
        headsets.media = { [weak self] address in self?.describeMedia(of: address) }
        media.onFailure = { [weak self] address, error in self?.noteSilentA2DP(address, error) }
        expectedProfiles.isUp = { [weak self] address, service in
            guard let self, service == .audioSink, settings.configuration.a2dp, mediaSource.isRegistered
            else { return nil }
            return media.isUp(address) || mediaSource.isForeign(address)
        }
        mediaSource.onEvent = { [weak self] event in self?.take(event) }
    }

    private func take(_ event: MediaSource.Event) {
        switch event {
        case .registered:
            problems.end("a2dp.\(MediaRefusal.Part.endpoint.rawValue)")
            reconnector.follow()
        case .playerRegistered: problems.end("a2dp.\(MediaRefusal.Part.player.rawValue)")
        case .refused(let refusal):
            let remedy =
                refusal.part == .endpoint
                ? "`btcall config bluetooth.a2dp no`, where A2DP is not wanted" : "tried again by itself"
            problems.begin("a2dp.\(refusal.part.rawValue)", what: "\(refusal)", remedy: remedy)
        case .configured(let address):
            if let device = registry.device(address) { headsets.describe(device) }
            media.appeared(address)
        case .cleared(let address): media.vanished(address)
        case .stateChanged(let address, let state):
            if state != .active { media.stopped(address) }
            headsetObjects?.follow(address)
        case .volumeChanged(let address, _): headsetObjects?.follow(address)
        case .delayChanged(let address, let delay):
            graph.setStreamDelay(Int(delay.milliseconds), of: address)
        case .buttonPressed(let button): pressed(button)
        case .foreignPlaying(let address, _):
            peace.streamsChanged()
            headsetObjects?.follow(address)
        case .foreign(let address, _), .foreignGone(let address):
            noteForeign(address)
            headsetObjects?.follow(address)
            expectedProfiles.follow()
            reconnector.follow()
        }
    }

    /// Where A2DP is not wanted here, another program's is as it should be.
    private func noteForeign(_ address: BluetoothAddress) {
        guard settings.configuration.a2dp, mediaSource.isForeign(address) else {
            return problems.end(Self.foreignProblem(address))
        }
        let program = mediaSource.foreignOwner(of: address).map { "\($0)" } ?? "another program"
        problems.begin(
            Self.foreignProblem(address),
            what: "\(program) has the A2DP of \(headsets.name(of: address)): only HFP is used here",
            remedy: "nothing, if that is wanted: `btcall config bluetooth.a2dp no` says so; else stop that program")
    }

    private static func foreignProblem(_ address: BluetoothAddress) -> String { "a2dp.foreign.\(address)" }

    private func noteSilentA2DP(_ address: BluetoothAddress, _ error: MediaError?) {
        let id = "a2dp.\(address)"
        guard let error else { return problems.end(id) }
        problems.begin(
            id, what: "nothing is heard on \(headsets.name(of: address)) over A2DP: \(error)",
            remedy: "tried again by itself, while something is to be heard there")
    }

    /// bluetoothd does not say whose button it was: it is that of the headset that plays, else of the one that came last.
    private func pressed(_ button: MediaButton) {
        guard let address = media.likelySource else { return }
        headsetObjects?.buttonPressed(address, button.rawValue)
        if let key = ButtonKey(rawValue: button.rawValue) { recognise(key, at: address) }
    }

    private func describeMedia(of address: BluetoothAddress) -> HeadsetDescription.Media? {
        guard let transport = mediaSource.transport(of: address) else {
            guard mediaSource.isForeign(address) else { return nil }
            return HeadsetDescription.Media(codec: nil, volume: nil, state: .foreign)
        }
        let state: HeadsetDescription.Media.State =
            media.isPlaying(address) ? .playing : media.isSuspended(address) ? .suspended : .idle
        return HeadsetDescription.Media(
            codec: MediaLinks.text(transport.configuration, bitpool: transport.bitpool), volume: transport.volume,
            state: state)
    }

    /// Registers A2DP or takes it back, as the configuration says now.
    package func followA2DP() {
        let isWanted = settings.configuration.a2dp
        if headsets.servesA2DP != isWanted {
            headsets.servesA2DP = isWanted
            for device in registry.devices { headsets.describe(device) }
            headsets.forgetUnpaired()
        }
        mediaSource.quality = settings.configuration.a2dpQuality
        graph.setListener(settings.configuration.listener)
        mediaSource.isServing = isWanted
        if !isWanted {
            for part in MediaRefusal.Part.allCases { problems.end("a2dp.\(part.rawValue)") }
        }
        for device in registry.devices { noteForeign(device.address) }
        // Without A2DP of our own, too: calls wait for the music of others.
        if state == .active { mediaSource.start() }
    }
}
