package import BluetoothTypes
package import Telephony

/// Names one request of one gateway until it is completed.
package struct GatewayRequestID: Hashable, Sendable {
    package let value: UInt32

    package init(_ value: UInt32) {
        self.value = value
    }
}

extension AudioGateway {
    /// What the caller has to do, in order.
    package enum Action: Hashable, Sendable {
        case send(ATResultCode)
        /// Answered by `requestCompleted` with the same id; the headset waits meanwhile.
        case request(CallRequest, id: GatewayRequestID)
        /// Open the link; answered by `audioOpened` or `audioFailed`.
        case connectAudio(VoiceCodec)
        /// Close the link or give up opening it; answered by `audioClosed` or `audioFailed`.
        case disconnectAudio
        /// Accept the link that the headset is opening; answered by `audioOpened` or `audioFailed`.
        case acceptAudio(VoiceCodec)
        case rejectAudio
        /// Call `deadlineReached` then, once; replaces an earlier one, nil cancels it.
        case setDeadline(Instant?)
        case event(Event)
        /// End this headset's connection; no more actions follow.
        case closeConnection(CloseReason)
        /// Our own mistake.
        case fault(String)
    }

    /// What became known.
    package enum Event: Hashable, Sendable {
        case established(Negotiated)
        case volume(VolumeDirection, Int)
        case battery(BatteryReport)
        case powerSource(PowerSource)
        case hfIndicator(HFIndicator, Int)
        case button(Button)
        /// What the headset offers in AT+BAC, known codecs only.
        case codecs([VoiceCodec])
        /// A rung of the ladder was left: what the memory of the ladder wants to know.
        case codecFailed(VoiceCodec, AudioFailure)
        /// No audio connection after all; nothing is tried any more.
        case audioFailed(AudioFailure)
        /// AT+BCC: the headset asked for the audio connection; the codec is being agreed on.
        case audioRequested
        /// AT+NREC=0: the headset does its own echo cancelling and noise reduction until it disconnects.
        case ownNoiseReduction
        case voiceRecognition(Bool)
        /// The person muted the headset's microphone in the headset.
        case microphoneMuted(Bool)
        case audioPolicy(SinkAudioPolicy)
        /// A word that a headset said about itself: `DON`, `DOFF`, `USER-AGENT`… (AT+XEVENT); safe to show.
        case vendor(String)
    }

    package enum VolumeDirection: String, Hashable, Sendable {
        case speaker, microphone
    }

    package enum Button: Hashable, Sendable {
        /// AT+CKPD=200, which some hands-free headsets send as well. In the Headset Profile a request may follow.
        case callKey
        /// AT+CHUP on a call that is none: the person wants to hear no more (`VirtualCall`).
        case hangUp
    }

    /// What both sides agreed on in the service level connection.
    package struct Negotiated: Hashable, Sendable {
        package let handsFree: HandsFreeFeatures
        package let gateway: AudioGatewayFeatures
        /// nil: the headset did not say.
        package let codecs: [VoiceCodec]?
        /// Those that both sides have.
        package let hfIndicators: [HFIndicator]

        package init(
            handsFree: HandsFreeFeatures, gateway: AudioGatewayFeatures, codecs: [VoiceCodec]?,
            hfIndicators: [HFIndicator]
        ) {
            self.handsFree = handsFree
            self.gateway = gateway
            self.codecs = codecs
            self.hfIndicators = hfIndicators
        }
    }

    package enum CloseReason: String, Hashable, Sendable {
        /// The service level connection was not established in time.
        case setUpTimedOut
        /// Too many commands, or too many behind one that is being worked on.
        case flooded
        /// More lines wait for a reply to go first than a headset can want.
        case outputOverflow
    }

    /// How a request ended.
    package enum RequestOutcome: Hashable, Sendable {
        case done
        case failed(CMEError)

        /// The outcome of `CallTable`, as a headset sees it.
        package init(_ outcome: CallRequestOutcome) {
            switch outcome {
            case .done: self = .done
            case .cancelled: self = .failed(.notAllowed)
            case .failed(.noSuchCall): self = .failed(.notAllowed)
            case .failed(.notSupported): self = .failed(.notSupported)
            case .failed(.noProvider): self = .failed(.noNetwork)
            case .failed(.tooManyCalls), .failed(.dialing): self = .failed(.notAllowed)
            case .failed(.provider(.refused)), .failed(.provider(.gone)): self = .failed(.gatewayFailure)
            case .failed(.provider(.timedOut)): self = .failed(.networkTimeOut)
            }
        }
    }
}
