package import AudioDSP
package import AudioEngine

// An application in place of the devices, and copies of calls.
extension AudioGraph {
    /// - Parameters:
    ///   - uplink: becomes the engine's, and so does `downlink`.
    package func attachManual(
        _ identifier: UInt32, uplink: Int32, downlink: Int32, rate: Int, layout: SampleLayout, isStream: Bool
    ) throws(AudioEngineError) {
        try engine.attachManual(
            identifier, uplink: uplink, downlink: downlink, rate: rate, layout: layout, isStream: isStream)
    }

    /// `.manualEnded` says when it is done.
    package func detachManual() { engine.detachManual() }

    /// - Parameters:
    ///   - call: the engine's number of the call.
    ///   - descriptor: becomes the engine's.
    package func attachTap(
        _ identifier: UInt32, ofCall call: UInt32, _ side: TapSide, descriptor: Int32, rate: Int,
        layout: SampleLayout, isStream: Bool
    ) throws(AudioEngineError) {
        try engine.attachTap(
            identifier, ofCall: call, side, descriptor: descriptor, rate: rate, layout: layout, isStream: isStream)
    }

    /// `.tapEnded` says when it is done.
    package func detachTap(_ identifier: UInt32) { engine.detachTap(identifier) }
}
