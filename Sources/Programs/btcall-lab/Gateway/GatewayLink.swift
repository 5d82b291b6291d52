import BluetoothSockets
import BluetoothTypes
import ControlLoop
import HandsFree
import Telephony

/// One headset of `btcall-lab gateway`: a stream socket and the daemon's Audio Gateway machine, nothing else.
///
/// The machine's actions are performed in order before the next input. Actions that the driver is only notified of have
/// already happened then: an accepted audio link is open, a disconnected one is closed, a tone is sent.
@ControlPlane
final class GatewayLink {
    /// Services of the bench for a link.
    struct Environment {
        let report: @ControlPlane (GatewayReport) -> Void
        /// Returns the next id of a request.
        let nextID: @ControlPlane () -> Int
        let dialed: @ControlPlane (String) -> Void
        /// The link has ended; nothing follows.
        let ended: @ControlPlane () -> Void
    }

    enum End { case peer, radio, ourselves }

    /// A request that the driver has not answered.
    private enum Request {
        case command(GatewayRequestID, CallRequest)
        case audio(VoiceCodec)
        /// An audio connection that was given up meanwhile.
        case abandonedAudio

        var isAudio: Bool {
            switch self {
            case .audio: true
            case .command, .abandonedAudio: false
            }
        }
    }

    /// A consequence of an action, handled as an input of its own.
    private enum FollowUp {
        case toneSent(GatewayRequestID)
        case audioOpened(VoiceCodec)
        case audioClosed
        case audioGivenUp
    }

    let number: Int
    private var gateway: AudioGateway
    private let channel: RFCOMMChannel
    private let environment: Environment
    private var requests: [Int: Request] = [:]
    private var followUps: [FollowUp] = []
    private var timer: Timer?
    private var isEstablished = false
    private var isOver = false
    private var isAudioUp = false
    /// We disconnected, and the driver may still report the close; until the next link is up.
    private var isCloseOwed = false

    /// - Parameter descriptor: the headset's stream; ownership passes.
    init(
        number: Int, descriptor: Int32, gateway: AudioGateway, environment: Environment
    ) throws(SystemError) {
        self.number = number
        self.gateway = gateway
        self.environment = environment
        channel = try RFCOMMChannel(descriptor: descriptor)
        channel.onBytes = { [weak self] bytes in
            self?.input { gateway, now in gateway.bytesReceived(bytes, at: now) }
        }
        channel.onClosed = { [weak self] reason in
            self?.end(reason == .linkLost ? .radio : .peer)
        }
    }

    func start() {
        input { gateway, now in gateway.start(at: now) }
    }

    /// Codecs learnt about the headset.
    var codecMemory: CodecMemory { gateway.codecMemory }

    // MARK: From the driver

    func callsChanged(_ snapshot: CallSnapshot, isSwapped: Bool) {
        input { gateway, now in gateway.callsChanged(snapshot, isSwapped: isSwapped, at: now) }
    }

    func setLastDialed(_ number: String) {
        gateway.setLastDialed(number)
    }

    /// - Returns: whether the request belongs to this link.
    func replied(_ id: Int, _ outcome: AudioGateway.RequestOutcome) -> Bool {
        guard let request = requests.removeValue(forKey: id) else { return false }
        switch (request, outcome) {
        case (.command(let own, let request), _):
            if outcome == .done, case .dial(let number, _) = request { environment.dialed(number) }
            input { gateway, now in gateway.requestCompleted(own, outcome, at: now) }
        case (.audio(let codec), .done):
            audioUp()
            input { gateway, now in gateway.audioOpened(codec, at: now) }
        case (.audio, .failed): input { gateway, now in gateway.audioFailed(.refused, at: now) }
        case (.abandonedAudio, .done): environment.report(.effect(link: number, .audioDisconnected))
        case (.abandonedAudio, .failed): break
        }
        return true
    }

    func happened(_ event: GatewayMessage.Event) {
        switch event {
        case .audioWanted(let isWanted):
            input { gateway, now in gateway.audioRequested(isWanted ? .connect() : .disconnect, at: now) }
        case .indicators(let values):
            for indicator in Indicator.allCases {
                guard let value = values[indicator] else { continue }
                input { gateway, now in gateway.setIndicator(indicator, value, at: now) }
            }
        case .audioIncoming: input { gateway, _ in gateway.audioIncoming() }
        case .audioClosed: audioClosed()
        case .linkLost: end(.radio)
        case .volume(.speaker, let value): input { gateway, _ in gateway.setSpeakerVolume(value) }
        case .volume(.microphone, let value): input { gateway, _ in gateway.setMicrophoneVolume(value) }
        case .voiceRecognition(let isOn): input { gateway, _ in gateway.setVoiceRecognition(isOn) }
        case .inbandRing(let isOn): input { gateway, _ in gateway.setInbandRing(isOn) }
        case .hfIndicator(let id, let isOn):
            guard let indicator = HFIndicator(rawValue: id) else { return }
            input { gateway, _ in gateway.setHFIndicator(indicator, isEnabled: isOn) }
        }
    }

