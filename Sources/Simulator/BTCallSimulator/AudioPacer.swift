import CBTCall
package import ControlLoop
import Glibc
import Synchronization

/// The clock of all simulated links and sound cards: one thread that ticks in multiples of 2.5 ms, and sleeps while there is
/// no stream.
///
/// Safe to use from any thread. A stream's playback stays on record after it is cut, unless recording is off.
package final class AudioPacer: Sendable {
    private struct State {
        var streams: [SimulatedStream] = []
        var finished: [UInt32: AudioTimeline] = [:]
        var nextIdentifier: UInt32 = 1
        var isRunning = true
        var late: [LateTick] = []
    }

    /// A tick that this machine delivered late: simulated devices stood still meanwhile, which no real one does.
    package struct LateTick: Equatable, Sendable {
        /// Due time, in seconds since the start of the simulation.
        package let at: Double
        package let milliseconds: Int

        package init(at: Double, milliseconds: Int) {
            self.at = at
            self.milliseconds = milliseconds
        }
    }

    /// A tick counts as late from this delay on: three blocks of audio bridge a shorter one.
    private static let lateness: Int64 = 15_000_000
    /// Most late ticks kept: on a machine that is always late the first ones are enough.
    private static let mostLateTicks = 10_000

    private let state = Mutex(State())
    private let start: Int64
    private static let tick: Int64 = 2_500_000
    /// Whether playback is recorded.
    package let isRecording: Bool
    /// Signalled when a stream is added, and for the end.
    private let bell: Int32

    /// - Parameter isRecording: false for runs of hours without recordings.
    package init(isRecording: Bool = true) throws(SystemError) {
        self.isRecording = isRecording
        start = Self.now()
        bell = btcall_realtime_eventfd()
        guard bell >= 0 else { throw SystemError(call: "eventfd", code: -bell) }
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self).toOpaque()
        let code = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<AudioPacer>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            }, context)
        guard code == 0 else {
            Unmanaged<AudioPacer>.fromOpaque(context).release()
            throw SystemError(call: "pthread_create", code: code)
        }
        pthread_detach(thread)
    }

    deinit { close(bell) }

    /// Ends the thread and closes the streams.
    package func stop() {
        state.withLock { state in
            state.isRunning = false
            for stream in state.streams { keep(stream, &state) }
            state.streams = []
        }
        ring()
    }

    private func keep(_ stream: SimulatedStream, _ state: inout State) {
        if isRecording { state.finished[stream.identifier] = stream.timeline }
    }

    private func ring() {
        var one: UInt64 = 1
        // Can only fail when the counter overflows; the thread wakes then, too.
        _ = write(bell, &one, MemoryLayout<UInt64>.size)
    }

    /// Late ticks so far while there was a stream, oldest first.
    package var lateTicks: [LateTick] { state.withLock(\.late) }

    /// Time since the start of the simulation in nanoseconds.
    package var elapsed: Int64 { Self.now() - start }

    /// Starts a link or card whose other end is `descriptor`, which the pacer takes over.
    ///
    /// - Parameter microphone: samples at the format's rate, repeated; empty for silence.
    /// - Returns: the identifier for `cut` and `timeline`.
    package func attach(_ descriptor: Int32, _ format: StreamFormat, microphone: [Int16]) -> UInt32 {
        let (identifier, isFirst) = state.withLock { state in
            let identifier = state.nextIdentifier
            state.nextIdentifier += 1
            state.streams.append(
                SimulatedStream(
                    identifier: identifier, format: format, descriptor: descriptor, microphone: microphone,
                    isRecording: isRecording))
            return (identifier, state.streams.count == 1)
        }
        if isFirst { ring() }
        return identifier
    }

    /// Stops sending and playing at once.
    ///
    /// - Parameter keepingOpen: keeps the descriptor open, as with a headset that dies silently; it is closed when the
    ///   returned object is released.
    @discardableResult
    package func cut(_ identifier: UInt32, keepingOpen: Bool = false) -> AnyObject? {
        state.withLock { state in
            guard let index = state.streams.firstIndex(where: { $0.identifier == identifier }) else { return nil }
            let stream = state.streams.remove(at: index)
            if !keepingOpen { stream.playOut(at: elapsed) }
            keep(stream, &state)
            return keepingOpen ? stream : nil
        }
    }

    /// Loses one of every `number` packets that the stream sends; 0 loses none.
    package func loseEach(_ number: Int, of identifier: UInt32) {
        state.withLock { state in state.streams.first { $0.identifier == identifier }?.loseEach = number }
    }

    /// Lays the stream's loudspeaker on its microphone, which hears it after `milliseconds` and nothing else.
    package func loopBack(_ identifier: UInt32, after milliseconds: Int) {
        state.withLock { state in
            state.streams.first { $0.identifier == identifier }?.loopBack(after: milliseconds)
        }
    }

    /// The stream's playback so far.
    package func timeline(of identifier: UInt32) -> AudioTimeline? {
        state.withLock { state in
            state.streams.first { $0.identifier == identifier }?.timeline ?? state.finished[identifier]
        }
    }

    /// Loudest sample played by the stream since the last request, 0…32768; 0 for one that is not running.
    package func takePeak(of identifier: UInt32) -> Int {
        state.withLock { state in
            guard let stream = state.streams.first(where: { $0.identifier == identifier }) else { return 0 }
            defer { stream.peak = 0 }
            return stream.peak
        }
    }

    private func run() {
        var number: Int64 = 0
        while true {
            let goesOn = state.withLock { state in
                var gone: [UInt32] = []
                for stream in state.streams where Int(number) % stream.format.periodTicks == 0 {
                    if !stream.run(at: number * Self.tick) { gone.append(stream.identifier) }
                }
                for stream in state.streams where gone.contains(stream.identifier) { keep(stream, &state) }
                state.streams.removeAll { gone.contains($0.identifier) }
                return state.isRunning
            }
            guard goesOn else { return }
            number = sleep(after: number)
        }
    }

    /// Sleeps until the next tick that a stream needs.
    ///
    /// - Returns: the number of that tick.
    private func sleep(after number: Int64) -> Int64 {
        var number = number
        let periods = state.withLock { state in state.streams.map { Int64($0.format.periodTicks) } }
        if periods.isEmpty {
            var wait = pollfd(fd: bell, events: Int16(POLLIN), revents: 0)
            while poll(&wait, 1, -1) < 0, errno == EINTR {}
            var count: UInt64 = 0
            _ = read(bell, &count, MemoryLayout<UInt64>.size)
            return max(number, elapsed / Self.tick) + 1
        }
        repeat { number += 1 } while !periods.contains { number % $0 == 0 }
        let due = start + number * Self.tick
        var time = timespec(tv_sec: Int(due / 1_000_000_000), tv_nsec: Int(due % 1_000_000_000))
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
        note(Self.now() - due, at: number)
        return number
    }

    private func note(_ lateness: Int64, at number: Int64) {
        guard lateness >= Self.lateness else { return }
        state.withLock { state in
            guard state.late.count < Self.mostLateTicks else { return }
            state.late.append(
                LateTick(at: Double(number * Self.tick) / 1e9, milliseconds: Int(lateness / 1_000_000)))
        }
    }

    private static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
