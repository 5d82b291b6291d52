package import AudioEngine
package import ControlLoop

/// An open capture stream by itself; whoever holds it closes it by letting go, after the engine has given it back.
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
