import BluetoothTypes
import HandsFree
import Talk
import TestSupport
import Testing

@Suite struct TalkLessonTests {
    private static let device = BluetoothAddress(value: 0x0011_2233_4455)
    private static let service = ServiceUUID(short: 0xFFE0)
    private static let characteristic = ServiceUUID(short: 0xFFE1)

    private static func notified(_ bytes: UInt8...) -> TalkLesson.Observation {
        .notification(service: service, characteristic: characteristic, bytes)
    }

    private static func said(_ text: String) -> TalkLesson.Observation {
        .serial(service: .serialPort, Array(text.utf8))
    }

    /// Plays observations at times in milliseconds, keeps deadlines, and waits for the end.
    private func play(_ course: [(Int64, TalkLesson.Observation)]) throws -> (end: TalkLesson.Action, counts: [Int]) {
        var lesson = TalkLesson(device: Self.device, at: .zero)
        var deadline: Instant?
        var end: TalkLesson.Action?
        var counts: [Int] = []
        func handle(_ actions: [TalkLesson.Action]) {
            for action in actions {
                #expect(end == nil || action == .setDeadline(nil))
                switch action {
                case .recognised(let count): counts.append(count)
                case .learnt, .failed: end = action
                case .setDeadline(let time): deadline = time
                }
            }
        }
        func keepDeadlines(until now: Instant) {
            while let time = deadline, time <= now {
                deadline = nil
                handle(lesson.deadlineReached(at: time))
            }
        }
        handle(lesson.start())
        for (time, observation) in course {
            let now = Instant(milliseconds: time)
            keepDeadlines(until: now)
            handle(lesson.observed(observation, at: now))
        }
        keepDeadlines(until: Instant(milliseconds: 1_000_000))
        #expect(deadline == nil && counts == counts.sorted() && counts.allSatisfy { (1...3).contains($0) })
        return (try #require(end), counts)
    }

    /// Three presses of a second, with these messages.
    private func presses(
        _ press: TalkLesson.Observation, _ release: TalkLesson.Observation?, count: Int = 3
    ) -> [(Int64, TalkLesson.Observation)] {
        (0..<count).flatMap { number -> [(Int64, TalkLesson.Observation)] in
            let start = 1000 + Int64(number) * 2000
            return [(start, press)] + (release.map { [(start + 1000, $0)] } ?? [])
        }
    }

    private func learnt(_ course: [(Int64, TalkLesson.Observation)]) throws -> TalkRow {
        let (end, counts) = try play(course)
        guard case .learnt(let row) = end else { throw TalkDialogue.Mistake(description: "\(end)") }
        #expect(counts.last == 3)
        #expect(row.origin == .learnt && row.name == "learnt-001122334455")
        #expect(row.reasons(for: TalkSubject(address: Self.device)) != nil)
        #expect(row.reasons(for: TalkSubject(address: BluetoothAddress(value: 1))) == nil)
        return row
    }

    private func failure(_ course: [(Int64, TalkLesson.Observation)]) throws -> TalkLesson.Failure {
        let (end, _) = try play(course)
        guard case .failed(let failure) = end else { throw TalkDialogue.Mistake(description: "\(end)") }
        #expect(!failure.description.isEmpty)
        return failure
    }

    private static func patterns(_ texts: String...) -> [TalkPattern] { texts.compactMap { TalkPattern($0) } }

    @Test func `notifications of a press and a release`() throws {
        let row = try learnt(presses(Self.notified(1), Self.notified(0)))
        #expect(
            row.reading
                == .notification(
                    service: Self.service, characteristic: Self.characteristic, press: Self.patterns("0x01"),
                    release: Self.patterns("0x00")))
        #expect(row.keepsLink)
    }

    @Test func `the state that is told when the connection begins is no press`() throws {
        let row = try learnt([(200, Self.notified(0))] + presses(Self.notified(1), Self.notified(0)))
        #expect(NotificationTalkReader(row)?.read([1]) == .pressed)
        #expect(NotificationTalkReader(row)?.read([0]) == .released)
    }

    @Test func `a button without releases`() throws {
        let row = try learnt(presses(Self.notified(1), nil))
        #expect(row.isAlternating)
        #expect(NotificationTalkReader(row)?.read([1]) == .tapped)
    }

