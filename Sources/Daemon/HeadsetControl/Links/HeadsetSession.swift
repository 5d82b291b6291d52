package import AudioPaths
package import BluetoothSockets
package import BluetoothTypes
package import ControlLoop
import Diagnostics
package import HandsFree
package import HeadsetPolicy
package import Logging
package import Talk
package import Telephony

/// RFCOMM session of one headset: feeds its bytes to the `AudioGateway` machine and carries out its actions.
@ControlPlane
package final class HeadsetSession {
    /// Events for the headset directory.
    package enum Event {
        case established
        /// The connection has ended; no event follows.
        case ended(reason: String)
        case changed
        case buttonPressed(AudioGateway.Button)
        /// The call key was held.
        case buttonHeld
        /// The headset has said how it wants to receive calls.
        case audioPolicyChanged
        /// The state of its voice link has changed.
        case link(VoiceLink.Report)
        /// The headset does not answer, and the controller still holds its earlier voice link.
        case linkStuck
        case request(CallRequest, GatewayRequestID)
        /// The wearer has changed the microphone volume: old (nil: unknown) and new.
        case microphoneVolume(Int?, Int)
        /// The wearer has muted or unmuted the microphone at the headset.
        case microphoneMuted(Bool)
        case vendor(AudioGateway.VendorReport)
        /// The wearer has pressed or released the talk key.
        case talkKey(TalkSignal)
        /// Anything that may be a talk key.
        case heard(TalkLesson.Observation)
    }

    package let address: BluetoothAddress
    package let profile: AudioGatewayConfiguration.Profile
    /// The adapter that the headset is connected to; nil if bluetoothd has not named it.
    package let adapter: BluetoothAddress?
    package let connectedAt = ControlLoop.now
    package private(set) var isEstablished = false
    package internal(set) var charge = HeadsetBattery()
    package internal(set) var reports = HeadsetReports()
    package private(set) var volumes = HeadsetVolumes()
    /// Codecs of both sides, best first.
    package private(set) var codecs: [VoiceCodec] = [.cvsd]
    /// How the headset wants to receive calls (AT+ANDROID); nil if it has not said.
    package private(set) var audioPolicy: AudioGateway.SinkAudioPolicy?
    package var onEvent: (@ControlPlane (Event) -> Void)?

    var gateway: AudioGateway
    private let channel: RFCOMMChannel
    let admission: LinkAdmission
    let graph: AudioGraph
    private var ours: [VoiceCodec]
    package let quirks: Quirks
    /// The headset's last offer.
    private var theirs: [VoiceCodec]?
    let logger: Logger
    /// The row about its talk key; nil for a headset that is not known to have one.
    package var talkRow: TalkRow? {
        didSet {
            talkReader = talkRow.flatMap { ATTalkReader($0) } ?? ATTalkReader()
            linkReader = talkRow?.protocol == .link ? LinkTalkReader() : nil
        }
    }
    var talkReader = ATTalkReader()
    var linkReader: LinkTalkReader?
    /// Whether a headset that talks by its voice link has opened it, and its end has not been reported.
    package internal(set) var isTalkLinkOpen = false
    /// Set while the headset opens its link only to talk: how long the end of its last word takes after the close.
    var talkTail: Duration? {
        didSet { voiceLink.gracePeriod = talkTail ?? VoiceLink.gracePeriod }
    }
    private var timer: Timer?
    /// As last handled.
    var vendorSettings = AudioGateway.VendorSettings()
    /// Pauses music before the headset's link is opened.
    package weak var music: (any MakingRoom)?

    // State of the voice link; see HeadsetSession+Link.swift.
    var voiceLink = VoiceLink()
    var linkActions: [(VoiceLink.Action, LinkSubject)] = []
    var isActing = false
    var linkTimer: Timer?
    /// Place in the controller's queue.
    var ticket: LinkQueue.Ticket?
    /// The link that the headset opens, until the gateway has decided.
    var offered: (any IncomingAudioLink)?
    /// The headset's link while btcalld accepts it.
    var accepted: (any IncomingAudioLink)?
    /// The kernel's set-up of a link.
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

    /// Begins the session; set `onEvent` before. A Headset Profile session is established at once.
    package func start() { run(gateway.start(at: ControlLoop.now)) }

    /// What was learnt about the headset's codecs, for its next connection.
    package var codecMemory: CodecMemory { gateway.codecMemory }

    /// Why our best codec is not used; nil while it is.
    package var codecLimit: CodecLimit? { gateway.codecLimit }

    /// Tries all codecs again, from the next link on.
    package func forgetCodecs() {
        gateway.forgetCodecs()
        onEvent?(.changed)
    }

    /// Adopts codecs (for the next link), network name, numbers, the board's battery and the highest speaker volume.
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

    // MARK: Output to the headset

    /// - Parameter lastDialed: the number that AT+BLDN dials.
    package func callsChanged(_ snapshot: CallSnapshot, lastDialed: String?) {
        gateway.setLastDialed(lastDialed)
        run(gateway.callsChanged(snapshot, at: ControlLoop.now))
    }

    package func setVirtualCall(_ isOn: Bool) { run(gateway.setVirtualCall(isOn)) }

    package func completed(_ id: GatewayRequestID, _ outcome: CallRequestOutcome) {
        run(gateway.requestCompleted(id, .init(outcome), at: ControlLoop.now))
    }

    package func setSpeakerVolume(_ volume: Int) {
        send(HeadsetVolumes(speaker: volume))
        onEvent?(.changed)
    }

    package func setMicrophoneVolume(_ volume: Int) {
        send(HeadsetVolumes(microphone: volume))
        onEvent?(.changed)
    }

    /// Restores the volumes of earlier connections; the headset receives them unless it sets its own first.
    package func restore(_ remembered: HeadsetVolumes) { send(remembered) }

    private func send(_ new: HeadsetVolumes) {
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

    /// Highest speaker volume of the headset, 0…15.
    package var speakerCeiling: Int { gateway.configuration.speakerCeiling }

    // MARK: Lifecycle

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

    /// Whether the connection has ended, perhaps before its last set-up.
    private var isOver: Bool { voiceLink.isOver }

    func fault(_ reason: String) {
        logger.error("\(address): internal fault, this headset is disconnected: \(reason)")
        end("fault")
    }

    private func received(_ bytes: [UInt8]) {
        logger.trace("\(address) > \(PrintableText.line(bytes: bytes))")
        run(gateway.bytesReceived(bytes, at: ControlLoop.now))
        if !isOver { followVendorSettings() }
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
        case .event(let event): handle(event)
        case .closeConnection(let reason):
            disconnecting(reason.advice)
            end(reason.rawValue)
        case .fault(let reason): fault(reason)
        }
    }

    private func handle(_ event: AudioGateway.Event) {
        if talks(by: event) { return }
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
        case .battery(let report): handle(report)
        case .powerSource(let source): reports.powerSource = source
        case .hfIndicator(let indicator, let value): handle(indicator, value)
        case .microphoneMuted(let isMuted):
            muted(isMuted)
            return
        case .talkKey(let isPressed):
            onEvent?(.vendor(AudioGateway.VendorReport("TALK", [isPressed ? "1" : "0"])))
            return
        case .vendor(let report):
            onEvent?(.vendor(report))
            return
        case .codecs(let offered):
            theirs = offered
            codecs = common()
        case .button(let button):
            onEvent?(.buttonPressed(button))
            return
        case .codecFailed(let codec, let failure):
            logger.notice("\(address): \(codec) failed (\(failure)), trying a lower codec")
            return
        case .audioFailed(let failure):
            act(voiceLink.negotiationFailed(failure))
            return
        case .audioPolicy(let policy):
            guard audioPolicy != policy else { return }
            audioPolicy = policy
            logger.notice("\(address): preferences for calls: \(policy.text)")
            onEvent?(.audioPolicyChanged)
        case .ownNoiseReduction:
            logger.info("\(address): does its own echo cancelling and noise reduction")
            graph.setOwnVoiceProcessing(true, ofLink: address)
            return
        case .voiceRecognition(let isOn):
            guard isOn else { return }
            onEvent?(.buttonHeld)
            // btcalld has no voice recognition to run: end it, after the headset has received its answer.
            ControlLoop.shared.perform { [weak self] in
                guard let self, !isOver else { return }
                run(gateway.setVoiceRecognition(false))
            }
            return
        case .audioRequested: return
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
