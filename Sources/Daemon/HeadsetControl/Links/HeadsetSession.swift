package import AudioPaths
package import BluetoothSockets
package import BluetoothTypes
package import ControlLoop
import Diagnostics
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
        /// The headset said something after it had been silent.
        case heard
        case buttonPressed(AudioGateway.Button)
        /// The call key was held.
        case buttonHeld
        /// It said how calls are to come to it.
        case wishesChanged
        /// The link that the policy asked for is open.
        case linkOpened
        /// The headset opened its link, or asked for it.
        case linkOpenedByHeadset
        case linkFailed(AudioFailure)
        case request(CallRequest, GatewayRequestID)
        /// The wearer has turned the microphone: what was known of it, and what it is.
        case microphoneVolume(Int?, Int)
    }

    package let address: BluetoothAddress
    package let profile: AudioGatewayConfiguration.Profile
    /// The adapter that it is connected to; nil where bluetoothd has not said it.
    package let adapter: BluetoothAddress?
    package let connectedAt = ControlLoop.now
    package private(set) var isEstablished = false
    /// Its audio fell silent and nothing has come from it since: it may be dead.
    package var isUnheard = false
    /// The last set-up of its link timed out and nothing has come from it since.
    package var hasTimedOut = false
    /// btcalld disconnects it to free the controller.
    package var isFreed = false
    package private(set) var charge = HeadsetBattery()
    package private(set) var volumes = HeadsetVolumes()
    /// What both sides can do, best first.
    package private(set) var codecs: [VoiceCodec] = [.cvsd]
    /// What it said of how calls are to come to it (AT+ANDROID); nil: nothing.
    package private(set) var audioPolicy: AudioGateway.SinkAudioPolicy?
    package var onEvent: (@ControlPlane (Event) -> Void)?

    private var gateway: AudioGateway
    private let channel: RFCOMMChannel
    private let admission: LinkAdmission
    private let graph: AudioGraph
    private var ours: [VoiceCodec]
    package let quirks: Quirks
    /// What the headset offered last.
    private var theirs: [VoiceCodec]?
    private let logger: Logger
    private var timer: Timer?
    private var incoming: (any IncomingAudioLink)?
    /// The policy waits for `.linkOpened` or `.linkFailed`.
    private var isAsked = false
    private var timeout = Duration.seconds(5)
    private var isOver = false
    private var isFailureTold = false
    /// The graph has a link of this session whose end has not been reported.
    private var isLinkUp = false
    /// `finish` tells what becomes of the set-up that is under way.
    private var isSettingUp = false
    /// The set-up was given up, perhaps before it began.
    private var isGivenUp = false
    /// The policy waits for the end of the link, or of its set-up.
    private var isCloseAwaited = false

    package init(
        address: BluetoothAddress, adapter: BluetoothAddress?, channel: RFCOMMChannel,
        configuration: AudioGatewayConfiguration, calls: CallSnapshot, startedAt: [CallID: Instant],
        admission: LinkAdmission, graph: AudioGraph, logger: Logger
    ) {
        self.address = address
        self.adapter = adapter
        profile = configuration.profile
        self.channel = channel
        self.admission = admission
        self.graph = graph
        self.logger = logger.about(headset: address)
        ours = configuration.usableCodecs
        quirks = configuration.quirks
        gateway = AudioGateway(configuration: configuration, calls: calls, startedAt: startedAt)
        channel.onBytes = { [weak self] bytes in self?.received(bytes) }
        channel.onClosed = { [weak self] reason in self?.closed(reason) }
    }

    /// Begins; set `onEvent` before. One of the Headset Profile is established with that.
    package func start() { run(gateway.start(at: ControlLoop.now)) }

    /// What was learnt of its codecs, for its next connection.
    package var codecMemory: CodecMemory { gateway.codecMemory }

    /// Why the best codec of ours is not used; nil while it is.
    package var codecLimit: CodecLimit? { gateway.codecLimit }

    /// All codecs are tried again from the next link on.
    package func forgetCodecs() {
        gateway.forgetCodecs()
        onEvent?(.changed)
    }

    /// Takes the codecs, for the next link, the name of the network, the board's battery and the loudest volume.
    package func reconfigure(_ configuration: AudioGatewayConfiguration) {
        var configuration = configuration
        configuration.quirks = quirks
        ours = configuration.usableCodecs
        gateway.reconfigure(codecs: configuration.codecs, networkOperator: configuration.networkOperator)
        gateway.setNumbers(memory: configuration.memory, subscriberNumbers: configuration.subscriberNumbers)
        run(gateway.setIndicator(.battery, configuration.indicators[.battery]))
        run(gateway.setSpeakerCeiling(configuration.speakerCeiling, at: ControlLoop.now))
        volumes.speaker = volumes.speaker.map { min($0, speakerCeiling) }
        guard isEstablished else { return }
        codecs = common()
        onEvent?(.changed)
    }

    // MARK: What the daemon tells the headset

    /// - Parameter lastDialed: what AT+BLDN dials.
    package func callsChanged(_ snapshot: CallSnapshot, lastDialed: String?) {
        gateway.setLastDialed(lastDialed)
        run(gateway.callsChanged(snapshot, at: ControlLoop.now))
    }

    package func setVirtualCall(_ isOn: Bool) { run(gateway.setVirtualCall(isOn)) }

    package func completed(_ id: GatewayRequestID, _ outcome: CallRequestOutcome) {
        run(gateway.requestCompleted(id, .init(outcome), at: ControlLoop.now))
    }

    package func setSpeakerVolume(_ volume: Int) {
        tell(HeadsetVolumes(speaker: volume))
        onEvent?(.changed)
    }

    package func setMicrophoneVolume(_ volume: Int) {
        tell(HeadsetVolumes(microphone: volume))
        onEvent?(.changed)
    }

    /// Takes the volumes of earlier connections, which the headset is told unless it says others first.
    package func restore(_ remembered: HeadsetVolumes) { tell(remembered) }

    private func tell(_ new: HeadsetVolumes) {
        if let volume = new.speaker {
            volumes.speaker = min(volume, speakerCeiling)
            run(gateway.setSpeakerVolume(volume))
            if quirks.softwareVolume {
                graph.setSpeakerGain(Quirks.softwareGain(min(volume, speakerCeiling)), ofLink: address)
            }
        }
        if let volume = new.microphone {
            volumes.microphone = volume
            run(gateway.setMicrophoneVolume(volume))
        }
    }

    /// The loudest that its speaker may be, 0…15.
    package var speakerCeiling: Int { gateway.configuration.speakerCeiling }

    // MARK: The audio link

    package func openLink(codecHint: VoiceCodec?, timeout: Duration) {
        isAsked = true
        self.timeout = timeout
        guard !isLinkUp || !graph.hasLink(address) else {
            // The headset was quicker, and the policy has forgotten it meanwhile (the adapter was off).
            isAsked = false
            onEvent?(.linkOpened)
            return
        }
        run(gateway.audioRequested(.connect(hint: codecHint), at: ControlLoop.now))
    }

    /// - Returns: false when there is neither a link nor a set-up whose end could be reported.
    package func closeLink() -> Bool {
        isAsked = false
        let isUnderWay = isLinkUp || isSettingUp
        isCloseAwaited = isUnderWay
        run(gateway.audioRequested(.disconnect, at: ControlLoop.now))
        return isUnderWay
    }

    /// The graph has closed the link, or lost it.
    ///
    /// - Returns: false when it is none that was reported as open: one that was given up while it was set up, or one of an
    ///   earlier connection.
    package func linkClosed() -> Bool {
        guard isLinkUp else { return false }
        isLinkUp = false
        isCloseAwaited = false
        run(gateway.audioClosed(at: ControlLoop.now))
        return true
    }

    package func headsetOpensLink(_ link: any IncomingAudioLink) {
        incoming = link
        run(gateway.audioIncoming())
    }

    // MARK: Life

    /// Closes the connection from our side.
    package func close(_ reason: String) { end(reason) }

    private func closed(_ reason: RFCOMMChannel.CloseReason) {
        if let advice = reason.advice { disconnecting(advice) }
        end("\(reason)")
    }

    private func disconnecting(_ advice: String) { logger.warning("\(address): disconnected: \(advice)") }

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
        logger.trace("\(address) > \(PrintableText.line(bytes: bytes))")
        run(gateway.bytesReceived(bytes, at: ControlLoop.now))
        hasTimedOut = false
        if isUnheard, !isOver {
            isUnheard = false
            onEvent?(.heard)
        }
    }

    private func run(_ actions: [AudioGateway.Action]) {
        for action in actions where !isOver { perform(action) }
    }

    private func perform(_ action: AudioGateway.Action) {
        switch action {
        case .send(let code):
            logger.trace("\(address) < \(PrintableText.line(bytes: code.bytes))")
            channel.write(code.bytes)
        case .request(let request, let id): onEvent?(.request(request, id))
        case .connectAudio(let codec): connect(codec)
        case .disconnectAudio:
            isGivenUp = isSettingUp
            admission.cancel(address)
            graph.closeLink(address)
        case .acceptAudio(let codec): accept(codec)
        case .rejectAudio:
            incoming?.reject()
            incoming = nil
        case .setDeadline(let deadline): setDeadline(deadline)
        case .event(let event): heard(event)
        case .closeConnection(let reason):
            disconnecting(reason.advice)
            end(reason.rawValue)
        case .fault(let reason):
            logger.error("\(address): fault of our own, this headset is disconnected: \(reason)")
            end("fault")
        }
    }

    private func connect(_ codec: VoiceCodec) {
        setUp(codec) { [self] in await admission.open(address, codec: codec, timeout: timeout) }
    }

    private func accept(_ codec: VoiceCodec) {
        guard let link = incoming else { return }
        incoming = nil
        setUp(codec) { [self] in await admission.accept(link, codec: codec, timeout: timeout) }
    }

    private func setUp(_ codec: VoiceCodec, _ work: @escaping @ControlPlane () async -> AudioFailure?) {
        isSettingUp = true
        isGivenUp = false
        Task { @ControlPlane in
            let failure = isGivenUp || isOver ? .cancelled : await work()
            isSettingUp = false
            // A link that was lost between its first packet and now has no other report.
            finish(failure ?? (graph.holdsLink(address) ? nil : .failed), codec)
        }
    }

    private func finish(_ failure: AudioFailure?, _ codec: VoiceCodec) {
        guard !isOver else {
            if failure == nil { graph.closeLink(address) }
            return
        }
        if let failure {
            isFailureTold = false
            run(gateway.audioFailed(failure, at: ControlLoop.now))
            // A set-up that was given up as asked is no failure to the gateway; the policy waits for its end.
            if failure == .cancelled || isCloseAwaited, !isFailureTold { onEvent?(.linkFailed(.cancelled)) }
            isCloseAwaited = false
        } else {
            isLinkUp = true
            run(gateway.audioOpened(codec, at: ControlLoop.now))
            // One that was given up as it came up is being closed: its end is reported, its beginning is not.
            if graph.hasLink(address) {
                logger.info("\(address): audio link open, \(codec)")
                onEvent?(isAsked ? .linkOpened : .linkOpenedByHeadset)
                isAsked = false
            }
        }
        onEvent?(.changed)
    }

    private func heard(_ event: AudioGateway.Event) {
        switch event {
        case .established(let negotiated):
            isEstablished = true
            theirs = negotiated.codecs
            codecs = common()
            let name = profile == .headset ? "Headset Profile" : "service level connection"
            logger.info("\(address): \(name) up, codecs \(codecs)")
            onEvent?(.established)
        case .volume(.speaker, let value): volumes.speaker = value
        case .volume(.microphone, let value):
            let old = volumes.microphone
            volumes.microphone = value
            if old != value { onEvent?(.microphoneVolume(old, value)) }
        case .battery(let report): charge.take(report)
        case .codecs(let offered):
            theirs = offered
            codecs = common()
        case .button(let button):
            onEvent?(.buttonPressed(button))
            return
        case .codecFailed(let codec, let failure):
            logger.notice("\(address): \(codec) failed (\(failure)), a lower codec is tried")
            return
        case .audioFailed(let failure):
            isAsked = false
            isFailureTold = true
            onEvent?(.linkFailed(failure))
            return
        case .audioPolicy(let policy):
            guard audioPolicy != policy else { return }
            audioPolicy = policy
            logger.notice("\(address): says of calls: \(policy.text)")
            onEvent?(.wishesChanged)
        case .noiseReduction(let isWanted):
            logger.info("\(address): \(isWanted ? "wants" : "does its own") echo cancelling and noise reduction")
            graph.setOwnVoiceProcessing(!isWanted, ofLink: address)
            return
        case .voiceRecognition(let isOn):
            guard isOn else { return }
            onEvent?(.buttonHeld)
            // There is none to go on with; the headset has its answer first.
            ControlLoop.shared.perform { [weak self] in
                guard let self, !isOver else { return }
                run(gateway.setVoiceRecognition(false))
            }
            return
        case .hfIndicator, .audioRequested, .powerSource, .microphoneMuted, .vendor:
            return
        }
        if isEstablished { onEvent?(.changed) }
    }

    private func common() -> [VoiceCodec] {
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
}
