package import AudioEngine
package import Configuration
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
    /// Sets the period to ask of sound cards that are opened from now on, in milliseconds.
    func setPeriod(_ milliseconds: Int)
    /// Whether the wired headset's own microphone is used or the board's; for paths opened from here on.
    ///
    /// - Returns: whether a path of it that is open is not what was asked for any more.
    func setWiredMicrophone(_ isOwn: Bool) -> Bool
    /// The name of a local device's microphone, which can be opened by itself; devices with the same one share it. Nil: there
    /// is none, or it cannot be had without the rest of the device.
    func microphone(of kind: LocalDevice) -> String?
    /// Opens what a local device has beside its microphone; all of it where that cannot be had by itself.
    ///
    /// - Throws: as `openPath`.
    func openPlayback(_ kind: LocalDevice) throws(PathError) -> OpenPath
    /// Opens the microphone of a local device by itself.
    ///
    /// - Throws: as `openPath`.
    func openCapture(_ kind: LocalDevice) throws(PathError) -> OpenCapture
    /// Opens what a device plays, to be heard beside the calls.
    ///
    /// - Throws: as `openPath`.
    func openOutput(_ device: OutputDevice) throws(PathError) -> OpenPath
    /// Whether sound cards are opened so that other programs can use them, too; for paths opened from here on.
    func setMixing(_ isOn: Bool)
}

extension PathOpening {
    /// What has no period to choose ignores it.
    package func setPeriod(_ milliseconds: Int) {}
    /// What has devices for calls only refuses.
    package func openOutput(_ device: OutputDevice) throws(PathError) -> OpenPath {
        let kind: LocalDevice = if case .local(let kind) = device { kind } else { .speakerphone }
        throw PathError(device: kind, what: "\(device) plays calls only", remedy: "set [ring] device = none")
    }
    /// What has nothing to share ignores it.
    package func setMixing(_ isOn: Bool) {}
    /// What has no microphones to choose from ignores it.
    package func setWiredMicrophone(_ isOwn: Bool) -> Bool { false }
    /// What has one stream for both directions has no microphone by itself.
    package func microphone(of kind: LocalDevice) -> String? { nil }
    package func openPlayback(_ kind: LocalDevice) throws(PathError) -> OpenPath { try openPath(kind) }
    package func openCapture(_ kind: LocalDevice) throws(PathError) -> OpenCapture {
        throw PathError(
            device: kind, what: "it has no microphone by itself", remedy: "name one: capture = hw:0,0 in its section")
    }
}

/// Why a local device cannot be used now.
package struct PathError: Error, Equatable, Sendable, CustomStringConvertible {
    package let device: LocalDevice
    package let what: String
    package let remedy: String
    package let cause: Cause

    package enum Cause: Sendable {
        /// The sound card is not there: its coming will be told.
        case missing
        /// Somebody has it open, this program perhaps.
        case busy
        case other
    }

    package init(device: LocalDevice, what: String, remedy: String, cause: Cause = .other) {
        self.device = device
        self.what = what
        self.remedy = remedy
        self.cause = cause
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
