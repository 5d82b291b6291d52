import BluetoothTypes
package import Configuration
package import HandsFree
import HeadsetPolicy
import Routing
import Telephony

extension AudioGatewayConfiguration {
    /// Takes our side of HFP from the configuration.
    package init(_ configuration: Configuration) {
        self.init()
        codecs = configuration.codecs
        networkOperator = configuration.networkName
        memory = configuration.memory
        subscriberNumbers = configuration.ownNumber.map { [SubscriberNumber(number: $0)] } ?? []
        // What the feature promises until `InbandRing` announces the policy's plan.
        inbandRing = configuration.routing.inbandRing
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

extension AudioGatewayFeatures {
    /// Features that btcalld has in no configuration.
    package static let neverAnnounced: AudioGatewayFeatures = [
        .voiceTag, .enhancedVoiceRecognition, .voiceRecognitionText,
    ]
}

extension QuirkEffect {
    /// One-line description; names masked features that btcalld announces to no headset.
    package var summary: String {
        guard case .maskFeatures(let masked) = self else { return key.summary }
        let idle = AudioGatewayFeatures.words.filter { masked.intersection(.neverAnnounced).contains($0.feature) }
        guard !idle.isEmpty else { return key.summary }
        return key.summary + "; not announced anyway: " + idle.map(\.word).joined(separator: ", ")
    }
}
