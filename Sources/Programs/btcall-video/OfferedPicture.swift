import BluetoothTypes
import ControlLoop
import DBus
import FrameRings

/// The remote picture of a call, which a client writes into a ring of ours.
///
/// Nothing that the client writes is trusted, and nobody waits for it: a frame that is not whole is left out.
@ControlPlane
final class OfferedPicture {
    /// The client's descriptors.
    struct ClientEnds {
        let memory: PassedDescriptor
        let wakeUp: PassedDescriptor
    }

    /// A picture that is older is taken for new: its clock cannot be right.
    private static let mostAge: UInt64 = 1_000_000_000

    /// Called once when the client ends the picture; not after ``close()``. The text, for people, says what it did wrong.
    var onEnd: (@ControlPlane (_ complaint: String?) -> Void)?
    private let reader: FrameRingReader
    private let consumer: any FrameConsumer
    private let descriptor: Int32
    private var source: DescriptorSource?
    /// The last frame that was taken, from 1.
    private var last: UInt64 = 0
    private var frame: [UInt8]
    /// A client that writes faster than offered is read at twice that rate.
    private let shortest: Duration
    private var earliest = Instant.zero
    private var pause: Timer?
    private var isClosed = false

    /// - Parameter consumer: gets the frames. Its `end` is called at the end, but not if this throws.
    static func make(
        _ layout: FrameLayout, for consumer: any FrameConsumer
    ) throws(SystemError) -> (picture: OfferedPicture, ends: ClientEnds) {
        let (reader, memory) = try FrameRingReader.make(layout)
        let passedMemory = PassedDescriptor(taking: memory)
        let (ours, theirs) = try FrameWakeUp.forWriter()
        let ends = ClientEnds(memory: passedMemory, wakeUp: PassedDescriptor(taking: theirs))
        let picture = OfferedPicture(reader, consumer, ours)
        do throws(SystemError) {
            picture.source = try ControlLoop.shared.add(ours, .readable) { [weak picture] in picture?.look($0) }
        } catch {
            FrameWakeUp.close(ours)
            picture.isClosed = true
            throw error
        }
        return (picture, ends)
    }

    private init(_ reader: FrameRingReader, _ consumer: any FrameConsumer, _ descriptor: Int32) {
        self.reader = reader
        self.consumer = consumer
        self.descriptor = descriptor
        frame = [UInt8](repeating: 0, count: reader.layout.frameBytes)
        shortest = .nanoseconds(500_000_000_000 / Int64(max(1, reader.layout.rateThousandths)))
    }

    isolated deinit { close() }

    /// Ends the picture; the client sees its end of the wake-up closed. A second call does nothing.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        onEnd = nil
        pause?.cancel()
        source?.cancel()
        FrameWakeUp.close(descriptor)
        consumer.end()
    }

    private func look(_ readiness: Readiness) {
        guard !readiness.contains(.hangup), !readiness.contains(.error) else { return end(nil) }
        guard ControlLoop.now >= earliest else { return rest() }
        switch FrameWakeUp.read(descriptor) {
        case .nothing: break
        case .messages: take()
        case .closed: end(nil)
        case .descriptors: end("it sent descriptors to the wake-up; accepted: bytes")
        }
    }

    /// Reads no message before the next frame may come. The end of the client is still seen.
    private func rest() {
        guard pause == nil else { return }
        source?.update(.hangup)
        pause = ControlLoop.shared.schedule(at: earliest) { [weak self] in
            self?.pause = nil
            self?.source?.update(.readable)
        }
    }

    private func take() {
        let now = ControlLoop.now
        let head = frame.withUnsafeMutableBytes { reader.copyLatest(after: last, into: $0) }
        if let head {
            last = head.number
            earliest = now.advanced(by: shortest)
            let time = UInt64(clamping: now.nanoseconds)
            let isPlausible = head.nanoseconds <= time && time - head.nanoseconds <= Self.mostAge
            frame.withUnsafeBytes {
                consumer.take($0, at: isPlausible ? head.nanoseconds : time, isCard: head.isCard)
            }
        }
        if reader.isEnded { end(nil) }
    }

    private func end(_ complaint: String?) {
        let handler = onEnd
        close()
        handler?(complaint)
    }
}
