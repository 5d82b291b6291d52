import Cameras

/// Words that mean a camera: `front` and `back` of the configuration or the board, and the names of the present ones.
struct CameraNames: Equatable, Sendable {
    static let frontWord = "front"
    static let backWord = "back"

    /// A camera's name or the path of its node; nil: the first camera that is not the back one.
    var front: String?
    /// Nil: the box has none.
    var back: String?

    /// Takes what is not named yet.
    mutating func complete(with others: CameraNames) {
        front = front ?? others.front
        back = back ?? others.back
    }

    /// Whether a text can be a camera's name: 1 to 256 bytes without spaces and control characters.
    static func isName(_ text: String) -> Bool {
        (1...256).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    }

    /// The present camera that a word means.
    func camera(_ word: String, among cameras: [Camera]) -> Camera? {
        switch word {
        case Self.frontWord:
            if let front { return Self.find(front, cameras) }
            let behind = back.flatMap { Self.find($0, cameras) }
            let others = cameras.filter { $0 != behind }
            return others.first(where: \.isPermitted) ?? others.first
        case Self.backWord: return back.flatMap { Self.find($0, cameras) }
        default: return Self.find(word, cameras)
        }
    }

    /// Whether a word may be chosen now. `front` always may, and `back` if it is configured: such a camera may come later.
    func accepts(_ word: String, among cameras: [Camera]) -> Bool {
        word == Self.frontWord || word == Self.backWord && back != nil || Self.find(word, cameras) != nil
    }

    /// What ``accepts(_:among:)`` accepts, for messages.
    func accepted(among cameras: [Camera]) -> String {
        let words = [Self.frontWord] + (back == nil ? [] : [Self.backWord]) + cameras.map(\.id)
        return words.joined(separator: ", ")
    }

    func aliases(of camera: Camera, among cameras: [Camera]) -> [String] {
        [Self.frontWord, Self.backWord].filter { self.camera($0, among: cameras) == camera }
    }

    private static func find(_ name: String, _ cameras: [Camera]) -> Camera? {
        let links = "/dev/v4l/by-path/"
        let id = name.hasPrefix(links) ? String(name.dropFirst(links.count)) : name
        return cameras.first { $0.id == id } ?? cameras.first { $0.path == name }
    }
}
