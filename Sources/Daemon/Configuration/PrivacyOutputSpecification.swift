import BoardInput

/// What shows people that a microphone is heard, as `[privacy] led` says it.
package struct PrivacyOutputSpecification: Hashable, Sendable, CustomStringConvertible {
    package enum Output: Hashable, Sendable {
        /// The directory of a light.
        case light(path: String)
        case line(chip: String, line: Int)
    }

    package let output: Output
    /// Dark, or low, when the microphone is heard.
    package let isInverted: Bool

    package static let accepted = "/sys/class/leds/NAME or gpio:CHIP:LINE, with ! in front to invert it"

    /// - Parameter text: as in the configuration; nil for what is no specification.
    package init?(_ text: String) {
        isInverted = text.hasPrefix("!")
        let rest = isInverted ? text.dropFirst() : text[...]
        if rest.hasPrefix("/") {
            guard rest.count > 1 else { return nil }
            output = .light(path: rest.hasSuffix("/") ? String(rest.dropLast()) : String(rest))
            return
        }
        // Lines are spelled as those of a hook.
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
