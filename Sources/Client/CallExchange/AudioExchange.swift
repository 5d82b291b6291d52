package import AudioDSP
package import BTCall
import Glibc
import Synchronization

/// The application's side of a call's audio: a thread that answers every block from the daemon with a block of its own.
package final class AudioExchange: Sendable {
    /// Counters since the beginning of the call.
    package struct Counters: Equatable, Sendable {
        package var blocksReceived = 0
        package var blocksSent = 0
        /// Blocks that the daemon did not accept at once.
        package var blocksRefused = 0
        /// Number of times the next block came more than ``gapMs`` after the previous one.
        package var gaps = 0
        package var longestGapMs = 0
        /// Blocks received when the far end began to play, including the one answered with its first block.
        package var blocksBeforePlay = 0

        package init() {}
    }

    /// Loudest sample in each direction since the levels were last read.
    package struct Levels: Equatable, Sendable {
        /// Received from the call: the person's microphone.
        package var received: Int = 0
        /// Sent by the far end.
        package var sent: Int = 0
    }

    package static let gapMs = 60

    private struct State {
        var farEnd: FarEnd
        var isPlaying: Bool
        var isRecording: Bool
        var recorded: [Int16] = []
        var counters = Counters()
        var levels = Levels()
        /// The open socket; -1 when no thread runs.
        var descriptor: Int32 = -1
        var onEnd: (@Sendable () -> Void)?
    }

    private let state: Mutex<State>

    /// - Parameter isRecording: whether to keep received samples for ``takeRecorded()``.
    package init(_ farEnd: FarEnd, isRecording: Bool) {
        state = Mutex(State(farEnd: farEnd, isPlaying: false, isRecording: isRecording))
    }

    package var counters: Counters { state.withLock(\.counters) }

    /// Makes the far end play; it is silent before.
    package func play() {
        state.withLock { $0.isPlaying = true }
    }

    package func takeLevels() -> Levels {
        state.withLock { state in
            defer { state.levels = Levels() }
            return state.levels
        }
    }

    /// The samples received since the last call.
    package func takeRecorded() -> [Int16] {
        state.withLock { state in
            defer { state.recorded = [] }
            return state.recorded
        }
    }

    /// Starts with the socket from the daemon, in its format.
    package func start(_ audio: CallAudio, onEnd: @escaping @Sendable () -> Void) {
        let layout =
            switch audio.sampleFormat {
            case .s16: SampleLayout(.s16, channels: audio.channels)
            case .f32: SampleLayout(.f32, channels: audio.channels)
            }
        start(audio.takeDescriptor(), blockFrames: audio.blockFrames, layout: layout, onEnd: onEnd)
    }

    /// Starts the thread; ends running audio first.
    ///
    /// - Parameters:
    ///   - descriptor: the socket; it is closed when the audio ends.
    ///   - layout: layout of the samples in a block.
    ///   - onEnd: called on the thread when the audio has ended.
    package func start(
        _ descriptor: Int32, blockFrames: Int, layout: SampleLayout = SampleLayout(),
        onEnd: @escaping @Sendable () -> Void
    ) {
        stop()
        state.withLock { state in
            state.descriptor = descriptor
            state.onEnd = onEnd
        }
        let work = Work(exchange: self, descriptor: descriptor, blockFrames: blockFrames, layout: layout)
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let work = Unmanaged<Work>.fromOpaque(argument).takeRetainedValue()
                work.exchange.run(work.descriptor, blockFrames: work.blockFrames, work.layout)
                return nil
            }, Unmanaged.passRetained(work).toOpaque())
        guard code == 0 else {
            finish(descriptor)
            return
        }
        // Without the privilege the thread runs at normal priority.
        var priority = sched_param()
        priority.sched_priority = 5
        _ = pthread_setschedparam(thread, SCHED_RR, &priority)
        pthread_detach(thread)
    }

    /// Ends the running audio.
    package func stop() {
        state.withLock { state in
            if state.descriptor >= 0 { shutdown(state.descriptor, Int32(SHUT_RDWR)) }
        }
    }

    private final class Work: Sendable {
        let exchange: AudioExchange
        let descriptor: Int32
        let blockFrames: Int
        let layout: SampleLayout

        init(exchange: AudioExchange, descriptor: Int32, blockFrames: Int, layout: SampleLayout) {
            self.exchange = exchange
            self.descriptor = descriptor
            self.blockFrames = blockFrames
            self.layout = layout
        }
    }

    private func run(_ descriptor: Int32, blockFrames: Int, _ layout: SampleLayout) {
        let size = 4 * blockFrames * layout.frameBytes
        let message = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        defer { message.deallocate() }
        var incoming = [Int16](repeating: 0, count: 4 * blockFrames)
        var outgoing = [Int16](repeating: 0, count: blockFrames)
        var last: Int?
        while true {
            let bytes = recv(descriptor, message, size, 0)
            if bytes < 0 && errno == EINTR { continue }
            guard bytes > 0 else { break }
            let frames = bytes / layout.frameBytes
            layout.read(message, frames, into: &incoming)
            let now = Self.milliseconds
            received(incoming[..<frames], gapMs: last.map { now - $0 } ?? 0, &outgoing)
            last = now
            let flags = Int32(MSG_NOSIGNAL | MSG_DONTWAIT)
            layout.write(outgoing, blockFrames, to: message)
            let block = blockFrames * layout.frameBytes
            let taken = send(descriptor, message, block, flags)
            state.withLock { state in
                if taken == block {
                    state.counters.blocksSent += 1
                } else {
                    state.counters.blocksRefused += 1
                }
            }
        }
        finish(descriptor)
    }

    private func received(_ block: ArraySlice<Int16>, gapMs: Int, _ outgoing: inout [Int16]) {
        state.withLock { state in
            state.counters.blocksReceived += 1
            if gapMs > Self.gapMs { state.counters.gaps += 1 }
            state.counters.longestGapMs = max(state.counters.longestGapMs, gapMs)
            if state.isRecording { state.recorded += block }
            if state.isPlaying {
                if state.counters.blocksBeforePlay == 0 {
                    state.counters.blocksBeforePlay = state.counters.blocksReceived
                }
                state.farEnd.fill(&outgoing)
            } else {
                for index in outgoing.indices { outgoing[index] = 0 }
            }
            state.levels.received = max(state.levels.received, Self.peak(block))
            state.levels.sent = max(state.levels.sent, Self.peak(outgoing[...]))
        }
    }

    private func finish(_ descriptor: Int32) {
        let onEnd = state.withLock { state -> (@Sendable () -> Void)? in
            close(descriptor)
            // A new socket may have replaced this one meanwhile.
            guard state.descriptor == descriptor else { return nil }
            state.descriptor = -1
            defer { state.onEnd = nil }
            return state.onEnd
        }
        onEnd?()
    }

    private static func peak(_ samples: ArraySlice<Int16>) -> Int {
        samples.reduce(0) { max($0, Int($1.magnitude)) }
    }

    private static var milliseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    }
}
