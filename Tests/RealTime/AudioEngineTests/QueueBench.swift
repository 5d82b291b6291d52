import AudioDSP
import CBTCall
import Foundation
import RealTimeStorage
import Testing

@testable import AudioEngine

/// The thread's own code with a headset's link, or a sound card without a microphone, and an application that answers late, in
/// simulated time, a millisecond or less at a time. The link and the call have one rate, which the bus takes 50 ms after both
/// have come.
final class QueueBench {
    private static let millisecond: Int64 = 1_000_000
    private let packetNanoseconds: Int64
    /// Simulated at once; every packet begins with such a step.
    private let stepNanoseconds: Int64
    private let rate: Int
    /// Frames in a millisecond, in a block and in a packet.
    private var millisecondFrames: Int { rate / 1_000 }
    private var blockFrames: Int { rate / 100 }
    private var packetFrames: Int { rate * Int(packetNanoseconds) / 1_000_000_000 }

    private let thread: UnstartedThread
    private let terminal: TerminalPointer
    private let headset: Int32
    private let card: SimulatedCard?
    private let cardPath: PathBench?
    private let port: CallPointer
    private let application: Int32
    /// A second application, which has one answer only.
    private let silentPort: CallPointer
    private let silentApplication: Int32
    private var time: Int64 = 1_000_000_000
    private var hasHeadset = false

    /// Milliseconds that the application takes for the answer to a block, by the block's number.
    private let delay: (Int) -> Int
    /// Level of an answer, by its number.
    private let level: (Int) -> Int16
    /// Times at which the answers to the blocks received so far are due, and how many were sent.
    private var due: [Int64] = []
    private var said = 0
    /// What the application heard. The headset's microphone has a constant level.
    private(set) var uplink: [Int16] = []
    static let microphoneLevel: Int16 = 6_000
    /// Time of each packet at the headset.
    private(set) var packetTimes: [Int64] = []
    private(set) var heard: [Int16] = []
    private var stalledPackets = 0
    private var owedPackets = 0

    /// - Parameters:
    ///   - queue: blocks; nil adapts.
    ///   - packetMilliseconds: a multiple of a quarter.
    ///   - card: plays at `rate`, in place of the headset.
    init(
        queue: Int?, packetMilliseconds: Double = 10, rate: Int = 16_000, card: SimulatedCard? = nil,
        delay: @escaping (Int) -> Int, level: @escaping (Int) -> Int16
    ) {
        let period = Int64(packetMilliseconds * 1e6)
        packetNanoseconds = period
        stepNanoseconds = period % Self.millisecond == 0 ? Self.millisecond : Self.millisecond / 4
        self.rate = rate
        self.delay = delay
        self.level = level
        var configuration = AudioEngineConfiguration()
        configuration.setCallQueue(queue)
        thread = UnstartedThread(configuration, now: time)
        self.card = card
        card?.now = time
        cardPath = card.map { PathBench(playback: $0, bus: configuration.bus) }
        let device: Terminal.Device
        if let cardPath {
            headset = -1
            device = .path(cardPath.path)
        } else {
            let link = packetSocketPair()
            headset = link.theirs
            let linkPort = LinkPointer.allocate(capacity: 1)
            linkPort.initialize(
                to: LinkPort(
                    descriptor: link.ours, codec: .pcm(rate: rate),
                    packetBytesHint: 2 * rate * Int(period) / 1_000_000_000, bus: configuration.bus,
                    fallbackAfter: 50 * Self.millisecond, now: time))
            device = .link(linkPort)
        }
        let terminalCounters = UnsafeMutablePointer<TerminalCounters>.allocate(capacity: 1)
        terminalCounters.initialize(to: TerminalCounters())
        terminal = .allocate(capacity: 1)
        terminal.initialize(
            to: Terminal(
                id: 1, device, captureRate: rate, playbackRate: rate, bus: configuration.bus, speakerGain: 1,
                microphoneGain: 1, counters: terminalCounters))
        (port, application) = Self.makeCall(7, rate: rate, bus: configuration.bus)
        (silentPort, silentApplication) = Self.makeCall(8, rate: rate, bus: configuration.bus)
        thread.state.pointee.lastTick = time
    }

    private static func makeCall(_ id: UInt32, rate: Int, bus: BusRates) -> (port: CallPointer, application: Int32) {
        let ends = packetSocketPair()
        let counters = UnsafeMutablePointer<CallCounters>.allocate(capacity: 1)
        counters.initialize(to: CallCounters())
        let port = CallPointer.allocate(capacity: 1)
        port.initialize(
            to: CallPort(
                id: id, descriptor: ends.ours, rate: rate, layout: SampleLayout(), bus: bus, counters: counters))
        return (port, ends.theirs)
    }

    deinit {
        thread.end()
        close(headset)
        for (port, application) in [(port, application), (silentPort, silentApplication)] {
            close(application)
            close(port.pointee.descriptor)
            port.pointee.counters.deinitialize(count: 1).deallocate()
            port.deinitialize(count: 1).deallocate()
        }
        if let link = terminal.pointee.link {
            close(link.pointee.descriptor)
            link.deinitialize(count: 1).deallocate()
        }
        terminal.pointee.counters.deinitialize(count: 1).deallocate()
        terminal.deinitialize(count: 1).deallocate()
    }

    var busRate: Int { thread.counters.pointee.busRate.read() }

    var call: EngineCounters.Call { port.pointee.counters.pointee.snapshot(id: 7) }

