package import BluetoothTypes
package import ControlLoop

/// Opens and closes the links that the policy asks for; the headset directory, or a test.
@ControlPlane
package protocol LinkOpening: AnyObject {
    /// The outcome comes back as `.linkOpened`, `.linkFailed` or, when it was cancelled, `.linkClosed`.
    ///
    /// - Parameter attempt: counted from 1 since the last link that lived.
    func openLink(_ address: BluetoothAddress, codecHint: VoiceCodec?, attempt: Int, timeout: Duration)
    /// Closes the link or cancels its set-up; `.linkClosed` comes back.
    func closeLink(_ address: BluetoothAddress)
}

/// Opens and closes the A2DP streams that the policy asks for.
@ControlPlane
package protocol StreamLinkOpening: AnyObject {
    /// The outcome comes back as `.linkOpened`, `.linkFailed` or, when it was cancelled, `.linkClosed`.
    func openLink(_ address: BluetoothAddress)
    /// Closes the stream or cancels its set-up; `.linkClosed` comes back.
    func closeLink(_ address: BluetoothAddress)
}
