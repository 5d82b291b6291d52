package import AudioEngine
package import Configuration
package import ControlLoop
package import Routing

/// Source of local devices: ALSA in the daemon, the simulator's cards in a test.
@ControlPlane
package protocol PathOpening: AnyObject {
    /// Opens a local device for the audio engine.
    ///
    /// - Throws: `PathError` with the reason and what to do; nothing stays open.
    func openPath(_ kind: LocalDevice) throws(PathError) -> OpenPath
    /// Checks whether the device could be opened, without keeping it open: nil if it could, otherwise why not and what to
    /// do.
    func absence(of kind: LocalDevice) -> PathError?
    /// Sets the period in ms for sound cards that are opened from now on.
    func setPeriod(_ milliseconds: Int)
    /// Sets whether the wired headset uses its own microphone or the board's; for paths that are opened from now on.
    ///
    /// - Returns: whether an open path of it no longer matches.
    func setWiredMicrophone(_ isOwn: Bool) -> Bool
    /// Name of a local device's separately openable microphone; devices with the same microphone share it. Nil: it has none,
    /// or it cannot be opened without the rest of the device.
    func microphone(of kind: LocalDevice) -> String?
    /// Opens a local device without its microphone; all of it if the microphone cannot be opened separately.
    ///
    /// - Throws: as `openPath`.
    func openPlayback(_ kind: LocalDevice) throws(PathError) -> OpenPath
    /// Whether a local device can be open without recording: its playback opens alone.
    func canStandBy(_ kind: LocalDevice) -> Bool
    /// Opens the microphone of a local device separately.
    ///
    /// - Throws: as `openPath`.
    func openCapture(_ kind: LocalDevice) throws(PathError) -> OpenCapture
    /// Opens a device to play beside the calls.
    ///
    /// - Throws: as `openPath`.
    func openOutput(_ device: OutputDevice) throws(PathError) -> OpenPath
    /// Sets whether sound cards are shared with other programs; for paths that are opened from now on.
    func setMixing(_ isOn: Bool)
}

extension PathOpening {
    /// Ignored by openers without a choice of period.
    package func setPeriod(_ milliseconds: Int) {}
    /// Refused by openers with devices for calls only.
    package func openOutput(_ device: OutputDevice) throws(PathError) -> OpenPath {
        let kind: LocalDevice = if case .local(let kind) = device { kind } else { .speakerphone }
        throw PathError(device: kind, what: "\(device) plays calls only", remedy: "set [ring] device = none")
    }
    /// Ignored by openers without anything to share.
    package func setMixing(_ isOn: Bool) {}
    /// Ignored by openers without a choice of microphones.
    package func setWiredMicrophone(_ isOwn: Bool) -> Bool { false }
    /// A device with one stream for both directions has no separate microphone.
    package func microphone(of kind: LocalDevice) -> String? { nil }
    package func openPlayback(_ kind: LocalDevice) throws(PathError) -> OpenPath { try openPath(kind) }
    package func canStandBy(_ kind: LocalDevice) -> Bool { microphone(of: kind) != nil }
    package func openCapture(_ kind: LocalDevice) throws(PathError) -> OpenCapture {
        throw PathError(
            device: kind, what: "it has no separate microphone", remedy: "name one: capture = hw:0,0 in its section")
    }
}

/// Why a local device cannot be used now.
package struct PathError: Error, Equatable, Sendable, CustomStringConvertible {
    package let device: LocalDevice
    package let what: String
    package let remedy: String
    package let cause: Cause

    package enum Cause: Sendable {
        /// The sound card is missing; its arrival will be reported.
        case missing
        /// Some program, perhaps this one, has it open.
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

/// Open sound-card streams; the owner closes them after the engine has released them.
@ControlPlane
package final class OpenPath {
    package let terminal: TerminalKind
    /// For people: `hw:0,0 48000 Hz`.
    package let summary: String
    private var release: (@ControlPlane () -> Void)?

    /// - Parameter release: closes the streams behind the terminal; called once.
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
