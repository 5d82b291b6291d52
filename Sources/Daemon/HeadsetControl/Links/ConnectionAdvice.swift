import BluetoothSockets
import HandsFree

// Log texts for headsets that btcalld disconnects: what was wrong, and what to do about it.

extension AudioGateway.CloseReason {
    package var advice: String {
        switch self {
        case .setUpTimedOut:
            """
            it did not finish its set-up (service level connection); switch it off and on, and if that does not help, \
            `btcall config logLevel trace` shows what it says
            """
        case .flooded:
            """
            it sent more commands than a headset has reason to; the call goes on without it; if it does so again after it \
            was switched off and on, update its firmware or unpair it
            """
        case .outputOverflow:
            "more than \(AudioGateway.deferredLimit) lines waited for the answer to one of its commands; switch it off and on"
        }
    }
}

extension RFCOMMChannel.CloseReason {
    /// Nil if nothing is wrong, or nothing can be done.
    package var advice: String? {
        switch self {
        case .outputOverflow:
            """
            it takes no bytes, and \(RFCOMMChannel.outputLimit) were waiting for it; the call goes on without it; switch \
            it off and on
            """
        case .closedByPeer, .linkLost, .failed: nil
        }
    }
}

extension CodecLimit {
    /// Explains in one line why a better codec is not used, and what to do if something can be done.
    ///
    /// - Parameter address: of the headset.
    package func text(_ address: String) -> String {
        let again = "`btcall headset forget-codec \(address)` has it tried again"
        switch self {
        case .headsetProfile: return "the headset has only the Headset Profile, which knows CVSD alone"
        case .notOffered: return "the configuration offers nothing better ([bluetooth] codecs)"
        case .headset: return "the headset offers nothing better"
        case .quirk(let codec): return "\(codec) is known not to work with this headset"
        case .adapter(let codec): return "the Bluetooth adapter could not carry \(codec); \(again)"
        case .failed(let codec, connections: 0): return "\(codec) failed in this connection; \(again)"
        case .failed(let codec, let connections):
            return "\(codec) failed in \(connections) connections in a row; \(again)"
        case .unanswered(let connections):
            return "the headset agreed on no codec in \(connections) connections in a row; \(again)"
        }
    }
}

extension AudioGateway.SinkAudioPolicy {
    /// For the log.
    package var text: String { "calls \(calls), activation \(activation), in-band ring \(inbandRing)" }
}
