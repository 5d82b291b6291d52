/// A button of a headset, independent of the profile: HFP and HSP (`callKey`, `hangUp`) and AVRCP.
package enum ButtonKey: String, Hashable, Sendable, CaseIterable {
    case callKey, hangUp, play, pause, playPause, stop, next, previous
}

/// Kind of press.
package enum ButtonPress: String, Hashable, Sendable, CaseIterable {
    case short, double, long
}

package struct ButtonGesture: Hashable, Sendable {
    package let key: ButtonKey
    package let press: ButtonPress

    package init(_ key: ButtonKey, _ press: ButtonPress) {
        self.key = key
        self.press = press
    }

    /// All possible gestures: only headsets themselves know how long their call key is held (AT+BVRA).
    package static var all: [ButtonGesture] {
        ButtonKey.allCases.flatMap { key in
            ButtonPress.allCases.filter { $0 != .long || key == .callKey }.map { ButtonGesture(key, $0) }
        }
    }

    /// Key in `[buttons]`: `play`, `play.double`.
    package var word: String { press == .short ? key.rawValue : "\(key.rawValue).\(press.rawValue)" }
}
