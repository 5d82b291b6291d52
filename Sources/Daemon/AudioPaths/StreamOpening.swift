package import AudioEngine
package import BluetoothTypes
package import ControlLoop

/// An A2DP stream to a headset; whoever holds it gives it back after the engine has let go of it.
@ControlPlane
package final class OpenStream {
    package let address: BluetoothAddress
    package let stream: MediaStream
    /// From a packet's being sent to its sound, as the headset says it, in milliseconds.
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

/// Where streams come from on which something is heard beside the calls.
@ControlPlane
package protocol StreamOpening: AnyObject {
    /// Whether something can be heard beside the calls on this headset.
    func isFree(_ headset: BluetoothAddress) -> Bool
    /// The headset for what may be heard on any: the one that plays already, else the one that came last; nil while none is
    /// free.
    var chosen: BluetoothAddress? { get }
    /// Something is to be heard on these from now on, and on no others; `AudioGraph.streamsChanged` says that a stream is
    /// there, or that a headset is free or is not.
    func setWanted(_ headsets: Set<BluetoothAddress>)
    /// The stream to a headset; nil while it is not there yet.
    func takeStream(for headset: BluetoothAddress) -> OpenStream?
    /// The engine cannot go on with the stream.
    ///
    /// - Parameters:
    ///   - code: `errno`; 0 is an orderly end.
    ///   - isRoute: calls were routed to it.
    func streamFailed(_ address: BluetoothAddress, code: Int32, isRoute: Bool)
}
