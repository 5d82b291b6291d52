import AudioEngine
package import AudioPaths
package import BlueZ
package import BluetoothTypes
package import ControlLoop
import DBus
import HeadsetPolicy
package import Logging
package import Routing

/// A2DP: acquires streams to headsets for the route and for other sound, releases them, and suspends them while a voice link
/// is in use. Feeds each headset's `MediaLink` machine with events and carries out its actions.
@ControlPlane
package final class MediaLinks {
    private final class Link {
        let address: BluetoothAddress
        var machine = MediaLink()
        var acquired: MediaSource.AcquiredStream?
        var timer: Timer?
        var actions: [(MediaLink.Action, Subject)] = []
        var isActing = false

        init(_ address: BluetoothAddress) { self.address = address }
    }

    /// Additional subject of an action.
    private enum Subject {
        case nothing
        case refusal(MediaError)
        /// `errno` of the socket; 0: ended by the headset.
        case loss(Int32)
    }

    /// Events for the policy.
    package let routing = Signal<RoutingEvent>()
    /// A headset's published state changed.
    package let changes = Signal<BluetoothAddress>()
    /// Playback to a headset failed, with the reason; nil once it recovers.
    package let failures = Signal<(BluetoothAddress, MediaError?)>()
    private let source: MediaSource
    private let graph: AudioGraph
    private let logger: Logger
    private var links: [BluetoothAddress: Link] = [:]
    /// Headsets whose A2DP is up, in the order in which it came up.
    private var present: [BluetoothAddress] = []

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

    // MARK: Events of bluetoothd

    /// A headset's A2DP has come up.
    package func appeared(_ address: BluetoothAddress) {
        present.removeAll { $0 == address }
        present.append(address)
        let link = link(address)
        act(link, link.machine.appeared())
        routing.send(.headsetProfile(address, .a2dp, isUp: true))
        changed(address)
    }

    /// A headset's A2DP has gone down: an acquired stream is dead.
    package func vanished(_ address: BluetoothAddress) {
        present.removeAll { $0 == address }
        let link = link(address)
        act(link, link.machine.vanished())
        failures.send((address, nil))
        routing.send(.headsetProfile(address, .a2dp, isUp: false))
        changed(address)
    }

    /// The headset or bluetoothd has stopped the acquired stream; the socket does not show this.
    package func stopped(_ address: BluetoothAddress) {
        if let link = links[address] { act(link, link.machine.stopped(at: ControlLoop.now), about: .loss(0)) }
    }

    package func isUp(_ address: BluetoothAddress) -> Bool { present.contains(address) }

    /// Whether a stream to the headset is in use, being started or being ended.
    package func isStreaming(_ address: BluetoothAddress) -> Bool { links[address]?.machine.isInUse ?? false }

    /// Whether sound goes to the headset at this moment.
    package func isPlaying(_ address: BluetoothAddress) -> Bool { links[address]?.machine.user != nil }

    package var isAnyStreaming: Bool { links.values.contains { $0.machine.user != nil } }

    /// Best guess for an unattributed AVRCP key: the headset that is playing, otherwise the most recent one.
    package var likelySource: BluetoothAddress? { present.last { isPlaying($0) } ?? present.last }

    private func changed(_ address: BluetoothAddress) {
        graph.streamsChanged()
        changes.send(address)
    }

    // MARK: The policy

    package func openLink(_ address: BluetoothAddress) {
        let link = link(address)
        act(link, link.machine.openRequested())
    }

    /// Closes the stream or cancels its set-up; reports `.linkClosed`.
    package func closeLink(_ address: BluetoothAddress) {
        let link = link(address)
        act(link, link.machine.closeRequested())
    }

    // MARK: Voice links

    /// Ends what plays on the headset over A2DP beside the calls, and suspends it until `resume`; `isStreaming` shows when
    /// it has ended.
    package func keepBack(_ address: BluetoothAddress) {
        let link = link(address)
        act(link, link.machine.keepBack())
    }

    /// Allows suspended playback on the headset again.
    package func resume(_ address: BluetoothAddress) {
        if let link = links[address] { act(link, link.machine.resume()) }
    }

    package func isSuspended(_ address: BluetoothAddress) -> Bool { links[address]?.machine.isKeptBack ?? false }
    /// Headsets whose A2DP is suspended.
    package var suspended: [BluetoothAddress] { links.values.filter(\.machine.isKeptBack).map(\.address).sorted() }

    // MARK: Actions of the machines

    /// Runs actions in order; actions that arise meanwhile are queued behind them.
    private func act(_ link: Link, _ actions: [MediaLink.Action], about subject: Subject = .nothing) {
        link.actions += actions.map { ($0, subject) }
        guard !link.isActing else { return }
        link.isActing = true
        while !link.actions.isEmpty {
            let (action, subject) = link.actions.removeFirst()
            perform(action, link, subject)
        }
        link.isActing = false
    }

    private func perform(_ action: MediaLink.Action, _ link: Link, _ subject: Subject) {
        let address = link.address
        switch action {
        case .acquire: acquire(link)
        case .cancelAcquisition: Task { @ControlPlane in await source.release(address) }
        case .release: release(link)
        case .beginRoute: beginRoute(link)
        case .closeRoute: graph.closeStream(address)
        case .streamsChanged: graph.streamsChanged()
        case .lookAgain: later { $0.graph.streamsChanged() }
        case .report(let report): later { $0.routing.send(Self.event(report, address)) }
        case .failure: if case .refusal(let error) = subject { failures.send((address, error)) }
        case .failureOver: failures.send((address, nil))
        case .noteRefusal: if case .refusal(let error) = subject { logger.notice("\(address): no A2DP: \(error)") }
        case .noteLoss: if case .loss(let code) = subject { noteLoss(address, code) }
        case .changed: changes.send(address)
        case .setDeadline(let deadline): setDeadline(link, deadline)
        case .fault(let reason): logger.error("\(address): internal fault in its A2DP: \(reason)")
        }
    }

    private func noteLoss(_ address: BluetoothAddress, _ code: Int32) {
        logger.info(
            "\(address): A2DP ended (\(code == 0 ? "by the headset" : "\(SystemError(call: "send", code: code))"))")
    }

    /// Translates the report of a stream for the policy.
    private static func event(_ report: MediaLink.Report, _ address: BluetoothAddress) -> RoutingEvent {
        switch report {
        case .opened: .linkOpened(address)
        case .refused: .linkFailed(address, .refused)
        case .failed: .linkFailed(address, .failed)
        case .closed(.requested): .linkClosed(address, .requested)
        case .closed(.byHeadset): .linkClosed(address, .remote)
        case .closed(.lost): .linkClosed(address, .linkLoss)
        }
    }

    private func later(_ work: @escaping @ControlPlane (MediaLinks) -> Void) {
        ControlLoop.shared.perform { [weak self] in if let self { work(self) } }
    }

    private func setDeadline(_ link: Link, _ deadline: Instant?) {
        link.timer?.cancel()
        link.timer = deadline.map { deadline in
            ControlLoop.shared.schedule(at: deadline) { [weak self] in
                link.timer = nil
                self?.act(link, link.machine.deadlineReached(at: ControlLoop.now))
            }
        }
    }

    private func acquire(_ link: Link) {
        let address = link.address
        Task { @ControlPlane in
            do throws(MediaError) {
                link.acquired = try await source.acquire(address)
                let isHeld = source.holds(address)
                act(link, link.machine.acquired(isHeld: isHeld, at: ControlLoop.now))
            } catch {
                let actions = link.machine.acquisitionFailed(isCancelled: error == .cancelled, at: ControlLoop.now)
                act(link, actions, about: .refusal(error))
            }
        }
    }

    private func release(_ link: Link) {
        // The engine has released the descriptor: this closes the socket.
        link.acquired = nil
        let address = link.address
        Task { @ControlPlane in
            await source.release(address)
            act(link, link.machine.released())
        }
    }

    private func beginRoute(_ link: Link) {
        guard let stream = open(link), graph.add(stream: stream) else {
            return act(link, link.machine.routeRefused())
        }
        logger.info("\(link.address): A2DP open, \(describe(link))")
        act(link, link.machine.routeBegan())
    }

    private func open(_ link: Link) -> OpenStream? {
        guard let acquired = link.acquired else { return nil }
        let address = link.address
        let stream = MediaStream(
            descriptor: acquired.descriptor.descriptor, configuration: acquired.configuration,
            bitpool: acquired.bitpool,
            writeMTU: acquired.writeMTU)
        return OpenStream(
            address: address, stream: stream, delayMilliseconds: delayMilliseconds(of: address)
        ) { [weak self] in self?.act(link, link.machine.streamLeft()) }
    }

    private func delayMilliseconds(of address: BluetoothAddress) -> Int {
        source.transport(of: address)?.delay.map { Int($0.milliseconds) } ?? 0
    }

    /// Rate, mode and bitpool of the acquired stream.
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

    private func mayPlay(_ address: BluetoothAddress) -> Bool { links[address]?.machine.mayPlay ?? false }

    /// Default headset for output: the one that is playing, otherwise the most recent one.
    package var chosen: BluetoothAddress? {
        present.last { links[$0]?.machine.user == .output && mayPlay($0) } ?? present.last(where: mayPlay)
    }

    package func setWanted(_ addresses: Set<BluetoothAddress>) {
        for address in addresses.union(links.keys).sorted() {
            let link = link(address)
            guard let actions = link.machine.setOutputWanted(addresses.contains(address)) else { continue }
            act(link, actions)
            // Its next step may change the graph, which is being changed right now.
            later { $0.act(link, link.machine.performStep()) }
        }
    }

    package func takeStream(for address: BluetoothAddress) -> OpenStream? {
        guard let link = links[address], link.machine.beginOutput(at: ControlLoop.now) else { return nil }
        return open(link)
    }

    package func streamFailed(_ address: BluetoothAddress, code: Int32, isRoute: Bool) {
        guard let link = links[address] else { return }
        let end = code == 0 ? MediaLink.End.byHeadset : .lost
        let actions = link.machine.streamFailed(isRoute: isRoute, by: end, at: ControlLoop.now)
        act(link, actions, about: .loss(code))
    }
}
