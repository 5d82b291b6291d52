import BTCallAPI
import ControlLoop
import DBus
import FrameRings
import Synchronization

/// The frames of one picture of a call, in memory shared with btcall-video.
///
/// It ends with ``close()``, with the last reference to this object, with this process and with its call or picture; then
/// open another one. Nobody waits for a slow reader. It may be used from any thread.
public final class BufferView: Sendable {
    /// The call; nil for the camera of the box without a call.
    public let call: Call.ID?
    /// Pixels.
    public let width: Int
    public let height: Int
    public let framesPerSecond: Double
    private let number: UInt32
    private let connection: BridgeConnection
    /// Nil once closed.
    private let reader: Mutex<FrameRingReader?>
    fileprivate let wakeUp: WakeUpWaiter

    @ControlPlane
    init(_ answer: [Value], of call: Call.ID?, on connection: BridgeConnection) throws(BridgeError) {
        let ring = try OpenedRing(answer, of: BTCallName.Video.openTap)
        let reader: FrameRingReader
        do throws(FrameRingError) {
            reader = try FrameRingReader(descriptor: ring.memory.descriptor)
        } catch {
            throw BridgeError(.failed, "btcall-video answered \(BTCallName.Video.openTap) with memory that is \(error)")
        }
        self.call = call
        self.connection = connection
        number = ring.number
        width = reader.layout.width
        height = reader.layout.height
        framesPerSecond = reader.layout.framesPerSecond
        wakeUp = WakeUpWaiter(ring.wakeUp)
        self.reader = Mutex(reader)
    }

    /// The newest frame; nil before the first one and once closed.
    public func latest() -> VideoFrame? { latest(after: 0) }

    /// The newest frame, then each newer one when it comes, until the picture ends or the view is closed.
    ///
    /// A reader that is slower than the picture misses frames. Each sequence has its own position.
    public func frames() -> Frames { Frames(view: self) }

    /// Ends the view. Returns when btcall-video has released it. A second call does nothing.
    public func close() async {
        guard await release() else { return }
        // An error says that it has ended already, or that btcall-video has.
        _ = try? await connection.requestVideo(
            BTCallName.Interface.video, BTCallName.Video.closeTap, [.uint32(number)])
    }

    /// - Returns: false if it was released before.
    @ControlPlane
    private func release() -> Bool {
        let wasOpen = reader.withLock { reader in
            defer { reader = nil }
            return reader != nil
        }
        wakeUp.close()
        return wasOpen
    }

    fileprivate func latest(after number: UInt64) -> VideoFrame? {
        // Copied without the lock.
        guard let reader = reader.withLock({ $0 }) else { return nil }
        return reader.latest(after: number).map { VideoFrame($0, reader.layout) }
    }

    fileprivate var isEnded: Bool { reader.withLock { $0?.isEnded ?? true } }

    /// Frames of a ``BufferView``.
    public struct Frames: AsyncSequence, Sendable {
        public typealias Element = VideoFrame
        public typealias Failure = Never

        fileprivate let view: BufferView

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(view: view) }

        public struct AsyncIterator: AsyncIteratorProtocol {
            public typealias Failure = Never

            private let view: BufferView
            private var last: UInt64 = 0
            private var isOver = false

            fileprivate init(view: BufferView) { self.view = view }

            public mutating func next() async -> VideoFrame? { await next(isolation: nil) }

            public mutating func next(isolation actor: isolated (any Actor)?) async -> VideoFrame? {
                while true {
                    // Looked at first: a frame before the end is not missed.
                    isOver = isOver || view.isEnded || Task.isCancelled
                    if let frame = view.latest(after: last) {
                        last = frame.number
                        return frame
                    }
                    if isOver { return nil }
                    isOver = await !view.wakeUp.wait()
                }
            }
        }
    }
}

/// Answer of `OpenTap` and `OfferRemote`.
struct OpenedRing {
    let number: UInt32
    let memory: PassedDescriptor
    let wakeUp: PassedDescriptor

    init(_ answer: [Value], of member: String) throws(BridgeError) {
        guard answer.count == 3, let number = answer[0].uint32Value, let memory = answer[1].descriptorValue,
            let wakeUp = answer[2].descriptorValue
        else { throw BridgeError(.failed, "btcall-video answered \(member) without a number and two descriptors") }
        self.number = number
        self.memory = memory
        self.wakeUp = wakeUp
    }
}
