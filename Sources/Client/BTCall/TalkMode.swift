import BTCallAPI
import TalkWords

/// How the far end of a call hears the person.
public enum TalkMode: String, Hashable, Sendable, CaseIterable {
    /// Always: no key opens or closes the microphone.
    case off
    /// While a key is pressed.
    case push
    /// From one press to the next one.
    case toggle
    /// While a key is pressed; after a short press, until the next one.
    case latch

    init(_ mode: TalkWords.TalkMode) {
        switch mode {
        case .off: self = .off
        case .push: self = .push
        case .toggle: self = .toggle
        case .latch: self = .latch
        }
    }

    /// The mode as written on the bus.
    var word: TalkWords.TalkMode {
        switch self {
        case .off: .off
        case .push: .push
        case .toggle: .toggle
        case .latch: .latch
        }
    }
}

/// What the talk keys have made of a call.
public enum TalkState: String, Hashable, Sendable, CaseIterable {
    /// The call has no talk mode, or is not active.
    case off
    /// The microphone is closed.
    case listening
    /// A key is pressed, and the call's application is being asked.
    case asking
    /// The microphone is open.
    case talking
    /// The key was released; the microphone is still open.
    case tail
    /// The call's application has refused, until the key is released.
    case refused
    /// The time to talk is over, until the key is released or pressed again.
    case timedOut

    init(_ state: TalkWords.TalkState) {
        switch state {
        case .off: self = .off
        case .listening: self = .listening
        case .asking: self = .asking
        case .talking: self = .talking
        case .tail: self = .tail
        case .refused: self = .refused
        case .timedOut: self = .timedOut
        }
    }
}

/// A key of the box with which somebody talks.
public struct TalkKey: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// An input of the board.
        case board
        case headset
        /// A wireless button without audio.
        case button
        /// A program: ``Calls/setTalk(_:key:)``.
        case application
    }

    public let kind: Kind
    /// The input as configured, the address of the device, or the unique bus name of the program.
    public let name: String
    public let isPressed: Bool

    init?(_ description: TalkKeyDescription) {
        guard let kind = Kind(rawValue: description.kind) else { return nil }
        self.kind = kind
        name = description.name
        isPressed = description.isPressed
    }
}