    /// Frames that were missing in packets to the headset.
    var underrunFrames: Int { terminal.pointee.counters.pointee.underrunFrames.read() }

    /// Only the downlink half of a tick has been made.
    var isAhead: Bool { thread.state.pointee.isAhead }

    func startCall() { send(.attachCall(port, isActive: true)) }

    /// A second call, whose application falls silent after its first answer.
    func startSilentCall() {
        send(.attachCall(silentPort, isActive: true))
        let block = [Int16](repeating: 0, count: blockFrames)
        _ = Foundation.send(silentApplication, block, 2 * block.count, Int32(MSG_NOSIGNAL))
    }

    /// The headset, or the card.
    func connectHeadset() {
        hasHeadset = card == nil
        send(.addTerminal(terminal))
        send(.route(1))
    }

    /// Leaves the call without a device. The headset's packets go on.
    func withdrawHeadset() { send(.route(nil)) }

    /// The headset closes its link.
    func loseHeadset() { shutdown(headset, Int32(SHUT_RDWR)) }

    /// The next packets of the headset arrive together with the one after them.
    func stall(packets: Int) { stalledPackets = packets }

    private func send(_ command: Command) { thread.send(command) }

    func run(milliseconds: Int) {
        for _ in 0..<(Int64(milliseconds) * Self.millisecond / stepNanoseconds) { step() }
    }

    /// Runs until a condition holds, for a second at most; returns whether it does.
    func run(_ condition: () -> Bool) -> Bool {
        for _ in 0..<(1_000 * Self.millisecond / stepNanoseconds) where !condition() { step() }
        return condition()
    }

    /// The thread does not run for this time; the application does.
    func oversleep(milliseconds: Int) {
        for _ in 0..<(Int64(milliseconds) * Self.millisecond / stepNanoseconds) {
            time += stepNanoseconds
            answer()
            receiveBlocks()
        }
    }

    private func step() {
        time += stepNanoseconds
        thread.state.pointee.now = time
        card?.now = time
        answer()
        if hasHeadset && time % packetNanoseconds == 0 { sendPackets() }
        thread.state.pointee.serviceCalls()
        // Once more if the clock has waited for the application until now.
        for _ in 0..<2 {
            readLink()
            thread.state.pointee.endHold()
        }
        thread.state.pointee.serviceTimers()
        thread.state.pointee.cutIfReady()
        thread.state.pointee.finishEndings()
        while thread.events.pointee.pop() != nil {}
        receiveBlocks()
        receivePackets()
    }

    /// As after a poll in which the link was readable, unless the clock waits for the application.
    private func readLink() {
        if !hasHeadset || thread.state.pointee.isWaitingForProviders(terminal) { return }
        terminal.pointee.pollIndex = 1
        terminal.pointee.pollCount = 1
        thread.state.pointee.polls[1] = pollfd(fd: -1, events: Int16(POLLIN), revents: Int16(POLLIN))
        thread.state.pointee.serviceTerminals()
    }

    private func sendPackets() {
        owedPackets += 1
        if stalledPackets > 0 {
            stalledPackets -= 1
            return
        }
        let packet = [Int16](repeating: Self.microphoneLevel, count: packetFrames)
        while owedPackets > 0 {
            _ = Foundation.send(headset, packet, 2 * packet.count, Int32(MSG_NOSIGNAL))
            owedPackets -= 1
        }
    }

    private func receivePackets() {
        var packet = [Int16](repeating: 0, count: packetFrames)
        while recv(headset, &packet, 2 * packet.count, Int32(MSG_DONTWAIT)) > 0 {
            heard += packet
            packetTimes.append(time)
        }
    }

    private func receiveBlocks() {
        var block = [Int16](repeating: 0, count: blockFrames)
        while recv(application, &block, 2 * block.count, Int32(MSG_DONTWAIT)) > 0 {
            uplink += block
            due.append(max(due.last ?? 0, time + Int64(delay(due.count)) * Self.millisecond))
        }
    }

    private func answer() {
        while said < due.count && due[said] <= time {
            let block = [Int16](repeating: level(said), count: blockFrames)
            _ = Foundation.send(application, block, 2 * block.count, Int32(MSG_NOSIGNAL))
            said += 1
        }
    }

    // MARK: What the headset heard

    /// Levels other than silence that lasted for 3 ms or longer, in order.
    var levels: [Int16] {
        var result: [Int16] = []
        var start = 0
        for index in heard.indices where index + 1 == heard.count || heard[index + 1] != heard[index] {
            if heard[index] != 0 && index + 1 - start >= 3 * millisecondFrames { result.append(heard[index]) }
            start = index + 1
        }
        return result
    }

    /// Milliseconds from the application's sending of an answer until the headset has its beginning; nil before that.
    func delayOfAnswer(_ number: Int) -> Double? {
        guard number < said, let place = heard.firstIndex(of: level(number)) else { return nil }
        return Double(packetTimes[place / packetFrames] - due[number]) / 1e6
            + Double(place % packetFrames) / Double(millisecondFrames)
    }

    /// Packets to the headset that did not leave at once when it had sent one.
    var latePackets: Int { packetTimes.count { $0 % packetNanoseconds != 0 } }

    /// Longest time between two packets at the headset, in milliseconds.
    var longestGap: Int64 {
        zip(packetTimes, packetTimes.dropFirst()).reduce(0) { max($0, ($1.1 - $1.0) / Self.millisecond) }
    }
}
