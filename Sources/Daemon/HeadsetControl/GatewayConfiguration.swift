import BluetoothTypes
package import Configuration
package import HandsFree
import HeadsetPolicy
import Telephony

extension AudioGatewayConfiguration {
    /// What the configuration says of our side of HFP.
    package init(_ configuration: Configuration) {
        self.init()
        codecs = configuration.codecs
        networkOperator = configuration.networkName
        memory = configuration.memory
        subscriberNumbers = configuration.ownNumber.map { [SubscriberNumber(number: $0)] } ?? []
        // The ringer plays in the link when the policy opens one while it rings; that is not announced yet. The policy
        // opens none for a headset without the feature, so that one that was told of a ring tone would stay silent.
        features.remove(.inbandRing)
        // Nor does the ringer play for the Headset Profile, whose headsets need RING, in an open link as well.
        inbandRing = false
        // Whether the calls of the moment can be joined is said when it is asked for.
        threeWay.append(.join)
        if configuration.takesOutEcho { features.insert(.echoCancelling) }
        volumeResend = AudioGateway.forgetfulness
        audioDelay = .milliseconds(configuration.audioDelayMilliseconds)
        virtualCall = configuration.virtualCall
        setUpTimeout = configuration.waits.setUp
        speakerCeiling = configuration.volumeCeiling
        if configuration.callDuration { features.insert(.callDuration) }
        // What a headset that holds its key asks for.
        if configuration.buttons[ButtonGesture(.callKey, .long)] != nil { features.insert(.voiceRecognition) }
    }
}
