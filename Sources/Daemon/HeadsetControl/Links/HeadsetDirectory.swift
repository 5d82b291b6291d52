package import AudioPaths
package import BTCallAPI
package import BlueZ
import BluetoothSockets
package import BluetoothTypes
package import CallControl
package import ControlLoop
package import DBus
import Diagnostics
import Glibc
package import HandsFree
import HeadsetPolicy
package import Logging
package import Routing
import Telephony

/// The headsets: their sessions, their links, and what BlueZ knows of them.
@ControlPlane
package final class HeadsetDirectory: LinkOpening {
    package enum Change {
        case appeared(BluetoothAddress)
        case vanished(BluetoothAddress)
        case changed(BluetoothAddress)
        case buttonPressed(BluetoothAddress, AudioGateway.Button)
        /// The call key was held, for what headsets call voice recognition.
        case buttonHeld(BluetoothAddress)
        /// The wearer has turned the microphone: from what is known of before, to what.
        case microphoneTurned(BluetoothAddress, old: Int?, new: Int)
        /// A connection has begun, been set up, or ended.
        case session(BluetoothAddress)
        /// Somebody wants the headset to be disconnected.
        case dismissed(BluetoothAddress)
        /// btcalld disconnects it to free the controller: a loss, not a user's request.
        case freed(BluetoothAddress)
        /// It is not paired any more.
        case unpaired(BluetoothAddress)
    }

    package let changes = Signal<Change>()
    /// A headset is known from now on, or no longer.
    package let known = Signal<BluetoothAddress>()
    /// What the policy is told.
    package let routing = Signal<RoutingEvent>()
    /// What a headset that connects needs to be treated differently.
    private let quirks: HeadsetQuirks
    /// What is known of the A2DP of a headset; nil while that is not up.
    package let media: @ControlPlane (BluetoothAddress) -> HeadsetDescription.Media?
    /// Whether headsets that have only A2DP are taken.
    package var servesA2DP = false
    /// What is remembered and passed on of volumes and batteries.
    private let levels: HeadsetLevels

    package let registry: DeviceRegistry
    private let calls: CallDirectory
    private let graph: AudioGraph
    private let admission: LinkAdmission
    /// Of connections from now on; those that are up take what they can.
    package var configuration: AudioGatewayConfiguration {
        didSet {
            if oldValue.codecs != configuration.codecs { codecMemories.codecsChanged(configuration.codecs) }
            for address in sessions.keys.sorted() { sessions[address]?.reconfigure(configuration(of: address)) }
        }
    }
    package let logger: Logger
    package var sessions: [BluetoothAddress: HeadsetSession] = [:]
    /// Whether headsets that have only the Headset Profile are taken.
    package var servesHeadsetProfile = false
    /// An application without call state speaks to the headsets.
    package var isVirtualCallAsked = false
    /// The headsets that the policy knows, each with the object path of its adapter where bluetoothd has said it.
    package var described: [BluetoothAddress: String?] = [:]
    /// Has music make room before a link is opened.
    private let music: any MakingRoom
    /// What was learnt of the codecs of headsets.
    package let codecMemories: CodecMemories
    /// The number that was dialled last, here or by an application, since the start: for every headset's AT+BLDN.
    package private(set) var lastDialed: String?
    /// The outgoing call that it is the number of: an older one that is left when this one ends was not dialled later.
    private var lastOutgoing: CallID?

    package init(
        registry: DeviceRegistry, calls: CallDirectory, graph: AudioGraph, admission: LinkAdmission,
        opener: any AudioLinkOpening, configuration: AudioGatewayConfiguration, codecMemories: CodecMemories,
        quirks: HeadsetQuirks, levels: HeadsetLevels, music: any MakingRoom,
        media: @escaping @ControlPlane (BluetoothAddress) -> HeadsetDescription.Media?, logger: Logger
    ) {
        self.quirks = quirks
        self.levels = levels
        self.music = music
        self.media = media
        self.registry = registry
        self.calls = calls
        self.graph = graph
        self.admission = admission
        self.configuration = configuration
        self.codecMemories = codecMemories
        self.logger = logger
        opener.onIncoming = { [weak self] link in self?.incoming(link) }
        calls.snapshots.subscribe(self) { $0.callsChanged($1) }
        calls.unshownSpeech.subscribe(self) { $0.setVirtualCall($1) }
    }

    // MARK: Connections

    /// bluetoothd hands over a headset's RFCOMM connection; a new one replaces an old one, which is dead then.
    ///
    /// - Throws: why the headset is not served by this profile.
    package func connected(
        _ address: BluetoothAddress, _ descriptor: PassedDescriptor,
        by profile: AudioGatewayConfiguration.Profile = .handsFree
    ) throws(ConnectionRefusal) {
        if profile == .headset { try checkHeadsetProfile(address) }
        let channel: RFCOMMChannel
        do throws(SystemError) {
            channel = try RFCOMMChannel(descriptor: descriptor.take())
        } catch {
            // What the headset has goes on.
            throw ConnectionRefusal("the connection cannot be used: \(error)")
        }
        sessions[address]?.close("replaced by a new connection")
        makeRoom()
        logger.info("\(address): connected")
        var ours = configuration(of: address)
        ours.profile = profile
        let adapter = adapter(of: address)
        ours.codecMemory = codecMemories.memory(of: address, on: adapter)
        ours.lastDialed = lastDialed
        ours.quirks = quirks.quirks(of: address)
        let session = HeadsetSession(
            address: address, adapter: adapter, channel: channel, configuration: ours, calls: calls.snapshot,
            startedAt: calls.startTimes, admission: admission, graph: graph, logger: logger)
        sessions[address] = session
        session.music = music
        session.onEvent = { [weak self, weak session] event in
            guard let self, let session else { return }
            take(event, session)
        }
        session.start()
        changes.send(.session(address))
        levels.begun(session)
        if isVirtualCallAsked { session.setVirtualCall(true) }
    }

    private func configuration(of address: BluetoothAddress) -> AudioGatewayConfiguration {
        var ours = configuration
        levels.prepare(&ours, for: address)
        return ours
    }

    package func disconnect(_ address: BluetoothAddress) async throws(APIError) {
        guard sessions[address] != nil else { throw APIError(.unavailable, "\(address) is not connected") }
        changes.send(.dismissed(address))
        do throws(DeviceCallError) {
            try await registry.disconnect(address)
        } catch {
            throw APIError(.unavailable, "\(error)")
        }
    }

    /// bluetoothd asks for it, or reports that the radio link is gone.
    package func closeSession(_ address: BluetoothAddress, _ reason: String) { sessions[address]?.close(reason) }

    /// A user of this machine disconnects the headset: who pages it and who repairs it know that before the connection ends.
    package func dismiss(_ address: BluetoothAddress) {
        changes.send(.dismissed(address))
        closeSession(address, "a user of this machine disconnected it")
    }

    package func closeAll() {
        for address in sessions.keys.sorted() { sessions[address]?.close("btcalld stops") }
    }

    // MARK: What the headsets are told

    private func callsChanged(_ snapshot: CallSnapshot) {
        for call in snapshot.calls where call.direction == .outgoing && call.id >= lastOutgoing ?? call.id {
            guard let number = call.details.number else { continue }
            lastDialed = number
            lastOutgoing = call.id
        }
        for address in sessions.keys.sorted() { sessions[address]?.callsChanged(snapshot, lastDialed: lastDialed) }
    }

    package func setSpeakerVolume(_ volume: UInt8, of address: BluetoothAddress) {
        sessions[address]?.setSpeakerVolume(Int(volume))
    }

    package func setMicrophoneVolume(_ volume: UInt8, of address: BluetoothAddress) {
        sessions[address]?.setMicrophoneVolume(Int(volume))
    }

    /// The loudest that a headset's speaker may be, 0…15.
    package func speakerCeiling(of address: BluetoothAddress) -> Int {
        sessions[address]?.speakerCeiling ?? configuration(of: address).speakerCeiling
    }

    // MARK: What is known of them

    /// How many are connected, for calls or for music.
    package var connectedCount: Int {
        let others = registry.devices.map(\.address).filter { sessions[$0]?.isEstablished != true }
        return sessions.values.count { $0.isEstablished } + others.count { media($0) != nil }
    }

    package func description(of address: BluetoothAddress) -> HeadsetDescription? {
        let media = media(address)
        guard let session = sessions[address], session.isEstablished else {
            return media.map { HeadsetDescription(address: address, name: name(of: address), media: $0) }
        }
        return HeadsetDescription(
            address: address, name: name(of: address), codec: graph.codec(ofLink: address)?.description,
            codecs: session.codecs.map(\.description), codecReason: session.codecLimit?.text("\(address)"),
            battery: battery(of: session), speakerVolume: UInt8(clamping: session.volumes.speaker ?? 0),
            microphoneVolume: UInt8(clamping: session.volumes.microphone ?? 0),
            audioPolicy: audioPolicy(of: session), media: media)
    }

    /// As the headset says it; of one that does not, as bluetoothd has it from elsewhere (docs/inside/Interop.md A15).
    private func battery(of session: HeadsetSession) -> Int? {
        session.charge.report?.percent ?? registry.device(session.address)?.battery
    }

    /// Whether only bluetoothd can know the battery of a connected headset.
    package func isSilentAboutBattery(_ address: BluetoothAddress) -> Bool {
        guard let session = sessions[address] else { return false }
        return session.isEstablished && session.charge.report == nil
    }

    /// Frames per second that a link to the headset can have, best first; empty while it is not connected.
    package func rates(of address: BluetoothAddress) -> [Int] {
        guard let session = sessions[address], session.isEstablished else { return [] }
        var rates: [Int] = []
        for codec in session.codecs where !rates.contains(codec.sampleRate) { rates.append(codec.sampleRate) }
        return rates
    }

    /// Whether a headset's hands-free or headset profile is up.
    package func presence(of address: BluetoothAddress) -> ProfileRepair.Presence {
        guard let session = sessions[address] else { return .down }
        return session.isEstablished ? .up : .comingUp
    }

    package func name(of address: BluetoothAddress) -> String {
        registry.device(address)?.name ?? address.description
    }

    package func category(of address: BluetoothAddress) -> ClassOfDevice.Category? {
        registry.device(address)?.classOfDevice.category
    }

    /// Headsets that are paired but not connected are shown to the policy too, so that `btcall devices` has them.
    package func describe(_ device: DeviceRegistry.Device) {
        guard device.paired else { return forget(device.address) }
        leaveHeadsetProfile(device)
        guard isServed(device) else { return }
        let isNew = described[device.address] == nil
        described[device.address] = .some(device.adapterPath)
        guard isNew else { return }
        routing.send(
            .headsetDescribed(device.address, category: device.classOfDevice.category, inbandRing: false))
        known.send(device.address)
    }

    /// bluetoothd does not know the headset any more, or not as a paired one: it leaves the policy's facts when its connection
    /// is over. That its adapter was pulled is no such case, because it comes back with that.
    package func forget(_ address: BluetoothAddress) {
        guard described[address] != nil else { return }
        ControlLoop.shared.schedule(after: Self.adapterDelay) { [weak self] in self?.forgetIfUnpaired(address) }
    }

    /// Headsets that were unpaired while bluetoothd or the adapter was away.
    package func forgetUnpaired() {
        for address in described.keys.sorted() { forgetIfUnpaired(address) }
        forgetCodecsOfUnpaired()
    }

    /// bluetoothd takes the devices away first, and then their adapter.
    private static let adapterDelay = Duration.milliseconds(100)

    package func forgetIfUnpaired(_ address: BluetoothAddress) {
        guard let path = described[address], sessions[address] == nil, registry.isServicePresent, !isServed(address)
        else { return }
        if let path, registry.adapter(path: path) == nil { return }
        described[address] = nil
        if registry.device(address)?.paired != true {
            logger.about(headset: address).notice("\(address) is not paired any more")
            codecMemories.forget(address)
            levels.forget(address)
            changes.send(.unpaired(address))
        }
        routing.send(.headsetForgotten(address))
        known.send(address)
    }

    // MARK: LinkOpening

    package func openLink(_ address: BluetoothAddress, codecHint: VoiceCodec?, attempt: Int, timeout: Duration) {
        guard let session = sessions[address], session.isEstablished else {
            later(.linkFailed(address, .failed))
            return
        }
        session.openLink(codecHint: codecHint, attempt: attempt, timeout: timeout)
    }

    package func closeLink(_ address: BluetoothAddress) {
        guard let session = sessions[address] else {
            later(.linkClosed(address, .requested))
            return
        }
        session.closeLink()
    }

    private func later(_ event: RoutingEvent) {
        ControlLoop.shared.perform { [weak self] in self?.routing.send(event) }
    }

    // MARK: What the graph reports

    package func firstPacketCame(_ address: BluetoothAddress) { sessions[address]?.firstPacketCame() }
    package func linkSilent(_ address: BluetoothAddress) { sessions[address]?.linkSilent() }
    package func linkResumed(_ address: BluetoothAddress) { sessions[address]?.linkResumed() }
    package func linkClosed(_ address: BluetoothAddress) { linkEnded(address, .requested) }

    /// - Parameter code: `errno` of the socket; 0 is an orderly end.
    package func linkLost(_ address: BluetoothAddress, code: Int32) {
        linkEnded(address, code == 0 || code == ECONNRESET ? .byHeadset : .lost)
    }

    private func linkEnded(_ address: BluetoothAddress, _ end: VoiceLink.End) {
        admission.linkClosed(address)
        // The end of an earlier link says nothing about the one that the engine has now.
        if !graph.hasLink(address) { sessions[address]?.linkEnded(end) }
    }

    private func incoming(_ link: any IncomingAudioLink) {
        guard let session = sessions[link.peer], session.isEstablished else {
            logger.notice("\(link.peer) opens audio without a service level connection: refused")
            link.reject()
            return
        }
        guard !graph.hasStream(link.peer) else {
            logger.notice(
                "\(link.peer) opens audio while the call is heard over its A2DP: refused (`btcall why` says why it is)")
            link.reject()
            return
        }
        session.headsetOpensLink(link)
    }

    // MARK: What the sessions report

    private func take(_ event: HeadsetSession.Event, _ session: HeadsetSession) {
        let address = session.address
        guard sessions[address] === session else { return }
        switch event {
        case .established:
            changes.send(.session(address))
            describeConnected(address)
            levels.changed(session)
            changes.send(.appeared(address))
            takeWishes(of: session)
            routing.send(.headsetProfile(address, .hfp, isUp: true))
        case .ended(let reason):
            logger.about(headset: address).info("\(address): connection over (\(reason))")
            sessions[address] = nil
            changes.send(.session(address))
            levels.ended(address)
            graph.setSpeakerGain(nil, ofLink: address)
            graph.setOwnVoiceProcessing(false, ofLink: address)
            if session.isEstablished {
                routing.send(.headsetProfile(address, .hfp, isUp: false))
                if session.audioPolicy != nil { routing.send(.headsetWish(address, takesCalls: true)) }
                changes.send(.vanished(address))
            }
            // It may be written to a file: the call moves first.
            learnCodecs(of: session)
            forget(address)
        case .changed:
            learnCodecs(of: session)
            levels.changed(session)
            changes.send(.changed(address))
        case .wishesChanged: takeWishes(of: session)
        case .microphoneVolume(let old, let new): changes.send(.microphoneTurned(address, old: old, new: new))
        case .buttonPressed(let button): changes.send(.buttonPressed(address, button))
        case .buttonHeld: changes.send(.buttonHeld(address))
        case .link(let report): routing.send(Self.event(report, address))
        case .linkStuck: free(address)
        case .request(let request, let id):
            calls.request(request, via: .headset(address)) { [weak session] outcome in session?.completed(id, outcome) }
        }
    }

    /// What the policy is told of a link.
    private static func event(_ report: VoiceLink.Report, _ address: BluetoothAddress) -> RoutingEvent {
        switch report {
        case .opened: .linkOpened(address)
        case .openedByHeadset: .linkOpenedByHeadset(address, mode: .hfp)
        case .failed(.refused), .failed(.busy): .linkFailed(address, .refused)
        case .failed(.timedOut), .failed(.unanswered): .linkFailed(address, .timedOut)
        case .failed(.unsupportedCodec): .linkFailed(address, .unsupportedCodec)
        case .failed(.failed), .failed(.cancelled): .linkFailed(address, .failed)
        case .closed(.requested): .linkClosed(address, .requested)
        case .closed(.byHeadset): .linkClosed(address, .remote)
        case .closed(.lost): .linkClosed(address, .linkLoss)
        }
    }

    private func describeConnected(_ address: BluetoothAddress) {
        guard described[address] == nil else { return }
        described[address] = .some(registry.device(address)?.adapterPath)
        let category = registry.device(address)?.classOfDevice.category ?? .headset
        routing.send(.headsetDescribed(address, category: category, inbandRing: false))
    }
}
