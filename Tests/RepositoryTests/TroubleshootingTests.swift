import Foundation
import TestSupport
import Testing

/// The pages about messages explain every message.
@Suite struct TroubleshootingTests {
    /// The messages that the pages `docs/operate/Messages*.md` explain: `**`…`**`. Words in capitals stand for names and
    /// numbers, … for any text.
    static func headings() throws -> [String] {
        let paths = try Page.paths(withSuffix: ".md", under: ["docs/operate"]).filter { $0.contains("/Messages") }
        let pages = try paths.map { try RepositoryTests.contents($0) }.joined(separator: "\n")
        return pages.components(separatedBy: "**`").dropFirst().compactMap { part in
            guard let heading = part.components(separatedBy: "`**").first, !heading.contains("\n") else { return nil }
            return heading.replacing("` `", with: "")
        }
    }

    @Test
    func `Every problem and every refusal of the daemon and the library has its place on the page about messages`()
        throws
    {
        let headings = try Self.headings().map { Self.pieces(ofHeading: $0) }
        var count = 0
        for (folder, calls) in Self.sources {
            for path in try Page.paths(withSuffix: ".swift", under: [folder]) {
                let source = try RepositoryTests.contents(path)
                for message in MessageReader.messages(in: source, of: calls) where Self.saysSomething(message) {
                    count += 1
                    #expect(headings.contains { Self.fits($0, message) }, "\(path): \(message)")
                }
            }
        }
        #expect(count > 120)
    }

    private static let sources: [(folder: String, calls: [MessageReader.Call])] = [
        (
            "Sources/Daemon",
            [
                .init(name: "APIError"), .init(name: "problems.begin", label: "what"),
                .init(name: "PathError", label: "what"), .init(name: "BoardError", label: "what"),
                .init(name: "DaemonError", label: "what"),
            ]
        ),
        ("Sources/Client/BTCallAPI", [.init(name: "APIError")]),
        ("Sources/Client/BTCall", [.init(name: "BridgeError"), .init(name: "APIError"), .init(name: "self.init")]),
    ]

    /// Whether the message has words of its own: one that only passes on another message has none.
    private static func saysSomething(_ message: MessageReader.Message) -> Bool {
        message.pieces.contains { $0.filter(\.isLetter).count >= 6 }
    }

    /// The literal parts of a heading.
    private static func pieces(ofHeading heading: String) -> [String] {
        var pieces = [""]
        for word in heading.replacing("…", with: " … ").split(separator: " ") {
            let letters = word.filter(\.isLetter)
            if word == "…" || (letters.count > 1 && letters.allSatisfy(\.isUppercase)) || word == "N" || word == "N:" {
                pieces.append("")
            } else {
                pieces[pieces.count - 1] += (pieces[pieces.count - 1].isEmpty ? "" : " ") + word
            }
        }
        return pieces.filter { !$0.isEmpty }
    }

    /// Whether the longest literal part of one occurs in the other.
    private static func fits(_ heading: [String], _ message: MessageReader.Message) -> Bool {
        let said = heading.max { $0.count < $1.count } ?? ""
        let meant = message.pieces.max { $0.count < $1.count } ?? ""
        guard said.count >= 8 else { return false }
        return message.pieces.contains { $0.contains(said) }
            || heading.contains { $0.contains(meant.trimmingCharacters(in: .whitespaces)) }
    }
}
