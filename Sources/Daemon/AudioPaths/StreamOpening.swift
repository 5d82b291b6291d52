package import AudioEngine
package import BluetoothTypes
package import ControlLoop

/// An A2DP stream to a headset; the owner releases it after the engine has.
@ControlPlane
package final class OpenStream {
    package let address: BluetoothAddress
    package let stream: MediaStream
    /// Delay from sending a packet to its sound in ms, as the headset reports it.
    package let delayMilliseconds: Int
    private var release: (@ControlPlane () -> Void)?

    /// - Parameter release: called once.
    package init(
        address: BluetoothAddress, stream: MediaStream, delayMilliseconds: Int,
        release: @escaping @ControlPlane () -> Void
    ) {
        self.address = address
        self.stream = stream
        self.delayMilliseconds = delayMilliseconds
        self.release = release
    }

    package func close() {
        release?()
        release = nil
    }
}

/// Source of streams that play beside the calls.
@ControlPlane
package protocol StreamOpening: AnyObject {
    /// Whether this headset is free to play beside the calls.
    func isFree(_ headset: BluetoothAddress) -> Bool
    /// Default headset for playbacks on any headset: the one that is playing, otherwise the most recent one; nil while none
    /// is free.
    var chosen: BluetoothAddress? { get }
    /// Sets the headsets that have something to play. `AudioGraph.streamsChanged` reports that a stream exists, or that a
    /// headset has become free or busy.
    func setWanted(_ headsets: Set<BluetoothAddress>)
    /// Takes the stream to a headset; nil while it does not exist yet.
    func takeStream(for headset: BluetoothAddress) -> OpenStream?
    /// The engine has given the stream up.
    ///
    /// - Parameters:
    ///   - code: `errno`; 0 is an orderly end.
    ///   - isRoute: calls were routed to the stream.
    func streamFailed(_ address: BluetoothAddress, code: Int32, isRoute: Bool)
}
