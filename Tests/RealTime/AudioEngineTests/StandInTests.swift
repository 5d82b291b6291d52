import AudioDSP
import CALSA
import CBTCall
import Foundation
import RealTimeStorage
import Testing

@testable import AudioEngine

/// The thread's own code with a headset's link, a card that stands by and an application that answers at once, in simulated
/// time, half a millisecond at a time.
///
/// The application's answers have twenty levels in turn, so that a recording says which of them it contains.
private final class StandInBench {
    private static let step: Int64 = 500_000
    /// Difference between the levels of two answers, and the number of levels.
    private static let level = 1_000
    static let levels = 20
    private static let rate = 16_000
    /// Numbers of the terminals: the headset's link, the card, and a link on which nothing arrives.
    private static let link: UInt32 = 1
    private static let card: UInt32 = 2
    private static let deadLink: UInt32 = 3

    let card: SimulatedCard
    private(set) var facts: [AudioEngineEvent] = []
    /// The audio that reached the headset before it died, and the audio written to the card.
    private(set) var onHeadset: [Int16] = []
    private(set) var onCard: [Int16] = []
    private(set) var lastPacket: Int64 = 0
    private(set) var time: Int64 = 1_000_000_000
    private var isDead = false
    private var answers = 0

    private let thread: UnstartedThread
    private let headset: Int32
    private let otherHeadset: Int32
    private let application: Int32
    private let call: CallPointer
    private let terminals: [TerminalPointer]

    /// A call on the headset, with a silent limit of 60 ms.
    init() throws {
        let card = try SimulatedCard(SND_PCM_STREAM_PLAYBACK)
        self.card = card
        var configuration = AudioEngineConfiguration()
        configuration.setCallQueue(nil)
        thread = UnstartedThread(configuration, now: time)
        thread.state.pointee.lastTick = time
        let (link, deadLink, provider) = (packetSocketPair(), packetSocketPair(), packetSocketPair())
        headset = link.theirs
        otherHeadset = deadLink.theirs
        application = provider.theirs
        call = .allocate(capacity: 1)
        let callCounters = UnsafeMutablePointer<CallCounters>.allocate(capacity: 1)
        callCounters.initialize(to: CallCounters())
        call.initialize(
            to: CallPort(
                id: 7, descriptor: provider.ours, rate: Self.rate, layout: SampleLayout(), bus: configuration.bus,
                counters: callCounters))
        terminals = [
            Self.terminal(Self.link, Self.port(link.ours, configuration, now: time), configuration),
            Self.terminal(Self.card, Self.port(card, configuration), configuration),
            Self.terminal(Self.deadLink, Self.port(deadLink.ours, configuration, now: time), configuration),
        ]
        card.onPlayed = { [unowned self] samples, count in
            self.onCard += UnsafeBufferPointer(start: samples.assumingMemoryBound(to: Int16.self), count: count)
        }
        for terminal in terminals { send(.addTerminal(terminal)) }
        send(.setSilentLimit(Self.link, nanoseconds: 60_000_000))
        send(.route(Self.link))
        send(.attachCall(call, isActive: true))
    }

    private static func port(_ descriptor: Int32, _ configuration: AudioEngineConfiguration, now: Int64)
        -> Terminal.Device
    {
        let port = LinkPointer.allocate(capacity: 1)
        port.initialize(
            to: LinkPort(
                descriptor: descriptor, codec: .pcm(rate: rate), packetBytesHint: 240, bus: configuration.bus,
                fallbackAfter: configuration.fallbackAfter.wholeNanoseconds, now: now))
        return .link(port)
    }

    private static func port(_ card: SimulatedCard, _ configuration: AudioEngineConfiguration) -> Terminal.Device {
        let descriptors = UnsafeMutablePointer<pollfd>.allocate(capacity: PathPort.maximumDescriptors)
        descriptors.initialize(repeating: pollfd(), count: PathPort.maximumDescriptors)
        let port = PathPointer.allocate(capacity: 1)
        port.initialize(
            to: PathPort(
                ALSAPath(playback: card.pcm, playbackRate: card.rate, playbackBufferFrames: card.bufferFrames),
                bus: configuration.bus, target: card.rate / 20, descriptors: descriptors, descriptorCount: 0))
        return .path(port)
    }

