package import ControlLoop
import Synchronization

/// Writes a picture's frames into a ring of its own, and wakes the ring's reader.
package final class RingConsumer: FrameConsumer {
    private struct State: ~Copyable, Sendable {
        var writer: FrameRingWriter
        /// Our end of the wake-up; -1 once closed.
        var wakeUp: Int32
        var onEnd: (@Sendable () -> Void)?
    }

    /// Our end of the wake-up, to be watched for a hang-up until ``close()``.
    package let wakeUp: Int32
    private let state: Mutex<State>

    /// The reader's descriptors, which are the caller's.
    package struct ReaderEnds: Sendable {
        package let memory: Int32
        package let wakeUp: Int32
    }

    /// Makes the ring.
    ///
    /// - Parameter onEnd: called at most once, on any thread, when the picture ends; not after ``close()``.
    package static func make(
        _ layout: FrameLayout, onEnd: @escaping @Sendable () -> Void
    ) throws(SystemError) -> (consumer: RingConsumer, ends: ReaderEnds) {
        var writer = try FrameRingWriter(layout)
        let wakeUp = try FrameWakeUp.forReader()
        let ends = ReaderEnds(memory: writer.takeReaderDescriptor(), wakeUp: wakeUp.readers)
        return (RingConsumer(State(writer: writer, wakeUp: wakeUp.ours, onEnd: onEnd), wakeUp.ours), ends)
    }

    private init(_ state: consuming State, _ wakeUp: Int32) {
        self.wakeUp = wakeUp
        self.state = Mutex(state)
    }

    deinit { close() }

    package func take(_ bytes: UnsafeRawBufferPointer, at nanoseconds: UInt64, isCard: Bool) {
        state.withLock { state in
            guard state.wakeUp >= 0, state.writer.write(bytes, at: nanoseconds, isCard: isCard) else { return }
            FrameWakeUp.send(to: state.wakeUp)
        }
    }

    package func end() {
        let onEnd: (@Sendable () -> Void)? = state.withLock { state in
            guard state.wakeUp >= 0, !state.writer.isEnded else { return nil }
            state.writer.end()
            FrameWakeUp.send(to: state.wakeUp)
            return state.onEnd
        }
        onEnd?()
    }

    /// Ends the ring and closes the wake-up, which the reader sees. Nothing is written any more. A second call does nothing.
    package func close() {
        state.withLock { state in
            guard state.wakeUp >= 0 else { return }
            state.writer.end()
            FrameWakeUp.close(state.wakeUp)
            state.wakeUp = -1
            state.onEnd = nil
        }
    }
}
