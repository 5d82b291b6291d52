import BluetoothTypes
import HandsFree
import Talk
import TalkWords

/// What devices with a talk key send: two lines of patterns, press and release, then the bytes of a stream, in which each line
/// is a notification as well.
enum TalkTarget {
    static func run(_ input: [UInt8]) throws(BrokenRule) {
        let lines = input.split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
        func patterns(_ index: Int, _ usual: String) -> [TalkPattern] {
            let text = index < lines.count ? String(decoding: lines[index].prefix(100), as: UTF8.self) : ""
            let given = text.split(separator: ",").prefix(3).compactMap { TalkPattern(String($0)) }
            return given.isEmpty ? [usual].compactMap { TalkPattern($0) } : given
        }
        let press = patterns(0, "+PTT=P")
        let release = lines.count > 1 && lines[1].isEmpty ? [] : patterns(1, "+PTT=R")
        let bytes = Array(lines.last ?? [])
        for pattern in press + release {
            try require(TalkPattern(pattern.description) == pattern, "\(pattern) reads back as it is written")
        }
        try readStream(bytes, press, release)
        try readNotifications(bytes, press, release)
        try learn(bytes)
    }

    // MARK: Readers

    private static func readStream(
        _ bytes: [UInt8], _ press: [TalkPattern], _ release: [TalkPattern]
    ) throws(BrokenRule) {
        var whole = SerialTalkReader(press: press, release: release)
        let signals = whole.read(bytes)
        var single = SerialTalkReader(press: press, release: release)
        var singly: [TalkSignal] = []
        for byte in bytes { singly += single.read([byte]) }
        try require(signals == singly, "a stream is read the same however it is cut: \(signals), \(singly)")
        try require(whole == single, "both readers keep the same")
        // A simpler reader, which keeps everything since the last pattern.
        var simple: [TalkSignal] = []
        var since: [UInt8] = []
        for byte in bytes {
            since.append(byte)
            if press.contains(where: { $0.matchesEnd(of: since) }) {
                simple.append(release.isEmpty ? .tapped : .pressed)
                since = []
            } else if release.contains(where: { $0.matchesEnd(of: since) }) {
                simple.append(.released)
                since = []
            }
        }
        try require(signals == simple, "a stream is read like by a simpler reader: \(signals), \(simple)")
        try drive(signals)
    }

    private static func readNotifications(
        _ bytes: [UInt8], _ press: [TalkPattern], _ release: [TalkPattern]
    ) throws(BrokenRule) {
        let reader = NotificationTalkReader(press: press, release: release)
        var signals: [TalkSignal] = []
        for value in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            guard let signal = reader.read(value) else { continue }
            signals.append(signal)
            let patterns = signal == .released ? release : press
            try require(patterns.contains { $0.matches(Array(value)) }, "\(signal) without its pattern")
        }
        try drive(signals)
    }

    /// The key and the floor, 10 ms from signal to signal: each press ends, and nothing is open without a holder.
    private static func drive(_ signals: [TalkSignal]) throws(BrokenRule) {
        var key = TalkKey(limit: .seconds(1))
        var floor = TalkFloor(TalkSettings(mode: .push))
        var now = Instant.zero
        var isPressed = false
        var presses = 0
        let id = TalkKeyID(.button, "fuzz")
        _ = floor.callBecameActive(at: now)
        _ = key.appeared()
        for signal in signals {
            now = now.advanced(by: .milliseconds(10))
            for action in key.signal(signal, at: now) + key.deadlineReached(at: now) {
                guard case .event(let event) = action else { continue }
                switch event {
                case .pressed:
                    try require(!isPressed, "pressed twice")
                    isPressed = true
                    presses += 1
                case .tapped: presses += 1
                case .released, .stuck, .gone: isPressed = false
                }
                _ = floor.key(id, event, at: now)
                try require(floor.gate != .open || floor.talking.holder == id, "open without a holder")
            }
            _ = floor.deadlineReached(at: now)
        }
        let seconds = Int(now.nanoseconds / 1_000_000_000) + 1
        try require(presses <= TalkKey.burst + TalkKey.perSecond * seconds, "\(presses) presses in \(seconds) s")
        _ = floor.key(id, .gone, at: now)
        try require(floor.gate == .closed, "open after its key is gone")
    }

    // MARK: Lessons

    /// A lesson of these bytes: 0x80 and above waits, everything else is sent in one of four ways.
    private static func learn(_ bytes: [UInt8]) throws(BrokenRule) {
        let address = BluetoothAddress(value: 0x0011_2233_4455)
        let service = ServiceUUID(short: 0xFFE0)
        var lesson = TalkLesson(device: address, at: .zero)
        var now = Instant.zero
        var end: TalkLesson.Action?
        var actions = lesson.start()
        for byte in bytes {
            switch byte {
            case 0x80...: now = now.advanced(by: .milliseconds(Int64(byte & 0x7F) * 20))
            case 0x60...0x61: actions += lesson.observed(.link(isOpen: byte == 0x61), at: now)
            case 0x62...0x63: actions += lesson.observed(.at(.talkKey(byte == 0x63)), at: now)
            case 0x64...0x67:
                actions += lesson.observed(
                    .notification(service: service, characteristic: service, [byte & 3]), at: now)
            default: actions += lesson.observed(.serial(service: .serialPort, [byte]), at: now)
            }
            actions += lesson.deadlineReached(at: now)
        }
        actions += lesson.deadlineReached(at: now.advanced(by: TalkLesson.messageGap))
        actions += lesson.deadlineReached(at: now.advanced(by: TalkLesson.limit))
        for action in actions {
            switch action {
            case .recognised(let count): try require((1...TalkLesson.presses).contains(count), "\(count) presses")
            case .learnt, .failed:
                try require(end == nil, "a lesson ends once")
                end = action
            case .setDeadline: break
            }
        }
        try require(end != nil, "a lesson ends")
        guard case .learnt(let row)? = end else { return }
        try require(row.reasons(for: TalkSubject(address: address)) != nil, "the row is for the device")
        let (rows, mistakes) = TalkRows.reading(entries: entries(row.text), path: "fuzz", origin: .learnt)
        try require(mistakes.isEmpty, "a learnt row is accepted: \(row.text) \(mistakes)")
        try require(rows.rows.first?.reading == row.reading, "a learnt row reads back: \(row.text)")
    }

    /// The entries of a file with this one row, as libinih reads them.
    private static func entries(_ row: String) -> [QuirksEntry] {
        var entries = [
            QuirksEntry(section: "database", key: nil, value: "", line: 1),
            QuirksEntry(section: "database", key: "format", value: "1", line: 2),
        ]
        var section = ""
        for line in row.split(separator: "\n") {
            if line.hasPrefix("[") {
                section = String(line.dropFirst().dropLast())
                entries.append(QuirksEntry(section: section, key: nil, value: "", line: 3))
            } else if let position = line.firstIndex(of: "=") {
                entries.append(
                    QuirksEntry(
                        section: section, key: String(line[..<position].dropLast()),
                        value: String(line[line.index(after: position)...].dropFirst()), line: 4))
            }
        }
        return entries
    }
}