    private static func terminal(_ id: UInt32, _ device: Terminal.Device, _ configuration: AudioEngineConfiguration)
        -> TerminalPointer
    {
        let counters = UnsafeMutablePointer<TerminalCounters>.allocate(capacity: 1)
        counters.initialize(to: TerminalCounters())
        let terminal = TerminalPointer.allocate(capacity: 1)
        let playbackRate = if case .path = device { 48_000 } else { rate }
        terminal.initialize(
            to: Terminal(
                id: id, device, captureRate: rate, playbackRate: playbackRate, bus: configuration.bus, speakerGain: 1,
                microphoneGain: 1, counters: counters))
        return terminal
    }

    deinit {
        card.onPlayed = nil
        thread.end()
        for terminal in terminals {
            if let link = terminal.pointee.link {
                close(link.pointee.descriptor)
                link.deinitialize(count: 1).deallocate()
            }
            if let path = terminal.pointee.path { path.deinitialize(count: 1).deallocate() }
            terminal.pointee.counters.deinitialize(count: 1).deallocate()
            terminal.deinitialize(count: 1).deallocate()
        }
        close(call.pointee.descriptor)
        call.pointee.counters.deinitialize(count: 1).deallocate()
        call.deinitialize(count: 1).deallocate()
        for descriptor in [headset, otherHeadset, application] { close(descriptor) }
    }

    func send(_ command: Command) { thread.send(command) }

    func run(milliseconds: Int) { run(until: time + Int64(milliseconds) * 1_000_000) }

    func run(until end: Int64) {
        while time < end { turn() }
    }

    /// The headset sends and plays nothing more.
    func die() {
        receivePackets()
        isDead = true
    }

    private func turn() {
        time += Self.step
        thread.state.pointee.now = time
        card.now = time
        if !isDead && time % 7_500_000 == 0 { sendPacket() }
        thread.state.pointee.serviceCalls()
        // Once more if the clock has waited for the application until now.
        for _ in 0..<2 {
            readLink()
            thread.state.pointee.endHold()
        }
        thread.state.pointee.serviceTimers()
        thread.state.pointee.cutIfReady()
        thread.state.pointee.finishEndings()
        while let event = thread.events.pointee.pop() {
            if case .happened(let fact) = event { facts.append(fact) }
        }
        if !isDead { receivePackets() }
        answer()
    }

    private func sendPacket() {
        let packet = [Int16](repeating: 0, count: 120)
        _ = Foundation.send(headset, packet, 240, Int32(MSG_NOSIGNAL))
        lastPacket = time
    }

    /// As after a poll in which the link was readable, unless the clock waits for the application.
    private func readLink() {
        let link = terminals[0]
        if thread.state.pointee.isWaitingForProviders(link) { return }
        link.pointee.pollIndex = 1
        link.pointee.pollCount = 1
        thread.state.pointee.polls[1] = pollfd(fd: -1, events: Int16(POLLIN), revents: Int16(POLLIN))
        thread.state.pointee.serviceTerminals()
    }

    private func receivePackets() {
        var packet = [Int16](repeating: 0, count: 120)
        while recv(headset, &packet, 240, Int32(MSG_DONTWAIT)) > 0 { onHeadset += packet }
    }

    private func answer() {
        var block = [Int16](repeating: 0, count: Self.rate / 100)
        while recv(application, &block, 2 * block.count, Int32(MSG_DONTWAIT)) > 0 {
            answers += 1
            let value = Int16((answers % Self.levels + 1) * Self.level)
            let answer = [Int16](repeating: value, count: block.count)
            _ = Foundation.send(application, answer, 2 * answer.count, Int32(MSG_NOSIGNAL))
        }
    }

    // MARK: What was heard

    /// Levels, from 1, that a recording keeps for 3 ms or longer, in order.
    static func heard(in samples: [Int16], rate: Int) -> [Int] {
        var result: [Int] = []
        var (number, length) = (0, 0)
        for sample in samples {
            let nearest = (Int(sample) + level / 2) / level
            let isSteady = abs(Int(sample) - nearest * level) < level / 3
            length = isSteady && nearest == number ? length + 1 : 0
            number = nearest
            if number > 0, length == rate * 3 / 1_000, result.last != number { result.append(number) }
        }
        return result
    }

    /// How many answers later one level comes than another; less than `levels`.
    static func distance(from first: Int, to second: Int) -> Int { (second - first + levels) % levels }

    /// Whether no answer is missing between the first and the last of these.
    static func isComplete(_ heard: [Int]) -> Bool {
        zip(heard, heard.dropFirst()).allSatisfy { distance(from: $0, to: $1) == 1 }
    }

    func hasSwitched(to terminal: UInt32) -> Bool { facts.contains { isRouted($0, terminal) } }

