package import AudioEngine
package import ControlLoop

/// A separately opened capture stream; its owner closes it after the engine has released it.
@ControlPlane
package final class OpenCapture {
    package let stream: ALSACapture
    /// For people: `hw:0,0 48000 Hz`.
    package let summary: String
    private var release: (@ControlPlane () -> Void)?

    /// - Parameter release: closes the stream; called once.
    package init(stream: ALSACapture, summary: String, release: @escaping @ControlPlane () -> Void) {
        self.stream = stream
        self.summary = summary
        self.release = release
    }

    package func close() {
        release?()
        release = nil
    }
}
