package import BluetoothTypes
package import Telephony

/// Identifies one request of one gateway until it is completed.
package struct GatewayRequestID: Hashable, Sendable {
    package let value: UInt32

    package init(_ value: UInt32) {
        self.value = value
    }
}

extension AudioGateway {
    /// Actions for the caller, in order.
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
        /// Call `deadlineReached` at this time, once; replaces an earlier deadline, nil cancels it.
        case setDeadline(Instant?)
        case event(Event)
        /// End this headset's connection; no more actions follow.
        case closeConnection(CloseReason)
        /// Our own mistake.
        case fault(String)
    }

    /// Information for the caller.
    package enum Event: Hashable, Sendable {
        case established(Negotiated)
        case volume(VolumeDirection, Int)
        case battery(BatteryReport)
        case powerSource(PowerSource)
        case hfIndicator(HFIndicator, Int)
        case button(Button)
        /// Codecs offered by the headset in AT+BAC, known ones only.
        case codecs([VoiceCodec])
        /// A rung of the ladder was left; updates the memory of the ladder.
        case codecFailed(VoiceCodec, AudioFailure)
        /// The audio connection failed for good; no further attempt.
        case audioFailed(AudioFailure)
        /// AT+BCC: the headset requested the audio connection; the codec is being negotiated.
        case audioRequested
        /// AT+NREC=0: the headset does its own echo cancelling and noise reduction until it disconnects.
        case ownNoiseReduction
        case voiceRecognition(Bool)
        /// The user muted the microphone on the headset.
        case microphoneMuted(Bool)
        case audioPolicy(SinkAudioPolicy)
        /// AT+XEVENT=TALK: the push-to-talk key of a headset or speaker microphone was pressed (1) or released (0).
        case talkKey(Bool)
        /// A message of the headset that the gateway does not interpret (AT+XEVENT, AT+ANDROID).
        case vendor(VendorReport)
    }

    package enum VolumeDirection: String, Hashable, Sendable {
        case speaker, microphone
    }

    package enum Button: Hashable, Sendable {
        /// AT+CKPD=200, which some hands-free headsets send as well. In the Headset Profile a request may follow.
        case callKey
        /// AT+CHUP on a virtual call: the user wants the audio to end (`VirtualCall`).
        case hangUp
    }

    /// Results of the service level connection's negotiation.
    package struct Negotiated: Hashable, Sendable {
        package let handsFree: HandsFreeFeatures
        package let gateway: AudioGatewayFeatures
        /// nil: the headset did not send any.
        package let codecs: [VoiceCodec]?
        /// Indicators supported by both sides.
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
        /// Too many commands, or too many queued behind one in progress.
        case flooded
        /// More lines wait for a reply than any legitimate headset causes.
        case outputOverflow
    }

    /// How a request ended.
    package enum RequestOutcome: Hashable, Sendable {
        case done
        case failed(CMEError)

        /// Converts the outcome of `CallTable` for a headset.
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
