package import BoardInput

/// The source of the hook state, as given in `[device earpiece] hook`.
package struct HookSpecification: Hashable, Sendable {
    package enum Source: Hashable, Sendable {
        /// A key or switch of an input device, by name or path.
        case input(device: String, InputCode)
        /// A line of a GPIO chip, by name, path or label.
        case line(chip: String, line: Int, bias: GPIOLine.Bias)
    }

    package let source: Source
    /// Whether an active contact means that the handset is on the hook.
    package let isInverted: Bool

    package static let accepted =
        "evdev:NAME, evdev:/dev/input/… or gpio:CHIP:LINE, with ! in front to invert it; after evdev a key or switch may"
        + " follow (:KEY_PHONE, the one without; :SW_DOCK, :key:169, :switch:13), after gpio :pullUp, :pullDown or :none"

    /// - Parameter text: as in the configuration; nil for an invalid text.
    package init?(_ text: String) {
        isInverted = text.hasPrefix("!")
        let rest = isInverted ? text.dropFirst() : text[...]
        guard let colon = rest.firstIndex(of: ":") else { return nil }
        let value = rest[rest.index(after: colon)...]
        let source: Source? =
            switch rest[..<colon] {
            case "evdev": Self.input(value)
            case "gpio": Self.line(value)
            default: nil
            }
        guard let source else { return nil }
        self.source = source
    }

    /// The code is the last word, or the last two words separated by a colon; a device's name may contain colons as well.
    private static func input(_ text: Substring) -> Source? {
        let words = text.split(separator: ":", omittingEmptySubsequences: false)
        for count in [2, 1] where words.count > count {
            let device = words.dropLast(count).joined(separator: ":")
            guard !device.isEmpty, let code = InputCode(words.suffix(count).joined(separator: ":")) else { continue }
            return .input(device: device, code)
        }
        guard let last = words.last, !last.isEmpty else { return nil }
        // An unknown name that looks like a code is a typing mistake, not a device.
        let looksLikeCode = ["KEY_", "SW_", "BTN_"].contains { last.hasPrefix($0) }
        guard words.count == 1 || !looksLikeCode else { return nil }
        return .input(device: String(text), .phone)
    }

    private static func line(_ text: Substring) -> Source? {
        var words = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        var bias = GPIOLine.Bias.unchanged
        if let last = words.last, let named = GPIOLine.Bias(rawValue: last), named != .unchanged {
            bias = named
            words.removeLast()
        }
        guard words.count == 2, !words[0].isEmpty, let line = Int(words[1]), line >= 0 else { return nil }
        return .line(chip: words[0], line: line, bias: bias)
    }
}

extension HookSpecification: CustomStringConvertible {
    package var description: String {
        let sign = isInverted ? "!" : ""
        switch source {
        case .input(let device, let code): return "\(sign)evdev:\(device):\(code)"
        case .line(let chip, let line, let bias):
            return "\(sign)gpio:\(chip):\(line)" + (bias == .unchanged ? "" : ":\(bias.rawValue)")
        }
    }
}
