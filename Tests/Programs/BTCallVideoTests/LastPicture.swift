import FrameRings
import Synchronization

/// The colour of the newest picture.
final class LastPicture: FrameConsumer {
    struct Seen {
        var cards = 0
        /// The first pixel's.
        var colour: [UInt8] = []
    }

    private let state = Mutex(Seen())

    func take(_ bytes: UnsafeRawBufferPointer, at nanoseconds: UInt64, isCard: Bool) {
        let luma = bytes.count / 3 * 2
        let colour = [bytes[0], bytes[luma], bytes[luma + luma / 4]]
        state.withLock { state in
            if isCard { state.cards += 1 }
            state.colour = colour
        }
    }

    func end() {}

    var seen: Seen { state.withLock { $0 } }
}
