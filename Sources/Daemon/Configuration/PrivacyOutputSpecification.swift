import BoardInput

/// The output that shows that a microphone is in use, as given in `[privacy] led`.
package struct PrivacyOutputSpecification: Hashable, Sendable, CustomStringConvertible {
    package enum Output: Hashable, Sendable {
        /// The directory of an LED.
        case light(path: String)
        case line(chip: String, line: Int)
    }

    package let output: Output
    /// Whether the output is dark, or low, while the microphone is in use.
    package let isInverted: Bool

    package static let accepted = "/sys/class/leds/NAME or gpio:CHIP:LINE, with ! in front to invert it"

    /// - Parameter text: as in the configuration; nil for an invalid text.
    package init?(_ text: String) {
        isInverted = text.hasPrefix("!")
        let rest = isInverted ? text.dropFirst() : text[...]
        if rest.hasPrefix("/") {
            guard rest.count > 1 else { return nil }
            output = .light(path: rest.hasSuffix("/") ? String(rest.dropLast()) : String(rest))
            return
        }
        // Lines are written as for a hook.
        guard let hook = HookSpecification(String(rest)), case .line(let chip, let line, .unchanged) = hook.source,
            !hook.isInverted
        else { return nil }
        output = .line(chip: chip, line: line)
    }

    package var description: String {
        let sign = isInverted ? "!" : ""
        return switch output {
        case .light(let path): sign + path
        case .line(let chip, let line): "\(sign)gpio:\(chip):\(line)"
        }
    }
}
