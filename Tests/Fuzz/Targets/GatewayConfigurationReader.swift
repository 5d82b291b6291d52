import BluetoothTypes
import HandsFree

/// Reads the gateway's configuration from an input; five zeroes give the default gateway.
enum GatewayConfigurationReader {
    static func read(_ steps: inout StepReader) -> AudioGatewayConfiguration {
        var configuration = AudioGatewayConfiguration()
        let first = steps.byte()
        let features = UInt32(steps.byte()) | UInt32(steps.byte()) << 8
        let third = steps.byte()
        let fourth = steps.byte()
        func has(_ byte: UInt8, _ bit: Int) -> Bool { byte >> bit & 1 == 1 }
        configuration.profile = has(first, 0) ? .headset : .handsFree
        configuration.virtualCall = [.never, .onRequest, .withAudio, .never][Int(first >> 1 & 3)]
        configuration.responseAndHold = has(first, 3)
        configuration.audioDelay = has(first, 4) ? .milliseconds(250) : .zero
        configuration.volumeResend = has(first, 5) ? .milliseconds(1500) : nil
        configuration.quirks.refusesFirstAudio = has(first, 6)
        configuration.quirks.noMicrophoneVolume = has(first, 7)
        configuration.features = AudioGatewayFeatures(
            rawValue: AudioGatewayFeatures.standard.rawValue ^ features & 0x7FFF)
        configuration.recordedFeatures = has(UInt8(features >> 8), 7) ? HandsFreeFeatures(rawValue: 0xFFF) : []
        configuration.codecs = has(third, 0) ? [.lc3SWB, .mSBC] : [.mSBC, .cvsd]
        configuration.quirks.brokenCodecs = has(third, 1) ? [.mSBC] : []
        configuration.quirks.forgetsVolume = has(third, 2)
        configuration.takesAudioPolicy = !has(third, 3)
        configuration.inbandRing = !has(third, 4)
        configuration.quota.burst = has(third, 5) ? 20 : 10_000
        configuration.hfIndicators =
            has(third, 6) ? [.batteryLevel: false] : [.enhancedSafety: true, .batteryLevel: true]
        configuration.threeWay = has(third, 7) ? ThreeWayOption.allCases : configuration.threeWay
        if has(fourth, 0) {
            configuration.memory = [0: "5550", 7: "*#06#"]
            configuration.lastDialed = "+495551"
        }
        configuration.subscriberNumbers = has(fourth, 1) ? [SubscriberNumber(number: "+49301", service: 5)] : []
        configuration.networkOperator = has(fourth, 2) ? "Net" : nil
        configuration.voiceTagNumber = has(fourth, 3) ? "5557" : nil
        configuration.requestTimeout = has(fourth, 4) ? .milliseconds(500) : .seconds(10)
        configuration.quirks.setUpSeconds = has(fourth, 5) ? 60 : nil
        configuration.quirks.audioDelayMilliseconds = has(fourth, 6) ? 900 : nil
        configuration.ringInterval = has(fourth, 7) ? .seconds(5) : .seconds(3)
        return configuration
    }
}
