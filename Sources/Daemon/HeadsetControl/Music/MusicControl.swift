package import AudioPaths
package import BTCallAPI
package import BlueZ
package import BluetoothTypes
package import Configuration
package import ControlLoop
package import DBus
package import Diagnostics
package import Logging

/// A2DP: passes bluetoothd's events on to the streams, the audio graph and everybody who shows them.
@ControlPlane
package final class MusicControl {
    package enum Change {
        /// A stream of ours has begun or ended, or the profile has come up or gone down.
        case stream(BluetoothAddress)
        /// A stream of another program to the headset has begun or ended.
        case foreignMusic(BluetoothAddress)
        /// Another program has taken or released the headset's A2DP.
        case foreign(BluetoothAddress)
        /// Its shown state or volume has changed.
        case shown(BluetoothAddress)
        /// bluetoothd has registered us for headsets' streams.
        case registered
    }

    package let source: MediaSource
    package let links: MediaLinks
    package let changes = Signal<Change>()
    /// A headset's A2DP is connected, and the policy has not been notified yet: an A2DP-only headset is made known first.
    package let arrivals = Signal<BluetoothAddress>()
    /// A button was pressed, most likely on this headset.
    package let presses = Signal<(BluetoothAddress, MediaButton)>()
    private let registry: DeviceRegistry
    private let graph: AudioGraph
    private let settings: Settings
    private let problems: ProblemList

    package init(
        settings: Settings, bus: BusConnection, registry: DeviceRegistry, graph: AudioGraph,
        router: any RouteDeciding, problems: ProblemList, logger: Logger
    ) {
        self.settings = settings
        self.registry = registry
        self.graph = graph
        self.problems = problems
        source = MediaSource(
            bus: bus, registry: registry, quality: settings.configuration.a2dpQuality, logger: logger)
        links = MediaLinks(source: source, graph: graph, logger: logger)
        graph.streams = links
        graph.setListener(settings.configuration.listener)
        links.routing.subscribe { [weak router] event in router?.handle(event) }
        links.changes.subscribe(self) { $0.streamChanged($1) }
        links.failures.subscribe(self) { $0.noteSilence($1.0, $1.1) }
        source.onEvent = { [weak self] event in self?.handle(event) }
    }

    // MARK: State

    /// Whether the headset's A2DP is up, ours or another program's; nil: it is not wanted here.
    package func isUp(_ address: BluetoothAddress) -> Bool? {
        guard settings.configuration.a2dp, source.isRegistered else { return nil }
        return isConnected(address)
    }

    /// Whether the headset's A2DP is up, whichever program has it.
    package func isConnected(_ address: BluetoothAddress) -> Bool { links.isUp(address) || source.isForeign(address) }

    /// Whether music is streamed to the headset now, by btcalld or another program.
    package func isPlaying(_ address: BluetoothAddress) -> Bool {
        links.isStreaming(address) || source.isForeignPlaying(address)
    }

    package func description(of address: BluetoothAddress) -> HeadsetDescription.Media? {
        guard let transport = source.transport(of: address) else {
            guard source.isForeign(address) else { return nil }
            return HeadsetDescription.Media(codec: nil, volume: nil, state: .foreign)
        }
        let state: HeadsetDescription.Media.State =
            links.isPlaying(address) ? .playing : links.isSuspended(address) ? .suspended : .idle
        return HeadsetDescription.Media(
            codec: MediaLinks.text(transport.configuration, bitpool: transport.bitpool), volume: transport.volume,
            state: state)
    }

    // MARK: Events

    private func streamChanged(_ address: BluetoothAddress) {
        changes.send(.stream(address))
        source.setPlaying(links.isAnyStreaming)
    }

    private func handle(_ event: MediaSource.Event) {
        switch event {
        case .registered:
            problems.end(Self.problem(.endpoint))
            changes.send(.registered)
        case .playerRegistered: problems.end(Self.problem(.player))
        case .refused(let refusal):
            let remedy =
                refusal.part == .endpoint
                ? "`btcall config bluetooth.a2dp no`, where A2DP is not wanted" : "btcalld retries automatically"
            problems.begin(Self.problem(refusal.part), what: "\(refusal)", remedy: remedy)
        case .configured(let address):
            arrivals.send(address)
            links.appeared(address)
        case .cleared(let address): links.vanished(address)
        case .stateChanged(let address, let state):
            if state != .active { links.stopped(address) }
            changes.send(.shown(address))
        case .volumeChanged(let address, _): changes.send(.shown(address))
        case .delayChanged(let address, let delay):
            graph.setStreamDelay(Int(delay.milliseconds), of: address)
        case .buttonPressed(let button):
            // bluetoothd does not say which headset's button it was.
            if let address = links.likelySource { presses.send((address, button)) }
        case .foreignPlaying(let address, _): changes.send(.foreignMusic(address))
        case .foreign(let address, _), .foreignGone(let address):
            noteForeign(address)
            changes.send(.foreign(address))
        }
    }

    // MARK: Serving

    /// Registers or withdraws A2DP as configured.
    ///
    /// - Parameter isActive: while false, nothing is started.
    package func follow(isActive: Bool) {
        let isWanted = settings.configuration.a2dp
        source.quality = settings.configuration.a2dpQuality
        graph.setListener(settings.configuration.listener)
        source.isServing = isWanted
        if !isWanted {
            for part in MediaRefusal.Part.allCases { problems.end(Self.problem(part)) }
        }
        for device in registry.devices { noteForeign(device.address) }
        // This runs without A2DP of our own, too: calls wait for the music of others.
        if isActive { source.start() }
    }

    // MARK: Problems

    private static func problem(_ part: MediaRefusal.Part) -> String { "a2dp.\(part.rawValue)" }

    private func name(of address: BluetoothAddress) -> String {
        registry.device(address)?.name ?? address.description
    }

    /// Reports another program that has the headset's A2DP, if A2DP is wanted here.
    private func noteForeign(_ address: BluetoothAddress) {
        let id = "a2dp.foreign.\(address)"
        guard settings.configuration.a2dp, source.isForeign(address) else { return problems.end(id) }
        let program = source.foreignOwner(of: address).map { "\($0)" } ?? "another program"
        problems.begin(
            id, what: "\(program) has the A2DP of \(name(of: address)): only HFP is used here",
            remedy: "stop that program, or, if it is wanted, run `btcall config bluetooth.a2dp no`")
    }

    private func noteSilence(_ address: BluetoothAddress, _ error: MediaError?) {
        let id = "a2dp.\(address)"
        guard let error else { return problems.end(id) }
        problems.begin(
            id, what: "nothing is heard on \(name(of: address)) over A2DP: \(error)",
            remedy: "btcalld retries while something has to play there")
    }
}
