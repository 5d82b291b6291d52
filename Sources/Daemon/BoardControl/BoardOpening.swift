package import ALSA
package import Configuration
package import ControlLoop

/// Parts of the machine that devices come and go in.
package enum BoardArea: Hashable, Sendable, CaseIterable {
    case cards, inputs, lines
}

/// What one source says about the jack; nil what it does not know.
package struct JackReading: Hashable, Sendable {
    package var isPlugged: Bool?
    package var hasMicrophone: Bool?

    package init(isPlugged: Bool? = nil, hasMicrophone: Bool? = nil) {
        self.isPlugged = isPlugged
        self.hasMicrophone = hasMicrophone
    }
}

/// Where jacks, hooks and mixers come from: the kernel in the daemon, a test's own board in a test.
@ControlPlane
package protocol BoardOpening: AnyObject {
    /// Something has come or gone in an area that is watched, and has settled.
    var onChange: (@ControlPlane (BoardArea) -> Void)? { get set }
    /// Begins to watch an area; false when that is not possible.
    func watch(_ area: BoardArea) -> Bool
    /// Watches no area any more.
    func stop()
    /// What tells of the jack of a PCM's card by its usual name; empty for nothing.
    func findJack(ofPCM pcm: String) -> [JackPart]
    func openJack(_ part: JackPart, pcm: String) throws(BoardError) -> BoardContact<JackReading>
    /// The state is whether the handset is lifted.
    func openHook(_ hook: HookSpecification) throws(BoardError) -> BoardContact<Bool>
    /// Opens a simple mixer control of a PCM's card, watched from the beginning.
    func openMixer(_ name: String, pcm: String) throws(BoardError) -> any MixerControl
}

/// A volume control that is open.
@ControlPlane
package protocol MixerControl: AnyObject {
    var setting: MixerElement.Setting { get }
    /// Somebody has changed the control, this program included.
    var onChange: (@ControlPlane () -> Void)? { get set }
    /// It has gone, and is closed.
    var onGone: (@ControlPlane () -> Void)? { get set }
    func setting(percent: Int) -> MixerElement.Setting
    func percent(of setting: MixerElement.Setting) -> Int
    func apply(_ setting: MixerElement.Setting) throws(ALSAError)
    func close()
}

extension MixerElement: MixerControl {}

/// Why a part of the board is not watched, and what to do.
package struct BoardError: Error, Equatable, Sendable {
    package let what: String
    package let remedy: String
    /// The sound card of the device is not there at all: the device itself says so already.
    package let isCardMissing: Bool

    package init(what: String, remedy: String, isCardMissing: Bool = false) {
        self.what = what
        self.remedy = remedy
        self.isCardMissing = isCardMissing
    }
}
