package import BluetoothTypes
package import HandsFree

/// Makes a row of an unknown device from three presses, each held for about a second and released.
///
/// The caller connects what the device offers, passes on everything that it hears, and tells the person how many presses have
/// been recognised. Each way in which the device sends is evaluated alone. Of several that fit, AT is preferred, then a
/// notification, the serial port and the voice link.
package struct TalkLesson: Sendable {
    package enum Observation: Hashable, Sendable {
        case at(AudioGateway.Event)
        /// The headset opened its voice link, or it ended.
        case link(isOpen: Bool)
        /// Bytes of an RFCOMM stream; split anywhere.
        case serial(service: ServiceUUID, [UInt8])
        case notification(service: ServiceUUID, characteristic: ServiceUUID, [UInt8])
    }

    /// Why the lesson gave no row.
    package enum Failure: Hashable, Sendable {
        /// Nothing at all arrived.
        case silent
        /// A key was recognised, but not three times.
        case tooFewPresses(Int)
        /// Something arrived that differs from press to press, or is no key; an example of it.
        case noPattern(String)
        /// The messages are longer than a pattern may be.
        case tooLong(Int)
    }

    package enum Action: Hashable, Sendable {
        /// Presses recognised so far: 1 to 3.
        case recognised(Int)
        /// The end.
        case learnt(TalkRow)
        /// The end.
        case failed(Failure)
        /// Call `deadlineReached` at this time, once; replaces an earlier deadline, nil cancels it.
        case setDeadline(Instant?)
    }

    /// Presses that a row needs.
    package static let presses = 3
    /// Time for all presses.
    package static let limit = Duration.seconds(30)
    /// Bytes of a stream that are this close together are one message; a person's releases come later.
    package static let messageGap = Duration.milliseconds(50)
    /// Silence that ends the lesson after the third release, and after the third press of a button without releases. A device
    /// that sends something regularly never is that silent, or has longer gaps than a person who presses three times.
    package static let quiet = Duration.seconds(3)
    /// Most messages that are kept of each way.
    static let mostMessages = 64
    /// Most ways: streams, characteristics.
    static let mostTracks = 16

    private let device: BluetoothAddress
    private let ends: Instant
    private var tracks: [LessonTrack] = []
    /// Bytes of a stream that may continue.
    private var pending: Pending?
    private var heardAt: Instant?
    private var recognised = 0
    private var isOver = false
    private var deadline: Instant?

    private struct Pending {
        let service: ServiceUUID
        var bytes: [UInt8]
        var at: Instant
    }

    /// - Parameter now: when the person is asked to press.
    package init(device: BluetoothAddress, at now: Instant) {
        self.device = device
        ends = now.advanced(by: Self.limit)
    }

    /// Returns the first deadline; to be called once.
    package mutating func start() -> [Action] { finish([]) }

    package mutating func observed(_ observation: Observation, at now: Instant) -> [Action] {
        guard !isOver else { return [] }
        var actions: [Action] = []
        heardAt = now
        switch observation {
        case .at(let event):
            if let pattern = ATTalkPattern(observed: event) { actions += heard(.at, .command(pattern), at: now) }
        case .link(let isOpen): actions += heard(.link, .link(isOpen: isOpen), at: now)
        case .serial(let service, let bytes):
            if let waiting = pending, waiting.service != service || waiting.at.duration(to: now) > Self.messageGap {
                actions += flush()
            }
            var message = pending ?? Pending(service: service, bytes: [], at: now)
            // A message that is too long stays so; the rest tells nothing more.
            message.bytes += bytes.prefix(max(2 * TalkPattern.longest - message.bytes.count, 0))
            message.at = now
            pending = message
        case .notification(let service, let characteristic, let value):
            let bytes = Array(value.prefix(2 * TalkPattern.longest))
            if !bytes.isEmpty { actions += heard(.notification(service, characteristic), .bytes(bytes), at: now) }
        }
        return finish(actions)
    }

    package mutating func deadlineReached(at now: Instant) -> [Action] {
        deadline = deadline.flatMap { $0 <= now ? nil : $0 }
        guard !isOver else { return [] }
        var actions: [Action] = []
        if let waiting = pending, waiting.at.advanced(by: Self.messageGap) <= now { actions += flush() }
        if let time = decision, time <= now {
            actions.append(conclude())
        } else if ends <= now {
            actions += flush()
            actions.append(conclude())
        }
        return finish(actions)
    }

    // MARK: Steps

    private mutating func heard(_ way: LessonTrack.Way, _ content: LessonTrack.Content, at now: Instant) -> [Action] {
        if let index = tracks.firstIndex(where: { $0.way == way }) {
            tracks[index].add(content, at: now)
        } else if tracks.count < Self.mostTracks {
            var track = LessonTrack(way)
            track.add(content, at: now)
            tracks.append(track)
        }
        let count = min(tracks.map(\.presses).max() ?? 0, Self.presses)
        guard count > recognised else { return [] }
        recognised = count
        return [.recognised(count)]
    }

    private mutating func flush() -> [Action] {
        guard let message = pending else { return [] }
        pending = nil
        // A line end that came late is no message.
        guard message.bytes.contains(where: { $0 != 0x0D && $0 != 0x0A }) else { return [] }
        let end = TalkPattern.textEnd(message.bytes)
        let text = message.bytes[..<end]
        let isText = !text.isEmpty && text.allSatisfy { (0x20...0x7E).contains($0) }
        return heard(.serial(message.service), .bytes(isText ? Array(text) : message.bytes), at: message.at)
    }

    /// When the lesson is decided if nothing else arrives; nil while no way has three presses.
    private var decision: Instant? {
        guard pending == nil, tracks.contains(where: { $0.isComplete }) else { return nil }
        return heardAt?.advanced(by: Self.quiet)
    }

    private mutating func conclude() -> Action {
        isOver = true
        var failure: Failure?
        for track in tracks.sorted(by: { $0.order < $1.order }) where track.isComplete {
            switch track.reading() {
            case .success(let reading): return .learnt(row(reading))
            case .failure(let reason): failure = failure ?? reason.failure
            }
        }
        if let failure { return .failed(failure) }
        if (1..<Self.presses).contains(recognised), tracks.contains(where: { $0.mayBeKey }) {
            return .failed(.tooFewPresses(recognised))
        }
        guard let example = tracks.compactMap({ $0.example }).first else { return .failed(.silent) }
        return .failed(.noPattern(example))
    }

    private func row(_ reading: TalkRow.Reading) -> TalkRow {
        let digits = device.description.lowercased().filter { $0 != ":" }
        return TalkRow(
            name: "learnt-\(digits)", origin: .learnt,
            conditions: TalkCondition(.address, device.description).map { [$0] } ?? [], reading: reading,
            keepsLink: reading != .link, reference: "btcall talk learn")
    }

    /// Ends every input: adds the deadline if it changed.
    private mutating func finish(_ actions: [Action]) -> [Action] {
        var next: Instant?
        if !isOver {
            next = min(ends, decision ?? ends)
            if let pending { next = min(next ?? ends, pending.at.advanced(by: Self.messageGap)) }
        }
        guard next != deadline else { return actions }
        deadline = next
        return actions + [.setDeadline(next)]
    }
}

extension TalkLesson.Failure: CustomStringConvertible {
    /// What happened, and what to do.
    package var description: String {
        switch self {
        case .silent: "the device sent nothing: press its key three times, and hold it a second each time"
        case .tooFewPresses(let count):
            "\(count) of \(TalkLesson.presses) presses arrived: press three times within \(TalkLesson.limit.components.seconds) s"
        case .noPattern(let example):
            "the device does not send the same for each press (it sent \(example)): write a row by hand if you know its messages"
        case .tooLong(let bytes):
            "the device sends \(bytes) bytes or more, a pattern has at most \(TalkPattern.longest): write a row by hand with the part that counts"
        }
    }
}
