import Foundation

/// Finds the messages that are written in calls of a source file: `Name(…, "text \(value) text")`.
struct MessageReader {
    /// One text; values are inserted between the pieces at run time.
    struct Message: Hashable, CustomStringConvertible {
        let pieces: [String]
        var description: String { pieces.joined(separator: "…") }

        static func + (first: Message, second: Message) -> Message {
            var pieces = first.pieces
            pieces[pieces.count - 1] += second.pieces[0]
            return Message(pieces: pieces + second.pieces.dropFirst())
        }
    }

    /// The name of the call, and the label of the argument that is its message; nil: every argument without one.
    struct Call {
        let name: String
        var label: String?
    }

    private let text: [Character]
    private var position = 0

    static func messages(in source: String, of calls: [Call]) -> [Message] {
        var messages: [Message] = []
        for call in calls {
            let opening = call.name + "("
            var rest = source[...]
            while let range = rest.range(of: opening) {
                rest = rest[range.upperBound...]
                var reader = MessageReader(rest)
                messages += reader.arguments(call.label)
            }
        }
        return messages
    }

    private init(_ text: Substring) {
        self.text = Array(text.prefix(4000))
    }

    /// The texts among the arguments up to the closing parenthesis.
    private mutating func arguments(_ label: String?) -> [Message] {
        var found: [Message] = []
        var depth = 1
        var argument = ""
        // The rest after the previous text; nil if that was no message.
        var between: String?
        while position < text.count, depth > 0 {
            let character = text[position]
            position += 1
            switch character {
            case "(", "[", "{": depth += 1
            case ")", "]", "}": depth -= 1
            case ",":
                if depth == 1 { (argument, between) = ("", nil) }
            case "\"":
                let message = literal()
                guard depth == 1 else { continue }
                if between?.trimmingCharacters(in: .whitespacesAndNewlines) == "+", let last = found.popLast() {
                    found.append(last + message)
                } else if isMessage(argument, label) {
                    found.append(message)
                } else {
                    continue
                }
                between = ""
            default:
                if depth == 1 { argument.append(character) }
                between?.append(character)
            }
        }
        return found
    }

    /// - Parameter argument: the part before the text.
    private func isMessage(_ argument: String, _ label: String?) -> Bool {
        let name = argument.split(separator: ":").first.map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
        let isLabelled = argument.contains(":") && (name?.allSatisfy(\.isLetter) ?? false)
        return label == nil ? !isLabelled : isLabelled && name == label
    }

    /// A text on one line, behind its opening quote.
    private mutating func literal() -> Message {
        var pieces = [""]
        while position < text.count {
            let character = text[position]
            position += 1
            if character == "\"" { break }
            guard character == "\\", position < text.count else {
                pieces[pieces.count - 1].append(character)
                continue
            }
            let escaped = text[position]
            position += 1
            if escaped == "(" {
                skipInterpolation()
                pieces.append("")
            } else {
                pieces[pieces.count - 1].append(escaped)
            }
        }
        return Message(pieces: pieces)
    }

    private mutating func skipInterpolation() {
        var depth = 1
        while position < text.count, depth > 0 {
            let character = text[position]
            position += 1
            switch character {
            case "(": depth += 1
            case ")": depth -= 1
            case "\"": _ = literal()
            default: break
            }
        }
    }
}
