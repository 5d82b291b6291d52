package import AudioEngine
package import ControlLoop
package import Routing

/// Where local devices come from: ALSA in the daemon, the simulator's cards in a test.
@ControlPlane
package protocol PathOpening: AnyObject {
    /// Opens a local device for the audio engine.
    ///
    /// - Throws: `PathError` with the reason and what to do; nothing is left open.
    func openPath(_ kind: LocalDevice) throws(PathError) -> OpenPath
    /// Whether the device could be opened, without opening it: nil when it could, else why not and what to do.
    func absence(of kind: LocalDevice) -> PathError?
}

/// Why a local device cannot be used now.
package struct PathError: Error, Equatable, Sendable, CustomStringConvertible {
    package let device: LocalDevice
    package let what: String
    package let remedy: String

    package init(device: LocalDevice, what: String, remedy: String) {
        self.device = device
        self.what = what
        self.remedy = remedy
    }

    package var description: String { "\(device): \(what); \(remedy)" }
}

/// Open sound-card streams; whoever holds it closes them by letting go, after the engine has given them back.
@ControlPlane
package final class OpenPath {
    package let terminal: TerminalKind
    /// For people: `hw:0,0 48000 Hz`.
    package let summary: String
    private var release: (@ControlPlane () -> Void)?

    /// - Parameter release: closes what is behind the terminal; called once.
    package init(terminal: TerminalKind, summary: String, release: @escaping @ControlPlane () -> Void) {
        self.terminal = terminal
        self.summary = summary
        self.release = release
    }

    package func close() {
        release?()
        release = nil
    }
}