    /// The report of the silent link, and the terminal that it names.
    var silence: (milliseconds: Int, standIn: UInt32?)? {
        for fact in facts {
            if case .linkSilent(Self.link, let milliseconds, let standIn) = fact { return (milliseconds, standIn) }
        }
        return nil
    }
}

/// The switch to the device that stands by, at exact times.
struct StandInTests {
    @Test func `the device that stands by plays at the very limit of silence, without a command, and no word is lost`()
        throws
    {
        let bench = try StandInBench()
        bench.send(.setStandIn(StandIn(link: 1, terminal: 2)))
        bench.run(milliseconds: 300)
        #expect(bench.card.startedAt == nil && bench.onCard.isEmpty)
        bench.die()
        let before = bench.facts.count
        bench.run(until: bench.lastPacket + 59_500_000)
        #expect(bench.card.startedAt == nil && bench.facts.count == before)
        bench.run(milliseconds: 300)
        #expect(bench.card.startedAt == bench.lastPacket + 60_000_000)
        // The owner learns of the silence first, and with it of the switch.
        let facts = Array(bench.facts[before...])
        #expect(facts.first == .linkSilent(terminal: 1, afterMilliseconds: 60, standIn: 2))
        guard facts.count > 1, case .routed(2, let gap) = facts[1] else {
            Issue.record("no switch: \(facts)")
            return
        }
        #expect((60_000...75_000).contains(gap))
        // The queue of 50 ms begins with the far end, and hardly with silence.
        let silent = bench.onCard.prefix { abs($0) < 100 }.count
        #expect(silent <= bench.card.rate / 100)
        let headset = StandInBench.heard(in: bench.onHeadset, rate: 16_000)
        let card = StandInBench.heard(in: bench.onCard, rate: bench.card.rate)
        let last = try #require(headset.last)
        let first = try #require(card.first)
        // The next answer, or up to four of the latest ones again.
        #expect(StandInBench.distance(from: first, to: last + 1) <= 5, "\(headset.suffix(5)), \(card.prefix(5))")
        #expect(StandInBench.isComplete(card) && card.count >= 25, "\(card)")
        #expect(bench.card.xruns == 0)
    }

    /// What the owner has commanded beside, or in place of, the preparation.
    enum Obstacle: CaseIterable {
        case withdrawn, otherLink, unknownTerminal, removedTerminal, otherSwitch

        var commands: [Command] {
            let prepared = Command.setStandIn(StandIn(link: 1, terminal: 2))
            return switch self {
            case .withdrawn: [prepared, .setStandIn(nil)]
            case .otherLink: [.setStandIn(StandIn(link: 3, terminal: 2))]
            case .unknownTerminal: [.setStandIn(StandIn(link: 1, terminal: 9))]
            case .removedTerminal: [prepared, .removeTerminal(2)]
            case .otherSwitch: [prepared, .route(3)]
            }
        }
    }

    @Test(arguments: Obstacle.allCases)
    func `nothing is switched without a preparation for this link, or while another switch waits`(obstacle: Obstacle)
        throws
    {
        let bench = try StandInBench()
        bench.run(milliseconds: 300)
        for command in obstacle.commands { bench.send(command) }
        bench.die()
        bench.run(milliseconds: 300)
        let silence = try #require(bench.silence)
        #expect(silence.milliseconds == 60 && silence.standIn == nil)
        #expect(!bench.hasSwitched(to: 2) && bench.card.startedAt == nil)
    }

    @Test func `a call that is not on the silent link stays where it is`() throws {
        let bench = try StandInBench()
        bench.run(milliseconds: 300)
        bench.send(.setStandIn(StandIn(link: 1, terminal: 2)))
        bench.send(.route(nil))
        bench.die()
        bench.run(milliseconds: 300)
        let silence = try #require(bench.silence)
        #expect(silence.standIn == nil && bench.card.startedAt == nil)
    }

    @Test func `the owner's command for the same device afterwards changes nothing`() throws {
        let bench = try StandInBench()
        bench.send(.setStandIn(StandIn(link: 1, terminal: 2)))
        bench.run(milliseconds: 300)
        bench.die()
        bench.run(until: bench.lastPacket + 62_000_000)
        let started = try #require(bench.card.startedAt)
        bench.send(.route(2))
        bench.run(milliseconds: 300)
        #expect(bench.card.startedAt == started && bench.card.xruns == 0)
        let card = StandInBench.heard(in: bench.onCard, rate: bench.card.rate)
        #expect(StandInBench.isComplete(card) && card.count >= 25, "\(card)")
    }
}
