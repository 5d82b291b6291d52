package import BluetoothTypes
package import ControlLoop

/// Opens and closes the links that the policy asks for; implemented by the headset directory, or by a test.
@ControlPlane
package protocol LinkOpening: AnyObject {
    /// Opens a link; reports `.linkOpened`, `.linkFailed` or, when cancelled, `.linkClosed`.
    ///
    /// - Parameter attempt: number of the attempt, counted from 1 since the last link that worked.
    func openLink(_ address: BluetoothAddress, codecHint: VoiceCodec?, attempt: Int, timeout: Duration)
    /// Closes the link or cancels its set-up; reports `.linkClosed`.
    func closeLink(_ address: BluetoothAddress)
}

/// Opens and closes the A2DP streams that the policy asks for.
@ControlPlane
package protocol StreamLinkOpening: AnyObject {
    /// Opens a stream; reports `.linkOpened`, `.linkFailed` or, when cancelled, `.linkClosed`.
    func openLink(_ address: BluetoothAddress)
    /// Closes the stream or cancels its set-up; reports `.linkClosed`.
    func closeLink(_ address: BluetoothAddress)
}
