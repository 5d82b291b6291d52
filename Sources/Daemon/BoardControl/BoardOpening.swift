package import ALSA
package import Configuration
package import ControlLoop

/// Parts of the machine where devices come and go.
package enum BoardArea: Hashable, Sendable, CaseIterable {
    case cards, inputs, lines
}

/// One source's reading of the jack; nil for what it cannot tell.
package struct JackReading: Hashable, Sendable {
    package var isPlugged: Bool?
    package var hasMicrophone: Bool?

    package init(isPlugged: Bool? = nil, hasMicrophone: Bool? = nil) {
        self.isPlugged = isPlugged
        self.hasMicrophone = hasMicrophone
    }
}

/// Source of jacks, hooks and mixers: the kernel in the daemon, a simulated board in a test.
@ControlPlane
package protocol BoardOpening: AnyObject {
    /// Something has come or gone in a watched area, and has settled.
    var onChange: (@ControlPlane (BoardArea) -> Void)? { get set }
    /// Starts to watch an area; false if that is not possible.
    func watch(_ area: BoardArea) -> Bool
    /// Stops watching all areas.
    func stop()
    /// Finds the jack of a PCM's card by its usual names; empty without one.
    func findJack(ofPCM pcm: String) -> [JackPart]
    func openJack(_ part: JackPart, pcm: String) throws(BoardError) -> BoardContact<JackReading>
    /// The state is whether the handset is lifted.
    func openHook(_ hook: HookSpecification) throws(BoardError) -> BoardContact<Bool>
    /// Opens and watches a simple mixer control of a PCM's card.
    func openMixer(_ name: String, pcm: String) throws(BoardError) -> any MixerControl
}

/// An open volume control.
@ControlPlane
package protocol MixerControl: AnyObject {
    var setting: MixerElement.Setting { get }
    /// Some program has changed the control, perhaps this one.
    var onChange: (@ControlPlane () -> Void)? { get set }
    /// The control has gone, and is closed.
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
    /// The device's sound card is missing; the device itself reports that already.
    package let isCardMissing: Bool

    package init(what: String, remedy: String, isCardMissing: Bool = false) {
        self.what = what
        self.remedy = remedy
        self.isCardMissing = isCardMissing
    }
}
