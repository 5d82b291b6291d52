import AudioEngine
package import AudioPaths
package import BlueZ
package import BluetoothTypes
package import ControlLoop
import DBus
package import Logging
package import Routing

/// A2DP: acquires the streams to headsets for the route and for what is heard beside the calls, gives them back, and keeps
/// them back while a voice link is in use.
///
/// Level-triggered: `step` takes every step that is possible now. One transport has one user at a time: the route goes before
/// what is heard beside it.
@ControlPlane
package final class MediaLinks {
    /// What one headset's transport is used for.
    private enum Use { case none, route, output }

    private final class Link {
        let address: BluetoothAddress
        /// Between the policy's request and the end that it is told of.
        var isRouteWanted = false
        /// The policy waits for the end.
        var isCloseAwaited = false
        var isOutputWanted = false
        /// A voice link is in use, or has been until just now.
        var isSuspended = false
        var acquired: MediaSource.AcquiredStream?
        /// A call to bluetoothd is under way.
        var isBusy = false
        /// It is the one that starts the stream.
        var isAcquiring = false
        /// The engine cannot go on with what was acquired.
        var isDead = false
        var use = Use.none
        var farewell: Timer?
        /// What the headset refused or ended beside the calls, one after the other.
        var refusals = 0
        var retry: Timer?
        /// Since when something is played there beside the calls.
        var playingSince: Instant?

        init(_ address: BluetoothAddress) { self.address = address }
    }

    package var onRoutingEvent: (@ControlPlane (RoutingEvent) -> Void)?
    /// What is shown of a headset is another.
    package var onChange: (@ControlPlane (BluetoothAddress) -> Void)?
    /// Nothing is heard on a headset that something is to be heard on, and why; nil: it is.
    package var onFailure: (@ControlPlane (BluetoothAddress, MediaError?) -> Void)?
    /// What has been played for as long counts as accepted.
    private static let steadyTime = Duration.seconds(10)
    /// How long the profile may outlive the stream of a headset that goes away.
    private static let farewellTime = Duration.milliseconds(100)

    private let source: MediaSource
    private let graph: AudioGraph
    private let logger: Logger
    private var links: [BluetoothAddress: Link] = [:]
    /// Headsets that have A2DP up, in the order in which that came.
    private var present: [BluetoothAddress] = []
    /// Headsets that refused to play beside the calls, until they are tried again.
    private var refused: Set<BluetoothAddress> = []

    package init(source: MediaSource, graph: AudioGraph, logger: Logger) {
        self.source = source
        self.graph = graph
        self.logger = logger
    }

    private func link(_ address: BluetoothAddress) -> Link {
        if let link = links[address] { return link }
        let link = Link(address)
        links[address] = link
        return link
    }

    // MARK: What bluetoothd says

    /// A2DP of a headset is up.
    package func appeared(_ address: BluetoothAddress) {
        present.removeAll { $0 == address }
        present.append(address)
        refused.remove(address)
        links[address]?.retry?.cancel()
        links[address]?.refusals = 0
        onRoutingEvent?(.headsetProfile(address, .a2dp, isUp: true))
        changed(address)
    }

    /// A2DP of a headset is down: what was acquired is dead.
    package func vanished(_ address: BluetoothAddress) {
        present.removeAll { $0 == address }
        if let link = links[address] {
            link.isDead = true
            link.isRouteWanted = false
            link.isCloseAwaited = false
            link.farewell?.cancel()
            link.farewell = nil
            if link.use == .route { graph.closeStream(address) }
        }
        onFailure?(address, nil)
        onRoutingEvent?(.headsetProfile(address, .a2dp, isUp: false))
        changed(address)
    }

    /// The headset, or bluetoothd, has stopped what was acquired; the socket does not say so.
    package func stopped(_ address: BluetoothAddress) {
        guard let link = links[address], link.acquired != nil, !link.isBusy, !link.isDead else { return }
        link.isDead = true
        if link.use == .route {
            routeLost(link, code: 0)
            graph.closeStream(address)
        } else {
            // A headset that has ended it does not want it back at once.
            rest(link)
        }
        step(link)
    }

    package func isUp(_ address: BluetoothAddress) -> Bool { present.contains(address) }

    /// Sound goes to the headset over A2DP, or is about to, or is just being ended.
    package func isStreaming(_ address: BluetoothAddress) -> Bool {
        guard let link = links[address] else { return false }
        return link.acquired != nil || link.isBusy
    }

    /// Sound goes to the headset at this moment.
    package func isPlaying(_ address: BluetoothAddress) -> Bool { links[address]?.use ?? .none != .none }

    package var isAnyStreaming: Bool { links.values.contains { $0.use != .none } }

    /// Whose button it was that came from somewhere: the headset that plays, else the one that came last.
    package var likelySource: BluetoothAddress? { present.last { links[$0]?.use ?? .none != .none } ?? present.last }

    private func changed(_ address: BluetoothAddress) {
        step(link(address))
        graph.streamsChanged()
        onChange?(address)
    }

    // MARK: The policy

    package func openLink(_ address: BluetoothAddress) {
        let link = link(address)
        link.isRouteWanted = true
        link.isCloseAwaited = false
        graph.streamsChanged()
        step(link)
    }

    /// Closes the stream or cancels its set-up; `.linkClosed` comes back.
    package func closeLink(_ address: BluetoothAddress) {
        let link = link(address)
        link.isRouteWanted = false
        link.isCloseAwaited = true
        link.farewell?.cancel()
        link.farewell = nil
        if link.use == .route { graph.closeStream(address) }
        abandonAcquisition(link)
        step(link)
    }

    /// The stream that calls were routed to has ended by itself.
    private func routeLost(_ link: Link, code: Int32) {
        let address = link.address
        logger.info(
            "\(address): A2DP ended (\(code == 0 ? "by the headset" : "\(SystemError(call: "send", code: code))"))")
        link.isRouteWanted = false
        // One end is told: that which the policy asked for.
        guard !link.isCloseAwaited else { return }
        // A headset that is switched off ends its stream first.
        link.farewell?.cancel()
        link.farewell = ControlLoop.shared.schedule(after: Self.farewellTime) { [weak self, weak link] in
            link?.farewell = nil
            self?.onRoutingEvent?(.linkClosed(address, code == 0 ? .remote : .linkLoss))
        }
    }

    // MARK: Voice links

    /// Ends what goes to the headset over A2DP beside the calls, and keeps it back until `resume`; `isStreaming` says how long it takes.
    package func keepBack(_ address: BluetoothAddress) {
        let link = link(address)
        guard !link.isSuspended else { return }
        link.isSuspended = true
        graph.streamsChanged()
        abandonAcquisition(link)
        step(link)
    }

    /// The headset may play again what was kept back.
    package func resume(_ address: BluetoothAddress) {
        guard let link = links[address], link.isSuspended else { return }
        link.isSuspended = false
        graph.streamsChanged()
        step(link)
    }

    package func isSuspended(_ address: BluetoothAddress) -> Bool { links[address]?.isSuspended ?? false }
    /// Headsets whose A2DP is kept back.
    package var suspended: [BluetoothAddress] { links.values.filter(\.isSuspended).map(\.address).sorted() }

    // MARK: Steps

    private func step(_ link: Link) {
        guard !link.isBusy else { return }
        let isPresent = present.contains(link.address)
        let isOutputWanted = link.isOutputWanted && !link.isSuspended && !refused.contains(link.address)
        // Between two users the engine has let go of the one before.
        if link.use == .none, link.acquired != nil, link.isDead || !(link.isRouteWanted || isOutputWanted) || !isPresent
        {
            release(link)
            return
        }
        if link.acquired == nil {
            // What waited for the end of the dead one may have given up looking.
            if link.isDead { later { $0.graph.streamsChanged() } }
            link.isDead = false
            // The policy's link is over, whatever else is played there.
            if !link.isRouteWanted { ended(link) }
            if link.isRouteWanted || isOutputWanted, isPresent { return acquire(link) }
            if link.isRouteWanted { routeFailed(link, .failed) }
            return
        }
        guard link.use == .none else { return }
        if link.isRouteWanted { return beginRoute(link) }
        ended(link)
        later { $0.graph.streamsChanged() }
    }

    /// Nobody wants what bluetoothd is asked for any more, which the headset may take seconds to answer.
    private func abandonAcquisition(_ link: Link) {
        guard link.isAcquiring, !link.isRouteWanted, link.isSuspended || !link.isOutputWanted else { return }
        let address = link.address
        Task { @ControlPlane in await source.release(address) }
    }

    private func later(_ work: @escaping @ControlPlane (MediaLinks) -> Void) {
        ControlLoop.shared.perform { [weak self] in if let self { work(self) } }
    }

    /// Nothing goes to the headset any more.
    private func ended(_ link: Link) {
        guard link.isCloseAwaited else { return }
        link.isCloseAwaited = false
        let address = link.address
        later { $0.onRoutingEvent?(.linkClosed(address, .requested)) }
    }

    private func routeFailed(_ link: Link, _ failure: LinkFailure) {
        link.isRouteWanted = false
        let address = link.address
        later { $0.onRoutingEvent?(.linkFailed(address, failure)) }
    }

    private func acquire(_ link: Link) {
        link.isBusy = true
        link.isAcquiring = true
        let address = link.address
        Task { @ControlPlane in
            do throws(MediaError) {
                let acquired = try await source.acquire(address)
                link.isBusy = false
                link.isAcquiring = false
                link.acquired = acquired
                // It may have been suspended since bluetoothd answered.
                if !source.holds(address) { return stopped(address) }
                onFailure?(address, nil)
                onChange?(address)
            } catch {
                link.isBusy = false
                link.isAcquiring = false
                acquisitionFailed(link, error)
            }
            step(link)
        }
    }

    private func acquisitionFailed(_ link: Link, _ error: MediaError) {
        let address = link.address
        if link.isRouteWanted {
            logger.notice("\(address): no A2DP: \(error)")
            routeFailed(link, .refused)
        }
        guard error != .cancelled, link.isOutputWanted, !link.isSuspended, present.contains(address) else { return }
        onFailure?(address, error)
        rest(link)
    }

    /// Before a headset is asked again that has refused or ended what is played there beside the calls: 1, 2, 4, then 8 s. One
    /// that always does wants its silence, and may hear each attempt as a click.
    package static func retryPause(afterRefusals count: Int) -> Duration { .seconds(1 << min(max(count, 1) - 1, 3)) }

    /// Nothing is played beside the calls there for a while.
    private func rest(_ link: Link) {
        let address = link.address
        // Its end is told by bluetoothd and by the socket.
        guard refused.insert(address).inserted else { return }
        if let since = link.playingSince, since.duration(to: ControlLoop.now) > Self.steadyTime { link.refusals = 0 }
        link.playingSince = nil
        link.refusals += 1
        later { $0.graph.streamsChanged() }
        link.retry = ControlLoop.shared.schedule(after: Self.retryPause(afterRefusals: link.refusals)) { [weak self] in
            guard let self, refused.remove(address) != nil else { return }
            step(link)
            graph.streamsChanged()
            // What was to be heard there is over.
            if !link.isOutputWanted { onFailure?(address, nil) }
        }
    }

    private func release(_ link: Link) {
        link.isBusy = true
        // The engine has let go of the descriptor: the socket is closed with it.
        link.acquired = nil
        if link.playingSince != nil, !link.isDead { link.refusals = 0 }
        link.playingSince = nil
        let address = link.address
        Task { @ControlPlane in
            await source.release(address)
            link.isBusy = false
            onChange?(address)
            step(link)
        }
    }

    private func beginRoute(_ link: Link) {
        guard let stream = open(link, for: .route) else { return }
        guard graph.add(stream: stream) else {
            link.use = .none
            routeFailed(link, .failed)
            return step(link)
        }
        let address = link.address
        logger.info("\(address): A2DP open, \(describe(link))")
        later { $0.onRoutingEvent?(.linkOpened(address)) }
    }

    private func open(_ link: Link, for use: Use) -> OpenStream? {
        guard let acquired = link.acquired else { return nil }
        link.use = use
        link.playingSince = use == .output ? ControlLoop.now : nil
        let address = link.address
        let stream = MediaStream(
            descriptor: acquired.descriptor.descriptor, configuration: acquired.configuration,
            bitpool: acquired.bitpool,
            writeMTU: acquired.writeMTU)
        return OpenStream(
            address: address, stream: stream, delayMilliseconds: delayMilliseconds(of: address)
        ) { [weak self, weak link] in
            guard let self, let link else { return }
            link.use = .none
            step(link)
        }
    }

    private func delayMilliseconds(of address: BluetoothAddress) -> Int {
        source.transport(of: address)?.delay.map { Int($0.milliseconds) } ?? 0
    }

    /// Rate, mode and bitpool of what was acquired.
    private func describe(_ link: Link) -> String {
        guard let acquired = link.acquired else { return "" }
        return Self.text(acquired.configuration, bitpool: acquired.bitpool)
    }

    package static func text(_ configuration: SBCConfiguration, bitpool: Int) -> String {
        "SBC \(configuration.rate) Hz \(configuration.mode.rawValue), bitpool \(bitpool)"
    }
}