    @Test func `bytes of a stream, split and with line ends`() throws {
        let course = presses(Self.said("+PTT=P\r\n"), Self.said("+PTT=R\r\n")).flatMap { time, observation in
            guard case .serial(let service, let bytes) = observation else { return [(time, observation)] }
            return [
                (time, .serial(service: service, Array(bytes.prefix(3)))),
                (time + 20, .serial(service: service, Array(bytes.dropFirst(3)))),
            ]
        }
        let row = try learnt(course)
        #expect(
            row.reading
                == .serial(service: .serialPort, press: Self.patterns("+PTT=P"), release: Self.patterns("+PTT=R")))
    }

    @Test func `a line end that comes late is no message`() throws {
        let course = presses(Self.said("P"), Self.said("R")).flatMap { time, observation in
            [(time, observation), (time + 200, Self.said("\r\n"))]
        }
        #expect(try learnt(course).protocol == .serial)
    }

    @Test func `texts that differ by the case of a letter become bytes`() throws {
        let row = try learnt(presses(Self.said("a"), Self.said("A")))
        #expect(
            row.reading
                == .serial(service: .serialPort, press: Self.patterns("0x61"), release: Self.patterns("0x41")))
    }

    @Test func `a message that is repeated while the key is held`() throws {
        var course: [(Int64, TalkLesson.Observation)] = []
        for (time, observation) in presses(Self.notified(1), Self.notified(0)) {
            course.append((time, observation))
            guard observation == Self.notified(1) else { continue }
            for number in 1...9 { course.append((time + Int64(number) * 100, observation)) }
        }
        #expect(NotificationTalkReader(try learnt(course))?.read([1]) == .pressed)
    }

    @Test func `commands of a headset, known and unknown ones`() throws {
        #expect(
            try learnt(presses(.at(.talkKey(true)), .at(.talkKey(false)))).reading
                == .at(press: [.event(["TALK", "1"])], release: [.event(["TALK", "0"])]))
        let press = AudioGateway.Event.vendor(AudioGateway.VendorReport("PTT", ["1"]))
        let release = AudioGateway.Event.vendor(AudioGateway.VendorReport("PTT", ["0"]))
        let row = try learnt(presses(.at(press), .at(release)))
        #expect(ATTalkReader(row)?.read(press) == .pressed && ATTalkReader(row)?.read(release) == .released)
        #expect(ATTalkReader(try learnt(presses(.at(.button(.callKey)), nil)))?.read(.button(.callKey)) == .tapped)
    }

    @Test func `the voice link, and a command beside it, which counts first`() throws {
        let links = presses(.link(isOpen: true), .link(isOpen: false))
        let row = try learnt(links)
        #expect(row.reading == .link && !row.keepsLink)
        let both = (links + presses(.at(.talkKey(true)), .at(.talkKey(false)))).sorted { $0.0 < $1.0 }
        #expect(try learnt(both).protocol == .at)
    }

    @Test func `signs of life beside a key do not hide it`() throws {
        var course = presses(Self.notified(1), Self.notified(0))
        course.insert((1500, Self.notified(0x80)), at: 1)
        course.append((7500, Self.notified(0x80)))
        #expect(NotificationTalkReader(try learnt(course))?.read([1]) == .pressed)
    }

    @Test func `reasons why there is no row`() throws {
        #expect(try failure([]) == .silent)
        #expect(try failure([(1000, .at(.audioRequested))]) == .silent)
        #expect(try failure(presses(Self.notified(1), Self.notified(0), count: 2)) == .tooFewPresses(2))
        #expect(try failure(presses(Self.notified(1), nil, count: 1)) == .tooFewPresses(1))
        let counter = (0..<6).map { (1000 + Int64($0) * 1000, Self.notified(UInt8($0))) }
        #expect(try failure(counter) == .noPattern("0x05"))
        let long = String(repeating: "x", count: 40)
        #expect(try failure(presses(Self.said(long + "P"), Self.said(long + "R"))) == .tooLong(41))
        #expect(try failure(presses(Self.said("P"), Self.said("PR"))) == .noPattern("PR"))
    }

    @Test func `messages that come regularly are no key`() throws {
        for gap in [500, 2500, 5000] as [Int64] {
            let course = (0..<(60_000 / gap)).map { ($0 * gap, Self.notified(7)) }
            #expect(try failure(course) == .noPattern("0x07"), "\(gap)")
        }
    }

    @Test(arguments: randomCourses(300))
    func `any course ends in time, and its row reads the presses`(_ seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var time: Int64 = 0
        let course = (0..<random.below(200)).map { _ -> (Int64, TalkLesson.Observation) in
            time += Int64(random.below(random.below(6) == 0 ? 4000 : 300))
            let byte = UInt8(random.below(3))
            return switch random.below(5) {
            case 0: (time, .link(isOpen: random.below(2) == 0))
            case 1: (time, .at(.talkKey(random.below(2) == 0)))
            case 2: (time, Self.said(["+PTT=P", "+PTT=R", "\r\n"][random.below(3)]))
            default: (time, Self.notified(byte))
            }
        }
        let (end, _) = try play(course)
        guard case .learnt(let row) = end else { return }
        #expect(!row.text.isEmpty)
    }
}
