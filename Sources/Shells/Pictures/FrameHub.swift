package import FrameRings
import Synchronization

/// Gives the pictures of one side to everybody who wants them.
///
/// Nobody waits for a receiver: each takes a picture at once or leaves it. Pictures come on threads of GStreamer, receivers
/// come and go on the control plane.
package final class FrameHub: Sendable {
    private struct State {
        var takers: [any PictureTaker] = []
        var consumers: [any FrameConsumer] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// Pictures from now on.
    package func add(_ consumer: any FrameConsumer) { state.withLock { $0.consumers.append(consumer) } }

    /// Once this has returned, the consumer gets nothing more.
    package func remove(_ consumer: any FrameConsumer) {
        state.withLock { state in state.consumers.removeAll { $0 === consumer } }
    }

    func add(_ taker: any PictureTaker) { state.withLock { $0.takers.append(taker) } }

    func remove(_ taker: any PictureTaker) {
        state.withLock { state in state.takers.removeAll { $0 === taker } }
    }

    /// Ends the picture for its consumers, who are removed.
    package func endConsumers() {
        let ended = state.withLock { state in
            defer { state.consumers = [] }
            return state.consumers
        }
        for consumer in ended { consumer.end() }
    }

    /// Gives a picture to all. Callable from any thread, from one at a time.
    ///
    /// - Parameter nanoseconds: CLOCK_MONOTONIC of the picture.
    package func give(_ picture: Picture, at nanoseconds: UInt64, isCard: Bool) {
        state.withLock { state in
            for taker in state.takers { taker.take(picture) }
            guard !state.consumers.isEmpty else { return }
            picture.withBytes { bytes in
                for consumer in state.consumers { consumer.take(bytes, at: nanoseconds, isCard: isCard) }
            }
        }
    }
}