extension MediaLinks: StreamLinkOpening {}

extension MediaLinks: StreamOpening {
    package func isFree(_ headset: BluetoothAddress) -> Bool { mayPlay(headset) }

    private func mayPlay(_ address: BluetoothAddress) -> Bool {
        guard present.contains(address), !refused.contains(address) else { return false }
        guard let link = links[address] else { return true }
        return !link.isSuspended && !link.isRouteWanted && link.use != .route && !link.isDead
    }

    /// Of any headsets the one that plays already, else the one that came last.
    package var chosen: BluetoothAddress? {
        present.last { links[$0]?.use == .output && mayPlay($0) } ?? present.last(where: mayPlay)
    }

    package func setWanted(_ addresses: Set<BluetoothAddress>) {
        for address in addresses.union(links.keys).sorted() {
            let link = link(address)
            let isWanted = addresses.contains(address)
            guard link.isOutputWanted != isWanted else { continue }
            link.isOutputWanted = isWanted
            // While it rests after a failure nothing is wanted of it, and the failure stands.
            if !isWanted, !refused.contains(address) { onFailure?(address, nil) }
            // Its next step may change the graph, which is just being changed.
            later { $0.step(link) }
        }
    }

    package func takeStream(for address: BluetoothAddress) -> OpenStream? {
        guard let link = links[address], link.use == .none, !link.isBusy, !link.isDead, mayPlay(address)
        else { return nil }
        return open(link, for: .output)
    }

    package func streamFailed(_ address: BluetoothAddress, code: Int32, isRoute: Bool) {
        guard let link = links[address] else { return }
        link.isDead = true
        if isRoute { routeLost(link, code: code) } else { rest(link) }
    }
}
