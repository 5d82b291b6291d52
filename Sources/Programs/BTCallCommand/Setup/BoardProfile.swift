import CommandKit
import Configuration
import Routing

/// A board whose sound cards are known: a row of boards.conf.
struct BoardProfile: Sendable {
    /// Path of the installed file.
    static let installed = "/usr/share/btcall/boards.conf"

    let name: String
    private(set) var model: String?
    private(set) var card: String?
    private(set) var note: String?
    /// In the order of the file; `CARD` in a value stands for the found card.
    private(set) var keys: [(device: LocalDevice, key: String, value: String)] = []

    /// - Throws: `ConfigurationError` or ``CommandFailure`` for a file that cannot be read.
    static func read(_ file: String) throws -> [BoardProfile] {
        try profiles(ConfigurationReader.entries(ofFile: file), file: file)
    }

    static func profiles(_ entries: [ConfigurationEntry], file: String) throws -> [BoardProfile] {
        var profiles: [BoardProfile] = []
        for entry in entries {
            func refused(_ problem: String, _ accepted: String) -> CommandFailure {
                CommandFailure("\(file):\(entry.line): [\(entry.section)] \(entry.key): \(problem); \(accepted)")
            }
            let words = entry.section.split(separator: " ")
            guard words.count == 2, words[0] == "board" else {
                throw refused("there is no such section", "a section is [board NAME], its name one word")
            }
            if profiles.last?.name != String(words[1]) {
                guard !profiles.contains(where: { $0.name == words[1] }) else {
                    throw refused("the board is listed twice", "give each board one section")
                }
                profiles.append(BoardProfile(name: String(words[1])))
            }
            let last = profiles.count - 1
            switch entry.key {
            case "model": profiles[last].model = entry.value
            case "card": profiles[last].card = entry.value
            case "note": profiles[last].note = entry.value
            // Of btcall-video, which reads them itself.
            case "camera.front", "camera.back": break
            default:
                let path = entry.key.split(separator: ".", maxSplits: 1).map { String($0) }
                guard path.count == 2, let device = LocalDevice(rawValue: path[0]),
                    ConfigurationSection.device(device).keys.contains(where: { $0.name == path[1] })
                else {
                    throw refused(
                        "there is no such key",
                        "keys are model, card, note, camera.front, camera.back and DEVICE.KEY, as speakerphone.playback"
                    )
                }
                profiles[last].keys.append((device, path[1], entry.value))
            }
        }
        return profiles
    }

    private init(name: String) {
        self.name = name
    }

    /// The card by which the board matches; nil when it does not match. A row without patterns is used by name only.
    func fits(_ facts: BoardFacts) -> Fit? {
        guard model != nil || card != nil else { return nil }
        if let model, facts.model.map({ Self.matches($0, model) }) != true { return nil }
        guard let card else { return Fit(card: nil) }
        return facts.cards.first { Self.matches($0.identifier, card) }.map { Fit(card: $0) }
    }

    struct Fit {
        let card: FoundCard?
    }

    /// The board's values for its devices, with the card's name inserted.
    func values(on card: FoundCard?) -> [(device: LocalDevice, key: String, value: String)] {
        keys.map { entry in
            guard let card else { return entry }
            return (entry.device, entry.key, entry.value.replacing("=CARD", with: "=\(card.identifier)"))
        }
    }

    /// Whether a text matches one of several patterns separated by `|`, in which `*` stands for any characters.
    static func matches(_ text: String, _ patterns: String) -> Bool {
        patterns.split(separator: "|").contains { matches(Array(text)[...], Array($0)[...]) }
    }

    private static func matches(_ text: ArraySlice<Character>, _ pattern: ArraySlice<Character>) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        guard first == "*" else {
            return text.first == first && matches(text.dropFirst(), pattern.dropFirst())
        }
        return (text.startIndex...text.endIndex).contains { matches(text[$0...], pattern.dropFirst()) }
    }
}