    private func audioClosed() {
        let pending = requests.first { $0.value.isAudio }
        guard pending == nil || !isCloseOwed else {
            // This is the end of the previous link.
            isCloseOwed = false
            return
        }
        isAudioUp = false
        isCloseOwed = false
        if let pending { requests[pending.key] = .abandonedAudio }
        input { gateway, now in gateway.audioClosed(at: now) }
    }

    private func audioUp() {
        isAudioUp = true
        isCloseOwed = false
    }

    // MARK: From the machine

    private func input(_ body: (inout AudioGateway, Instant) -> [AudioGateway.Action]) {
        guard !isOver else { return }
        perform(body(&gateway, ControlLoop.now))
        while !isOver, !followUps.isEmpty {
            let next = followUps.removeFirst()
            let now = ControlLoop.now
            switch next {
            case .toneSent(let id): perform(gateway.requestCompleted(id, .done, at: now))
            case .audioOpened(let codec): perform(gateway.audioOpened(codec, at: now))
            case .audioClosed: perform(gateway.audioClosed(at: now))
            case .audioGivenUp: perform(gateway.audioFailed(.cancelled, at: now))
            }
        }
    }

    private func perform(_ actions: [AudioGateway.Action]) {
        for action in actions where !isOver { perform(action) }
    }

    private func perform(_ action: AudioGateway.Action) {
        switch action {
        case .send(let code): channel.write(code.bytes)
        case .request(let request, let id): ask(request, id)
        case .connectAudio(let codec): request(.connectAudio(codec), .audio(codec))
        case .disconnectAudio: disconnectAudio()
        case .acceptAudio(let codec):
            audioUp()
            tell(.audioAccepted(codec))
            followUps.append(.audioOpened(codec))
        case .rejectAudio:
            // The driver has no message for it.
            break
        case .setDeadline(let deadline): setDeadline(deadline)
        case .event(.established):
            isEstablished = true
            environment.report(.serviceLevelConnection(link: number, isUp: true))
        case .event(let event):
            if let effect = GatewayReport.Effect(event) { tell(effect) }
        case .closeConnection, .fault: end(.ourselves)
        }
    }

    private func ask(_ request: CallRequest, _ id: GatewayRequestID) {
        if case .sendDTMF(let tones, _) = request {
            tell(.tone(tones))
            followUps.append(.toneSent(id))
        } else if let kind = GatewayReport.Request(request) {
            self.request(kind, .command(id, request))
        }
    }

    private func request(_ kind: GatewayReport.Request, _ request: Request) {
        let id = environment.nextID()
        requests[id] = request
        environment.report(.request(id, link: number, kind))
    }

    private func disconnectAudio() {
        tell(.audioDisconnected)
        if let pending = requests.first(where: { $0.value.isAudio }) {
            requests[pending.key] = .abandonedAudio
            followUps.append(.audioGivenUp)
        } else {
            isAudioUp = false
            isCloseOwed = true
            followUps.append(.audioClosed)
        }
    }

    private func tell(_ effect: GatewayReport.Effect) {
        environment.report(.effect(link: number, effect))
    }

    private func setDeadline(_ deadline: Instant?) {
        timer?.cancel()
        timer = deadline.map { deadline in
            ControlLoop.shared.schedule(at: deadline) { [weak self] in
                self?.input { gateway, now in gateway.deadlineReached(at: now) }
            }
        }
    }

    // MARK: The end

    /// The headset has gone, or we disconnect it. Calls are not affected; audio that outlives the connection is
    /// disconnected.
    func end(_ cause: End) {
        guard !isOver else { return }
        isOver = true
        timer?.cancel()
        channel.close()
        // The machine has nothing left to do for a lost connection.
        _ = gateway.connectionLost()
        let isAudioPending = requests.contains { $0.value.isAudio }
        if cause != .radio, isAudioUp || isAudioPending { tell(.audioDisconnected) }
        if isEstablished { environment.report(.serviceLevelConnection(link: number, isUp: false)) }
        environment.ended()
    }
}
