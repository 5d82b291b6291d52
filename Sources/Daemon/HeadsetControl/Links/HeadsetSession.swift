package import AudioPaths
package import BluetoothSockets
package import BluetoothTypes
package import ControlLoop
import Diagnostics
package import HandsFree
package import HeadsetPolicy
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
        case buttonPressed(AudioGateway.Button)
        /// The call key was held.
        case buttonHeld
        /// It said how calls are to come to it.
        case wishesChanged
        /// What became of its voice link.
        case link(VoiceLink.Report)
        /// It does not answer, and the controller still holds its earlier voice link.
        case linkStuck
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
    package private(set) var charge = HeadsetBattery()
    package private(set) var volumes = HeadsetVolumes()
    /// What both sides can do, best first.
    package private(set) var codecs: [VoiceCodec] = [.cvsd]
    /// What it said of how calls are to come to it (AT+ANDROID); nil: nothing.
    package private(set) var audioPolicy: AudioGateway.SinkAudioPolicy?
    package var onEvent: (@ControlPlane (Event) -> Void)?

    var gateway: AudioGateway
    private let channel: RFCOMMChannel
    let admission: LinkAdmission
    let graph: AudioGraph
    private var ours: [VoiceCodec]
    package let quirks: Quirks
    /// What the headset offered last.
    private var theirs: [VoiceCodec]?
    let logger: Logger
    private var timer: Timer?
    /// Has music make room before its link is opened.
    package weak var music: (any MakingRoom)?

    // Its voice link: HeadsetSession+Link.swift.
    var voiceLink = VoiceLink()
    var linkActions: [(VoiceLink.Action, LinkSubject)] = []
    var isActing = false
    var linkTimer: Timer?
    /// Its place in the controller's queue.
    var ticket: LinkQueue.Ticket?
    /// The link that the headset opens, until the gateway has decided.
    var offered: (any IncomingAudioLink)?
    /// The one that is being set up.
    var accepted: (any IncomingAudioLink)?
    /// The kernel sets up a link.
    var opening: Task<Void, Never>?

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
        act(voiceLink.sessionEnded(at: ControlLoop.now))
        timer?.cancel()
        offered?.reject()
        channel.close()
        onEvent?(.ended(reason: reason))
    }

    /// The connection is over, perhaps before its last set-up has ended.
    private var isOver: Bool { voiceLink.isOver }

    func fault(_ reason: String) {
        logger.error("\(address): fault of our own, this headset is disconnected: \(reason)")
        end("fault")
    }

    private func received(_ bytes: [UInt8]) {
        logger.trace("\(address) > \(PrintableText.line(bytes: bytes))")
        run(gateway.bytesReceived(bytes, at: ControlLoop.now))
        act(voiceLink.heard(at: ControlLoop.now))
    }

    func run(_ actions: [AudioGateway.Action]) {
        for action in actions where !isOver { perform(action) }
    }

    private func perform(_ action: AudioGateway.Action) {
        switch action {
        case .send(let code):
            logger.trace("\(address) < \(PrintableText.line(bytes: code.bytes))")
            channel.write(code.bytes)
        case .request(let request, let id): onEvent?(.request(request, id))
        case .connectAudio(let codec): act(voiceLink.connect(codec))
        case .disconnectAudio: act(voiceLink.disconnect(at: ControlLoop.now))
        case .acceptAudio(let codec):
            accepted = offered
            offered = nil
            act(voiceLink.accept(codec))
        case .rejectAudio:
            offered?.reject()
            offered = nil
        case .setDeadline(let deadline): setDeadline(deadline)
        case .event(let event): heard(event)
        case .closeConnection(let reason):
            disconnecting(reason.advice)
            end(reason.rawValue)
        case .fault(let reason): fault(reason)
        }
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
            act(voiceLink.negotiationFailed(failure))
            return
        case .audioPolicy(let policy):
            guard audioPolicy != policy else { return }
            audioPolicy = policy
            logger.notice("\(address): says of calls: \(policy.text)")
            onEvent?(.wishesChanged)
        case .ownNoiseReduction:
            logger.info("\(address): does its own echo cancelling and noise reduction")
            graph.setOwnVoiceProcessing(true, ofLink: address)
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
