package import BluetoothSockets
package import BluetoothTypes
package import ControlLoop
package import HandsFree
package import Logging
package import Telephony

/// One headset's RFCOMM life: feeds its bytes to the Audio Gateway machine and carries out what that decides.
@ControlPlane
package final class HeadsetSession {
    /// What the directory has to know.
    package enum Event {
        case established
        /// The connection is over; nothing follows.
        case ended(reason: String)
        case changed
        case buttonPressed(String)
        /// The link that the policy asked for is open.
        case linkOpened
        /// The headset opened its link, or asked for it.
        case linkOpenedByHeadset
        case linkFailed(AudioFailure)
        case request(CallRequest, GatewayRequestID)
    }

    package let address: BluetoothAddress
    package private(set) var isEstablished = false
    package private(set) var battery: Int?
    package private(set) var speakerVolume = 0
    package private(set) var microphoneVolume = 0
    /// What both sides can do, best first.
    package private(set) var codecs: [VoiceCodec] = [.cvsd]
    package var onEvent: (@ControlPlane (Event) -> Void)?

    private var gateway: AudioGateway
    private let channel: RFCOMMChannel
    private let admission: LinkAdmission
    private let graph: AudioGraph
    private let ours: [VoiceCodec]
    private let logger: Logger
    private var timer: Timer?
    private var incoming: (any IncomingAudioLink)?
    /// The policy waits for `.linkOpened` or `.linkFailed`.
    private var isAsked = false
    private var timeout = Duration.seconds(5)
    private var isOver = false
    private var isFailureTold = false

    package init(
        address: BluetoothAddress, channel: RFCOMMChannel, configuration: AudioGatewayConfiguration,
        calls: CallSnapshot, admission: LinkAdmission, graph: AudioGraph, logger: Logger
    ) {
        self.address = address
        self.channel = channel
        self.admission = admission
        self.graph = graph
        self.logger = logger
        ours = configuration.codecs
        gateway = AudioGateway(configuration: configuration, calls: calls)
        channel.onBytes = { [weak self] bytes in self?.received(bytes) }
        channel.onClosed = { [weak self] reason in self?.end("\(reason)") }
        run(gateway.start(at: ControlLoop.now))
    }

    // MARK: What the daemon tells the headset

    package func callsChanged(_ snapshot: CallSnapshot) { run(gateway.callsChanged(snapshot, at: ControlLoop.now)) }

    package func completed(_ id: GatewayRequestID, _ outcome: CallRequestOutcome) {
        run(gateway.requestCompleted(id, .init(outcome), at: ControlLoop.now))
    }

    package func setSpeakerVolume(_ volume: Int) {
        speakerVolume = volume
        run(gateway.setSpeakerVolume(volume))
        onEvent?(.changed)
    }

    package func setMicrophoneVolume(_ volume: Int) {
        microphoneVolume = volume
        run(gateway.setMicrophoneVolume(volume))
        onEvent?(.changed)
    }

    // MARK: The audio link

    package func openLink(codecHint: VoiceCodec?, timeout: Duration) {
        isAsked = true
        self.timeout = timeout
        run(gateway.audioRequested(.connect(hint: codecHint), at: ControlLoop.now))
    }

    /// - Returns: false when there is neither a link nor a set-up whose end could be reported.
    package func closeLink() -> Bool {
        isAsked = false
        let isUnderWay = graph.hasLink(address) || admission.isSettingUp(address)
        run(gateway.audioRequested(.disconnect, at: ControlLoop.now))
        return isUnderWay
    }

    /// The graph has closed the link, or lost it.
    package func linkClosed() { run(gateway.audioClosed(at: ControlLoop.now)) }

    package func headsetOpensLink(_ link: any IncomingAudioLink) {
        incoming = link
        run(gateway.audioIncoming())
    }

    // MARK: Life

    /// Closes the connection from our side.
    package func close(_ reason: String) { end(reason) }

    private func end(_ reason: String) {
        guard !isOver else { return }
        isOver = true
        timer?.cancel()
        admission.cancel(address)
        incoming?.reject()
        channel.close()
        onEvent?(.ended(reason: reason))
    }

    private func received(_ bytes: [UInt8]) {
        logger.trace("\(address) > \(Self.printable(bytes))")
        run(gateway.bytesReceived(bytes, at: ControlLoop.now))
    }

    private func run(_ actions: [AudioGateway.Action]) {
        for action in actions where !isOver { perform(action) }
    }

    private func perform(_ action: AudioGateway.Action) {
        switch action {
        case .send(let code):
            logger.trace("\(address) < \(Self.printable(code.bytes))")
            channel.write(code.bytes)
        case .request(let request, let id): onEvent?(.request(request, id))
        case .connectAudio(let codec): connect(codec)
        case .disconnectAudio:
            admission.cancel(address)
            graph.closeLink(address)
        case .acceptAudio(let codec): accept(codec)
        case .rejectAudio:
            incoming?.reject()
            incoming = nil
        case .setDeadline(let deadline): setDeadline(deadline)
        case .event(let event): heard(event)
        case .closeConnection(let reason):
            logger.warning("\(address): disconnected, \(reason.rawValue)")
            end(reason.rawValue)
        case .fault(let reason):
            logger.error("\(address): fault of our own, this headset is disconnected: \(reason)")
            end("fault")
        }
    }

    private func connect(_ codec: VoiceCodec) {
        Task { @ControlPlane in
            finish(await admission.open(address, codec: codec, timeout: timeout), codec)
        }
    }

    private func accept(_ codec: VoiceCodec) {
        guard let link = incoming else { return }
        incoming = nil
        Task { @ControlPlane in
            finish(await admission.accept(link, codec: codec, timeout: timeout), codec)
        }
    }

    private func finish(_ failure: AudioFailure?, _ codec: VoiceCodec) {
        guard !isOver else {
            graph.closeLink(address)
            return
        }
        if let failure {
            isFailureTold = false
            run(gateway.audioFailed(failure, at: ControlLoop.now))
            // A set-up that was given up as asked is no failure to the gateway; the policy waits for its end.
            if failure == .cancelled, !isFailureTold { onEvent?(.linkFailed(.cancelled)) }
        } else {
            logger.info("\(address): audio link open, \(codec)")
            run(gateway.audioOpened(codec))
            onEvent?(isAsked ? .linkOpened : .linkOpenedByHeadset)
            isAsked = false
        }
        onEvent?(.changed)
    }

    private func heard(_ event: AudioGateway.Event) {
        switch event {
        case .established(let negotiated):
            isEstablished = true
            codecs = common(negotiated.codecs)
            logger.info("\(address): service level connection up, codecs \(codecs)")
            onEvent?(.established)
        case .volume(.speaker, let value): speakerVolume = value
        case .volume(.microphone, let value): microphoneVolume = value
        case .battery(let percent, _): battery = percent
        case .codecs(let offered): codecs = common(offered)
        case .button(let button):
            onEvent?(.buttonPressed("\(button)"))
            return
        case .codecFailed(let codec, let failure):
            logger.notice("\(address): \(codec) failed (\(failure)), a lower codec is tried")
            return
        case .audioFailed(let failure):
            isAsked = false
            isFailureTold = true
            onEvent?(.linkFailed(failure))
            return
        case .hfIndicator, .audioRequested, .noiseReduction, .voiceRecognition, .vendor: return
        }
        if isEstablished { onEvent?(.changed) }
    }

    private func common(_ theirs: [VoiceCodec]?) -> [VoiceCodec] {
        ours.filter { $0 == .cvsd || theirs?.contains($0) == true }
    }

    private func setDeadline(_ deadline: Instant?) {
        timer?.cancel()
        timer = deadline.map { deadline in
            ControlLoop.shared.schedule(at: deadline) { [weak self] in
                guard let self else { return }
                timer = nil
                run(gateway.deadlineReached(at: ControlLoop.now))
            }
        }
    }

    /// For the log: line ends and other control bytes as dots.
    private static func printable(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.map { (32..<127).contains($0) ? $0 : UInt8(ascii: ".") }, as: UTF8.self)
    }
}
