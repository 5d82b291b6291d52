package import ControlLoop
import Glibc
import Synchronization

/// The clock of all simulated links and sound cards: one thread that ticks each 2.5 ms of real time.
///
/// Safe to use from any thread. What a stream played stays on record after it is cut.
package final class AudioPacer: Sendable {
    private struct State {
        var streams: [SimulatedStream] = []
        var finished: [UInt32: AudioTimeline] = [:]
        var nextIdentifier: UInt32 = 1
        var isRunning = true
    }

    private let state = Mutex(State())
    private let start: Int64
    private static let tick: Int64 = 2_500_000

    package init() throws(SystemError) {
        start = Self.now()
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

    /// Ends the thread; streams are closed.
    package func stop() {
        state.withLock { state in
            state.isRunning = false
            for stream in state.streams { state.finished[stream.identifier] = stream.timeline }
            state.streams = []
        }
    }

    /// Time since the start of the simulation in nanoseconds.
    package var elapsed: Int64 { Self.now() - start }

    /// Starts a link or card whose other end is at `descriptor`, which becomes the pacer's.
    ///
    /// - Parameter microphone: at the rate of the format, begins again at its end; empty is silence.
    /// - Returns: the identifier for `cut` and `timeline`.
    package func attach(_ descriptor: Int32, _ format: StreamFormat, microphone: [Int16]) -> UInt32 {
        state.withLock { state in
            let identifier = state.nextIdentifier
            state.nextIdentifier += 1
            state.streams.append(
                SimulatedStream(
                    identifier: identifier, format: format, descriptor: descriptor, microphone: microphone))
            return identifier
        }
    }

    /// Stops sending and playing at once.
    ///
    /// - Parameter keepingOpen: the descriptor stays open, as with a headset that dies without a word; it is closed when
    ///   the returned object is let go.
    @discardableResult
    package func cut(_ identifier: UInt32, keepingOpen: Bool = false) -> AnyObject? {
        state.withLock { state in
            guard let index = state.streams.firstIndex(where: { $0.identifier == identifier }) else { return nil }
            let stream = state.streams.remove(at: index)
            if !keepingOpen { stream.playOut(at: elapsed) }
            state.finished[identifier] = stream.timeline
            return keepingOpen ? stream : nil
        }
    }

    /// Of the packets that the stream sends, each so many is lost on its way; 0 loses none.
    package func loseEach(_ number: Int, of identifier: UInt32) {
        state.withLock { state in state.streams.first { $0.identifier == identifier }?.loseEach = number }
    }

    /// What the stream has played so far.
    package func timeline(of identifier: UInt32) -> AudioTimeline? {
        state.withLock { state in
            state.streams.first { $0.identifier == identifier }?.timeline ?? state.finished[identifier]
        }
    }

    private func run() {
        var number: Int64 = 0
        while true {
            number += 1
            let due = start + number * Self.tick
            var time = timespec(tv_sec: Int(due / 1_000_000_000), tv_nsec: Int(due % 1_000_000_000))
            while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
            let goesOn = state.withLock { state in
                var gone: [UInt32] = []
                for stream in state.streams where Int(number) % stream.format.periodTicks == 0 {
                    if !stream.run(at: number * Self.tick) { gone.append(stream.identifier) }
                }
                for stream in state.streams where gone.contains(stream.identifier) {
                    state.finished[stream.identifier] = stream.timeline
                }
                state.streams.removeAll { gone.contains($0.identifier) }
                return state.isRunning
            }
            guard goesOn else { return }
        }
    }

    private static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
