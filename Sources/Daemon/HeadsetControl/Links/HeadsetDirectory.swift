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
package import Talk
import Telephony

/// The headsets: their sessions, their links, and what BlueZ knows of them.
@ControlPlane
package final class HeadsetDirectory: LinkOpening {
    package enum Change {
        case appeared(BluetoothAddress)
        case vanished(BluetoothAddress)
        case changed(BluetoothAddress)
        case buttonPressed(BluetoothAddress, AudioGateway.Button)
        /// The call key was held, which headsets report as voice recognition.
        case buttonHeld(BluetoothAddress)
        /// The wearer has changed the microphone volume; `old` is nil if it was unknown.
        case microphoneTurned(BluetoothAddress, old: Int?, new: Int)
        /// The wearer has muted or unmuted the microphone at the headset.
        case microphoneMuted(BluetoothAddress, Bool)
        /// The headset's talk key.
        case talkKey(BluetoothAddress, TalkSignal)
        /// A message of the headset that btcalld does not interpret.
        case vendor(BluetoothAddress, AudioGateway.VendorReport)
        /// A connection has begun, finished its set-up, or ended.
        case session(BluetoothAddress)
        /// A user or program disconnects the headset.
        case dismissed(BluetoothAddress)
        /// btcalld disconnects it to free the controller: a loss, not a user's request.
        case freed(BluetoothAddress)
        /// The headset is no longer paired.
        case unpaired(BluetoothAddress)
    }

    package let changes = Signal<Change>()
    /// bluetoothd is about to close a headset's voice profile for somebody on this machine, perhaps this daemon.
    package let releases = Signal<BluetoothAddress>()
    /// Headsets that this daemon is disconnecting.
    package internal(set) var disconnecting: Set<BluetoothAddress> = []
    /// A headset has become known, or was forgotten.
    package let known = Signal<BluetoothAddress>()
    /// Events for the policy.
    package let routing = Signal<RoutingEvent>()
    /// Finds special treatment for a headset that connects.
    private let quirks: HeadsetQuirks
    /// The A2DP state of a headset; nil while A2DP is down.
    package let media: @ControlPlane (BluetoothAddress) -> HeadsetDescription.Media?
    /// Whether headsets that have only A2DP are served.
    package var servesA2DP = false
    /// Remembers volumes, and passes batteries on to bluetoothd.
    private let volumesAndBattery: HeadsetVolumesAndBattery

    package let registry: DeviceRegistry
    private let calls: CallDirectory
    private let graph: AudioGraph
    private let admission: LinkAdmission
    /// Configuration of later connections; present ones adopt the parts that can change.
    package var configuration: AudioGatewayConfiguration {
        didSet {
            if oldValue.codecs != configuration.codecs { codecMemories.codecsChanged(configuration.codecs) }
            for address in sessions.keys.sorted() { sessions[address]?.reconfigure(configuration(of: address)) }
        }
    }
    package let logger: Logger
    package var sessions: [BluetoothAddress: HeadsetSession] = [:]
    /// Whether headsets that have only the Headset Profile are served.
    package var servesHeadsetProfile = false
    /// Whether an application without call state plays speech to the headsets.
    package var isVirtualCallAsked = false
    /// The headsets known to the policy, each with its adapter's object path if bluetoothd has named it.
    package var described: [BluetoothAddress: String?] = [:]
    /// Pauses music before a link is opened.
    private let music: any MakingRoom
    /// Rows about their talk keys, and the state of each key.
    package let talk: HeadsetTalk
    /// What was learnt about the codecs of headsets.
    package let codecMemories: CodecMemories
    /// The number dialled last, here or by an application, since the start: every headset's AT+BLDN dials it.
    package private(set) var lastDialed: String?
    /// The outgoing call of that number. When it ends, an older call that remains does not count as dialled later.
    private var lastOutgoing: CallID?

    package init(
        registry: DeviceRegistry, calls: CallDirectory, graph: AudioGraph, admission: LinkAdmission,
        opener: any AudioLinkOpening, configuration: AudioGatewayConfiguration, codecMemories: CodecMemories,
        quirks: HeadsetQuirks, talk: HeadsetTalk, volumesAndBattery: HeadsetVolumesAndBattery, music: any MakingRoom,
        media: @escaping @ControlPlane (BluetoothAddress) -> HeadsetDescription.Media?, logger: Logger
    ) {
        self.quirks = quirks
        self.talk = talk
        self.volumesAndBattery = volumesAndBattery
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

    /// Accepts a headset's RFCOMM connection from bluetoothd; a new one replaces the old one, which is dead by then.
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
            // The headset's present connection stays.
            throw ConnectionRefusal("the connection cannot be used: \(error)")
        }
        sessions[address]?.close("replaced by a new connection")
        makeRoom()
        logger.info("\(address): connected")
        var ours = configuration(of: address)
        ours.profile = profile
        // The ringer does not play for the Headset Profile: its headsets need RING, in an open link as well.
        if profile == .headset { ours.inbandRing = false }
        let adapter = adapter(of: address)
        ours.codecMemory = codecMemories.memory(of: address, on: adapter)
        ours.lastDialed = lastDialed
        ours.quirks = quirks.quirks(of: address)
        let session = HeadsetSession(
            address: address, adapter: adapter, channel: channel, configuration: ours, calls: calls.snapshot,
            startedAt: calls.startTimes, admission: admission, graph: graph, logger: logger)
        sessions[address] = session
        session.music = music
        session.talkRow = talk.row(of: address)
        session.onEvent = { [weak self, weak session] event in
            guard let self, let session else { return }
            handle(event, of: session)
        }
        session.start()
        changes.send(.session(address))
        volumesAndBattery.begun(session)
        if isVirtualCallAsked { session.setVirtualCall(true) }
    }

    private func configuration(of address: BluetoothAddress) -> AudioGatewayConfiguration {
        var ours = configuration
        volumesAndBattery.prepare(&ours, for: address)
        return ours
    }

    package func disconnect(_ address: BluetoothAddress) async throws(APIError) {
        guard sessions[address] != nil else { throw APIError(.unavailable, "\(address) is not connected") }
        disconnecting.insert(address)
        defer { disconnecting.remove(address) }
        changes.send(.dismissed(address))
        do throws(DeviceCallError) {
            try await registry.disconnect(address)
        } catch {
            throw APIError(.unavailable, "\(error)")
        }
    }

    /// Ends the session because bluetoothd requests it, or reports that the radio link has ended.
    package func closeSession(_ address: BluetoothAddress, _ reason: String) { sessions[address]?.close(reason) }

    /// Ends the session because a user of this machine disconnects the headset. Reconnection and profile repair learn of it
    /// before the connection ends.
    package func dismiss(_ address: BluetoothAddress) {
        releases.send(address)
        changes.send(.dismissed(address))
        closeSession(address, "a user of this machine disconnected it")
    }

    package func closeAll() {
        for address in sessions.keys.sorted() { sessions[address]?.close("btcalld stops") }
    }

    // MARK: Output to headsets

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

    /// Highest speaker volume of a headset, 0…15.
    package func speakerCeiling(of address: BluetoothAddress) -> Int {
        sessions[address]?.speakerCeiling ?? configuration(of: address).speakerCeiling
    }

    // MARK: State

    /// Number of headsets that are connected, for calls or for music.
    package var connectedCount: Int {
        let others = registry.devices.map(\.address).filter { sessions[$0]?.isEstablished != true }
        return sessions.values.count { $0.isEstablished } + others.count { media($0) != nil }
    }

    package func description(of address: BluetoothAddress) -> HeadsetDescription? {
        let media = media(address)
        guard let session = sessions[address], session.isEstablished else {
            return media.map {
                HeadsetDescription(address: address, name: name(of: address), talk: talkWord(of: address), media: $0)
            }
        }
        return HeadsetDescription(
            address: address, name: name(of: address), codec: graph.codec(ofLink: address)?.description,
            codecs: session.codecs.map(\.description), codecReason: session.codecLimit?.text("\(address)"),
            battery: battery(of: session), speakerVolume: UInt8(clamping: session.volumes.speaker ?? 0),
            microphoneVolume: UInt8(clamping: session.volumes.microphone ?? 0),
            audioPolicy: audioPolicy(of: session), isMicrophoneMuted: isMicrophoneMuted(session),
            powerSource: session.reports.powerSource?.rawValue, isSafetyEnhanced: session.reports.isSafetyEnhanced,
            talk: talkWord(of: address), talkDelay: talkDelay(of: address), media: media)
    }

    /// Charge from the headset's own reports; without them, bluetoothd's value (docs/inside/Interop.md A15).
    private func battery(of session: HeadsetSession) -> Int? {
        session.charge.report?.percent ?? registry.device(session.address)?.battery
    }

    /// Whether the wearer has muted the microphone, by a switch that the headset reports or by its volume.
    package func isMicrophoneMuted(_ session: HeadsetSession) -> Bool {
        session.reports.isMicrophoneMuted == true
            || volumesAndBattery.mutesByVolume && session.volumes.microphone == 0
    }

    /// Whether only bluetoothd can know the battery of a connected headset.
    package func isSilentAboutBattery(_ address: BluetoothAddress) -> Bool {
        guard let session = sessions[address] else { return false }
        return session.isEstablished && session.charge.report == nil
    }

    /// Sample rates in Hz that a link to the headset can have, best first; empty while it is not connected.
    package func rates(of address: BluetoothAddress) -> [Int] {
        guard let session = sessions[address], session.isEstablished else { return [] }
        var rates: [Int] = []
        for codec in session.codecs where !rates.contains(codec.sampleRate) { rates.append(codec.sampleRate) }
        return rates
    }

    /// State of a headset's Hands-Free or Headset Profile.
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

    /// Makes the device known to the policy if it is paired, even while it is not connected, so that `btcall devices` lists
    /// it.
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

    /// Handles a headset that bluetoothd no longer knows, or no longer as paired: the policy forgets it when its connection
    /// has ended. A pulled adapter does not count, because its headsets come back with it.
    package func forget(_ address: BluetoothAddress) {
        guard described[address] != nil else { return }
        ControlLoop.shared.schedule(after: Self.adapterDelay) { [weak self] in self?.forgetIfUnpaired(address) }
    }

    /// Forgets headsets that were unpaired while bluetoothd or the adapter was away.
    package func forgetUnpaired() {
        for address in described.keys.sorted() { forgetIfUnpaired(address) }
        forgetCodecsOfUnpaired()
    }

    /// bluetoothd removes the devices before their adapter.
    private static let adapterDelay = Duration.milliseconds(100)

    package func forgetIfUnpaired(_ address: BluetoothAddress) {
        guard let path = described[address], sessions[address] == nil, registry.isServicePresent, !isServed(address)
        else { return }
        if let path, registry.adapter(path: path) == nil { return }
        described[address] = nil
        if registry.device(address)?.paired != true {
            logger.about(headset: address).notice("\(address) is not paired any more")
            codecMemories.forget(address)
            volumesAndBattery.forget(address)
            changes.send(.unpaired(address))
        }
        routing.send(.headsetForgotten(address))
        known.send(address)
    }

    // MARK: LinkOpening

    package func openLink(_ address: BluetoothAddress, codecHint: VoiceCodec?, attempt: Int, timeout: Duration) {
        guard let session = sessions[address], session.isEstablished else {
            logger.about(headset: address).notice("\(address): no audio link: it has no connection for calls")
            return later(.linkFailed(address, .failed))
        }
        session.openLink(codecHint: codecHint, attempt: attempt, timeout: timeout)
    }

    package func closeLink(_ address: BluetoothAddress) {
        guard let session = sessions[address] else { return later(.linkClosed(address, .requested)) }
        session.closeLink()
    }

    private func later(_ event: RoutingEvent) {
        ControlLoop.shared.perform { [weak self] in self?.routing.send(event) }
    }

    // MARK: Events of the graph

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
        // The end of an earlier link says nothing about the link that the engine has now.
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
                "\(link.peer) opens audio while the call is heard over its A2DP: refused (`btcall why` explains it)")
            link.reject()
            return
        }
        session.headsetOpensLink(link)
    }

    // MARK: Events of the sessions

    private func handle(_ event: HeadsetSession.Event, of session: HeadsetSession) {
        let address = session.address
        guard sessions[address] === session else { return }
        switch event {
        case .established:
            changes.send(.session(address))
            describeConnected(session)
            volumesAndBattery.changed(session)
            changes.send(.appeared(address))
            applyAudioPolicy(of: session)
            routing.send(.headsetProfile(address, .hfp, isUp: true))
        case .ended(let reason):
            logger.about(headset: address).info("\(address): connection ended (\(reason))")
            sessions[address] = nil
            changes.send(.session(address))
            volumesAndBattery.ended(address)
            graph.setSpeakerGain(nil, ofLink: address)
            graph.setOwnVoiceProcessing(false, ofLink: address)
            if session.isEstablished {
                routing.send(.headsetProfile(address, .hfp, isUp: false))
                if session.audioPolicy != nil { routing.send(.headsetPreference(address, takesCalls: true)) }
                changes.send(.vanished(address))
            }
            // Learning may write a file: move the call first.
            learnCodecs(of: session)
            forget(address)
        case .changed:
            learnCodecs(of: session)
            volumesAndBattery.changed(session)
            changes.send(.changed(address))
        case .audioPolicyChanged: applyAudioPolicy(of: session)
        case .microphoneVolume(let old, let new): changes.send(.microphoneTurned(address, old: old, new: new))
        case .microphoneMuted(let isMuted): changes.send(.microphoneMuted(address, isMuted))
        case .vendor(let report): changes.send(.vendor(address, report))
        case .talkKey(let signal): changes.send(.talkKey(address, signal))
        case .heard(let observation): talk.heard.send((address, observation))
        case .buttonPressed(let button): changes.send(.buttonPressed(address, button))
        case .buttonHeld: changes.send(.buttonHeld(address))
        case .link(let report): routing.send(Self.event(report, address))
        case .linkStuck: free(address)
        case .request(let request, let id):
            calls.request(request, via: .headset(address)) { [weak session] outcome in session?.completed(id, outcome) }
        }
    }

    /// Translates the report of a link for the policy.
    private static func event(_ report: VoiceLink.Report, _ address: BluetoothAddress) -> RoutingEvent {
        switch report {
        case .opened: .linkOpened(address)
        case .openedByHeadset: .linkOpenedByHeadset(address, mode: .hfp)
        case .failed(.refused): .linkFailed(address, .refused)
        case .failed(.busy): .linkFailed(address, .busy)
        case .failed(.timedOut), .failed(.unanswered): .linkFailed(address, .timedOut)
        case .failed(.unsupportedCodec): .linkFailed(address, .unsupportedCodec)
        case .failed(.failed), .failed(.cancelled): .linkFailed(address, .failed)
        case .closed(.requested): .linkClosed(address, .requested)
        case .closed(.byHeadset): .linkClosed(address, .remote)
        case .closed(.lost): .linkClosed(address, .linkLoss)
        }
    }

    private func describeConnected(_ session: HeadsetSession) {
        let address = session.address
        if described[address] == nil { described[address] = .some(registry.device(address)?.adapterPath) }
        describeRinging(of: session)
    }
}
