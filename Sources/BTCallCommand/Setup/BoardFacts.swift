import Glibc

/// A sound card, as the kernel shows it in /proc/asound.
struct FoundCard: Hashable, Sendable {
    let index: Int
    /// The short name: what stands behind `CARD=`.
    let identifier: String
    let name: String
    var isUSB = false
    /// Numbers of its devices, in order.
    var playback: [Int] = []
    var capture: [Int] = []

    /// What goes to a television.
    var isVideo: Bool {
        let words = (identifier + " " + name).lowercased()
        return ["hdmi", "displayport", "vc4"].contains { words.contains($0) }
    }
}

/// What a board says of itself: its model and its sound cards.
struct BoardFacts: Hashable, Sendable {
    /// Nil where it says none.
    var model: String?
    var cards: [FoundCard] = []

    /// - Parameter root: in front of all paths; empty for this machine.
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

    /// ` 1 [PCH            ]: HDA-Intel - HDA Intel PCH`; nil for the lines between.
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

    /// `01-00: ALC892 Analog : ALC892 Analog : playback 1 : capture 1`.
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

    /// Nil where there is no such file.
    private static func text(of path: String) -> String? {
        guard let bytes = SetupFile.bytes(of: path) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Files of `btcall setup`.
enum SetupFile {
    /// Nil where it cannot be read; `errno` says why.
    static func bytes(of path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65536)
        while bytes.count < 1 << 22 {
            let count = piece.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            guard count > 0 else { break }
            bytes += piece[..<count]
        }
        return bytes
    }

    /// Puts a file in the place of another in one step, with the rights of that one.
    static func replace(_ path: String, with text: String) throws {
        var status = stat()
        let mode = stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0o644
        let temporary = path + ".new"
        func failure(_ what: String) -> CommandFailure {
            let reason = String(cString: strerror(errno))
            return CommandFailure(
                "\(path) is not written: \(what): \(reason); run it as root, or name another --output")
        }
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw failure("open") }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                let error = failure("write")
                close(descriptor)
                unlink(temporary)
                throw error
            }
            rest = rest.dropFirst(count)
        }
        let isKept = fchmod(descriptor, mode) == 0 && fsync(descriptor) == 0
        close(descriptor)
        guard isKept, rename(temporary, path) == 0 else {
            let error = failure("rename")
            unlink(temporary)
            throw error
        }
    }
}
