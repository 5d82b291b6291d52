/// The source of the plug state of the wired headset's socket, as given in `[device wiredHeadset] jack`.
package enum JackSpecification: Hashable, Sendable {
    /// None: the headset is present whenever its sound card is.
    case cardAlone
    /// One or several, for the headphone and the microphone.
    case parts([JackPart])

    package static let accepted =
        "names of control elements (Headphone Jack, Headset Mic Jack) or hw:CARD/NAME, evdev:NAME or evdev:/dev/input/…,"
        + " several with a comma between them; or none"

    /// - Parameter text: as in the configuration; nil for an invalid text.
    package init?(_ text: String) {
        if text == "none" {
            self = .cardAlone
            return
        }
        var parts: [JackPart] = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let part = JackPart(word, position: parts.count) else { return nil }
            parts.append(part)
        }
        self = .parts(parts)
    }
}

extension JackSpecification: CustomStringConvertible {
    /// The text that `init(_:)` reads.
    package var description: String {
        switch self {
        case .cardAlone: "none"
        case .parts(let parts): parts.map(\.description).joined(separator: ", ")
        }
    }
}

/// One source of the jack's state.
package enum JackPart: Hashable, Sendable {
    /// An ALSA control element; `card` (`hw:PCH`) is that of the device's PCM when nil.
    case control(card: String?, name: String, isMicrophone: Bool)
    /// An input device, by name or path, with SW_HEADPHONE_INSERT or SW_MICROPHONE_INSERT.
    case input(String)

    /// - Parameter position: index in the list: a name without "mic" belongs to the microphone unless it is the first.
    package init?(_ text: some StringProtocol, position: Int) {
        let text = Self.trimmed(text)
        if text.hasPrefix("evdev:") {
            let device = text.dropFirst("evdev:".count)
            guard !device.isEmpty else { return nil }
            self = .input(String(device))
            return
        }
        var card: String?
        var name = Substring(text)
        if text.hasPrefix("hw:"), let slash = text.firstIndex(of: "/") {
            card = String(text[..<slash])
            name = text[text.index(after: slash)...]
        }
        guard !name.isEmpty, card != "hw:", !text.contains(";") else { return nil }
        let saysMicrophone = name.lowercased().mentions("mic")
        self = .control(card: card, name: String(name), isMicrophone: saysMicrophone || position > 0)
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        var rest = text[...]
        while rest.first == " " { rest = rest.dropFirst() }
        while rest.last == " " { rest = rest.dropLast() }
        return String(rest)
    }
}

extension JackPart: CustomStringConvertible {
    package var description: String {
        switch self {
        case .control(let card, let name, _): card.map { "\($0)/\(name)" } ?? name
        case .input(let device): "evdev:\(device)"
        }
    }
}
