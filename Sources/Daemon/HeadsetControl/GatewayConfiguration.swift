import BluetoothTypes
package import Configuration
package import HandsFree
import HeadsetPolicy
import Telephony

extension AudioGatewayConfiguration {
    /// Takes our side of HFP from the configuration.
    package init(_ configuration: Configuration) {
        self.init()
        codecs = configuration.codecs
        networkOperator = configuration.networkName
        memory = configuration.memory
        subscriberNumbers = configuration.ownNumber.map { [SubscriberNumber(number: $0)] } ?? []
        // The ringer plays in the link when the policy opens one while it rings, but the feature is not announced up front.
        // The policy opens no ringing link for a headset without the feature, so a headset that was promised a ring tone
        // would stay silent.
        features.remove(.inbandRing)
        // The ringer does not play for the Headset Profile either: its headsets need RING, in an open link as well.
        inbandRing = false
        // The feature is fixed; whether the present calls can be joined is checked on each request.
        threeWay.append(.join)
        if configuration.takesOutEcho { features.insert(.echoCancelling) }
        volumeResend = AudioGateway.forgetfulness
        audioDelay = .milliseconds(configuration.audioDelayMilliseconds)
        virtualCall = configuration.virtualCall
        setUpTimeout = configuration.timeouts.setUp
        speakerCeiling = configuration.volumeCeiling
        if configuration.callDuration { features.insert(.callDuration) }
        // A headset that holds its key asks for voice recognition.
        if configuration.buttons[ButtonGesture(.callKey, .long)] != nil { features.insert(.voiceRecognition) }
    }
}
