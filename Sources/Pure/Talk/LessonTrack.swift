import BluetoothTypes

/// What a lesson has received in one way: on the AT connection, by the voice link, from one service.
struct LessonTrack: Sendable {
    enum Way: Hashable, Sendable {
        case at, link
        case serial(ServiceUUID)
        case notification(ServiceUUID, ServiceUUID)
    }

    enum Content: Hashable, Sendable {
        case command(ATTalkPattern)
        case link(isOpen: Bool)
        case bytes([UInt8])
    }

    /// A failure as an error, for `Result`.
    struct Reason: Error {
        let failure: TalkLesson.Failure
    }

    private struct Message: Hashable {
        let content: Content
        let at: Instant
    }

    /// The same message again within this time is a repetition while the key is held.
    private static let repetitionGap = Duration.milliseconds(400)

    let way: Way
    private var messages: [Message] = []
    /// When the last message came, also a repetition.
    private var lastAt = Instant.zero
    /// More messages came than are kept.
    private var isFull = false

    init(_ way: Way) {
        self.way = way
    }

    mutating func add(_ content: Content, at now: Instant) {
        defer { lastAt = now }
        if let last = messages.last, last.content == content, lastAt.duration(to: now) < Self.repetitionGap { return }
        guard messages.count < TalkLesson.mostMessages else {
            isFull = true
            return
        }
        messages.append(Message(content: content, at: now))
    }

    /// Preference, from 0 for the highest.
    var order: Int {
        switch way {
        case .at: 0
        case .notification: 1
        case .serial: 2
        case .link: 3
        }
    }

    // MARK: Presses

    /// The messages of a key: one for the press, one for the release, alternating.
    private struct Pair: Hashable {
        let press: Content
        let release: Content
        /// Complete presses.
        let count: Int
    }

    /// The contents, each once, in the order of their first message.
    private var contents: [Content] {
        var contents: [Content] = []
        for message in messages where !contents.contains(message.content) { contents.append(message.content) }
        return contents
    }

    /// The pairs of contents that alternate; other messages between them are ignored. A device has few contents, otherwise it
    /// has no pattern.
    private var pairs: [Pair] {
        let contents = contents
        guard (2...6).contains(contents.count), !isFull else { return [] }
        var pairs: [Pair] = []
        for (index, first) in contents.enumerated() {
            for second in contents.dropFirst(index + 1) {
                var course: [Content] = []
                for message in messages where message.content == first || message.content == second {
                    if course.last != message.content { course.append(message.content) }
                }
                // Seven messages for three presses: the first one told the state when the connection began.
                let isGreeted = course.count == 2 * TalkLesson.presses + 1
                pairs.append(
                    Pair(
                        press: isGreeted ? second : first, release: isGreeted ? first : second,
                        count: course.count / 2))
            }
        }
        return pairs
    }

    /// The pair with three presses; nil for none, or if more than one fits.
    private var pair: Pair? {
        let complete = pairs.filter { $0.count >= TalkLesson.presses }
        return complete.count == 1 ? complete.first : nil
    }

    /// Three equal messages about as far from each other as a person's presses.
    private var isAlternating: Bool {
        guard messages.count == TalkLesson.presses, contents.count == 1, way != .link else { return false }
        return zip(messages, messages.dropFirst()).allSatisfy { $0.at.duration(to: $1.at) <= TalkLesson.quiet }
    }

    var isComplete: Bool { pair != nil || isAlternating }

    /// Presses recognised so far.
    var presses: Int {
        switch contents.count {
        case 0: 0
        case 1: messages.count
        default: pairs.map(\.count).max() ?? 0
        }
    }

    /// Whether more presses could complete it.
    var mayBeKey: Bool { !isFull && contents.count <= 2 }

    /// A message, for people.
    var example: String? {
        guard let content = messages.last?.content else { return nil }
        return switch content {
        case .command(let pattern): "AT\(pattern)"
        case .link(let isOpen): isOpen ? "an open voice link" : "the end of a voice link"
        case .bytes(let bytes): TalkPattern(observed: bytes)?.description ?? "\(bytes.count) bytes"
        }
    }

    // MARK: The row

    /// How the device reports its key; a failure when its messages cannot make a row.
    func reading() -> Result<TalkRow.Reading, Reason> {
        let contents: (press: Content, release: Content?)
        if let pair {
            contents = (pair.press, pair.release)
        } else if isAlternating, let message = messages.first {
            contents = (message.content, nil)
        } else {
            return .failure(Reason(failure: .noPattern(example ?? "nothing")))
        }
        switch (way, contents.press, contents.release) {
        case (.link, .link(isOpen: true), .link(isOpen: false)): return .success(.link)
        case (.at, .command(let press), .command(let release)?):
            return .success(.at(press: [press], release: [release]))
        case (.at, .command(let press), nil): return .success(.at(press: [press], release: []))
        case (.serial(let service), .bytes(let press), let release):
            return patterns(press, release) { $0.contains($1) || $1.contains($0) }.map {
                .serial(service: service, press: $0.press, release: $0.release)
            }
        case (.notification(let service, let characteristic), .bytes(let press), let release):
            return patterns(press, release) { $0.overlaps($1) }.map {
                .notification(
                    service: service, characteristic: characteristic, press: $0.press, release: $0.release)
            }
        case (.at, _, _), (.link, _, _), (.serial, _, _), (.notification, _, _):
            return .failure(Reason(failure: .noPattern(example ?? "nothing")))
        }
    }

    private func patterns(
        _ press: [UInt8], _ release: Content?, _ conflict: (TalkPattern, TalkPattern) -> Bool
    ) -> Result<(press: [TalkPattern], release: [TalkPattern]), Reason> {
        var messages = [press]
        if case .bytes(let bytes)? = release { messages.append(bytes) }
        let longest = messages.map(\.count).max() ?? 0
        // First as text, then byte by byte: `p` and `P` are the same text.
        for read in [{ TalkPattern(observed: $0) }, { TalkPattern(exactly: $0) }] as [([UInt8]) -> TalkPattern?] {
            let patterns = messages.compactMap(read)
            guard patterns.count == messages.count else { return .failure(Reason(failure: .tooLong(longest))) }
            if patterns.count < 2 || !conflict(patterns[0], patterns[1]) {
                return .success((press: [patterns[0]], release: Array(patterns.dropFirst())))
            }
        }
        return .failure(Reason(failure: .noPattern(example ?? "nothing")))
    }
}
