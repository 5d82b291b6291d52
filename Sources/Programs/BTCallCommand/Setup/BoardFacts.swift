import CommandKit
import ControlLoop
import Glibc

/// A sound card as listed in /proc/asound.
struct FoundCard: Hashable, Sendable {
    let index: Int
    /// The short name, used with `CARD=`.
    let identifier: String
    let name: String
    var isUSB = false
    /// Numbers of its devices, in order.
    var playback: [Int] = []
    var capture: [Int] = []

    /// Whether its output is HDMI or DisplayPort.
    var isVideo: Bool {
        let words = (identifier + " " + name).lowercased()
        return ["hdmi", "displayport", "vc4"].contains { words.contains($0) }
    }
}

/// The board's model and its sound cards.
struct BoardFacts: Hashable, Sendable {
    /// Nil when the board states none.
    var model: String?
    var cards: [FoundCard] = []

    /// - Parameter root: prefix of all paths; empty for this machine.
    static func read(root: String = "") -> BoardFacts {
        var facts = BoardFacts()
        let names = ["/proc/device-tree/model", "/sys/class/dmi/id/product_name"]
        facts.model = names.lazy.compactMap { text(of: root + $0).map(trimmed) }.first { !$0.isEmpty }
        for line in (text(of: root + "/proc/asound/cards") ?? "").split(whereSeparator: \.isNewline) {
            guard var card = card(line) else { continue }
            card.isUSB = access("\(root)/proc/asound/card\(card.index)/usbid", F_OK) == 0
            facts.cards.append(card)
        }
        for line in (text(of: root + "/proc/asound/pcm") ?? "").split(whereSeparator: \.isNewline) {
            facts.add(device: line)
        }
        return facts
    }

    /// Reads ` 1 [PCH            ]: HDA-Intel - HDA Intel PCH`; nil for the lines between.
    private static func card(_ line: Substring) -> FoundCard? {
        guard let open = line.firstIndex(of: "["), let close = line.firstIndex(of: "]"), open < close,
            let index = Int(trimmed(String(line[..<open])))
        else { return nil }
        let rest = line[close...].dropFirst()
        guard rest.first == ":" else { return nil }
        let words = String(rest.dropFirst())
        let name = words.firstRange(of: " - ").map { String(words[$0.upperBound...]) } ?? words
        let identifier = trimmed(String(line[line.index(after: open)..<close]))
        return FoundCard(index: index, identifier: identifier, name: trimmed(name))
    }

    /// Reads `01-00: ALC892 Analog : ALC892 Analog : playback 1 : capture 1`.
    private mutating func add(device line: Substring) {
        let parts = line.split(separator: ":").map { Self.trimmed(String($0)) }
        let numbers = (parts.first ?? "").split(separator: "-")
        guard numbers.count == 2, let card = Int(numbers[0]), let device = Int(numbers[1]),
            let index = cards.firstIndex(where: { $0.index == card })
        else { return }
        if parts.contains(where: { $0.hasPrefix("playback ") }) { cards[index].playback.append(device) }
        if parts.contains(where: { $0.hasPrefix("capture ") }) { cards[index].capture.append(device) }
    }

    private static func trimmed(_ text: String) -> String {
        let isSpace: (Character) -> Bool = { $0.isWhitespace || $0 == "\0" }
        return String(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }

    /// Nil when there is no such file.
    private static func text(of path: String) -> String? {
        // A missing file is a missing fact.
        guard let bytes = try? SetupFile.bytes(of: path) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Files of `btcall setup`.
enum SetupFile {
    private static let mostBytes = 1 << 22

    static func bytes(of path: String) throws(FileRefusal) -> [UInt8] { try ForeignFile.read(path, atMost: mostBytes) }

    /// Replaces a file atomically, keeping its mode.
    static func replace(_ path: String, with text: String) throws {
        var status = stat()
        let mode = stat(path, &status) == 0 ? status.st_mode & 0o777 : 0o644
        do throws(SystemError) {
            try OwnFile.replace(path, with: Array(text.utf8), exactMode: mode)
        } catch {
            throw CommandFailure("\(path) cannot be written: \(error); run it as root, or name another --output")
        }
    }
}
