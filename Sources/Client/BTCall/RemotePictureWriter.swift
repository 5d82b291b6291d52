import BTCallAPI
import BluetoothTypes
import ControlLoop
import DBus
import FrameRings
import Glibc
import Synchronization

/// The picture of the far end, which this program receives, decodes and gives to btcall-video for display and taps.
///
/// It ends with ``close()``, with the last reference to this object, with this process and with its call. It may be used
/// from any thread.
public final class RemotePictureWriter: Sendable {
    private struct State: ~Copyable, Sendable {
        var writer: FrameRingWriter
        /// -1 once closed.
        var wakeUp: Int32
    }

    public let call: Call.ID
    /// Pixels.
    public let width: Int
    public let height: Int
    /// Bytes of a frame.
    public let frameBytes: Int
    private let number: UInt32
    private let connection: BridgeConnection
    private let state: Mutex<State>

    init(_ answer: [Value], of call: Call.ID, on connection: BridgeConnection) throws(BridgeError) {
        let ring = try OpenedRing(answer, of: BTCallName.Video.offerRemote)
        let writer: FrameRingWriter
        do throws(FrameRingError) {
            writer = try FrameRingWriter(descriptor: ring.memory.descriptor)
        } catch {
            throw BridgeError(
                .failed, "btcall-video answered \(BTCallName.Video.offerRemote) with memory that is \(error)")
        }
        self.call = call
        self.connection = connection
        number = ring.number
        width = writer.layout.width
        height = writer.layout.height
        frameBytes = writer.layout.frameBytes
        state = Mutex(State(writer: writer, wakeUp: ring.wakeUp.take()))
    }

    deinit { _ = release() }

    /// Writes the next frame. It never waits: btcall-video takes the newest one.
    ///
    /// - Parameters:
    ///   - bytes: I420 without padding, as in ``VideoFrame/bytes``: ``frameBytes`` bytes.
    ///   - nanoseconds: when it was taken, on the monotonic clock; nil: now.
    /// - Throws: `.invalidArgument` for another number of bytes; `.wrongState` when the picture has ended, with its call or by
    ///   ``close()``.
    public func write(_ bytes: UnsafeRawBufferPointer, at nanoseconds: UInt64? = nil) throws(BridgeError) {
        guard bytes.count == frameBytes else {
            throw BridgeError(
                .invalidArgument,
                "a frame of \(bytes.count) bytes; accepted: \(frameBytes) bytes, I420 of \(width)x\(height) without padding"
            )
        }
        let time = nanoseconds ?? UInt64(clamping: ControlLoop.now.nanoseconds)
        let isTaken = state.withLock { state in
            guard state.wakeUp >= 0 else { return false }
            return state.writer.write(bytes, at: time) && FrameWakeUp.send(to: state.wakeUp)
        }
        guard isTaken else {
            throw BridgeError(.wrongState, "the picture has ended: its call has, or it was closed; offer it again")
        }
    }

    /// Writes the next frame from an array; otherwise the same.
    public func write(_ bytes: [UInt8], at nanoseconds: UInt64? = nil) throws(BridgeError) {
        var failure: BridgeError?
        bytes.withUnsafeBytes { bytes in
            do throws(BridgeError) { try write(bytes, at: nanoseconds) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// Ends the picture. Returns when btcall-video has released it. A second call does nothing.
    public func close() async {
        guard release() else { return }
        // An error says that it has ended already, or that btcall-video has.
        _ = try? await connection.requestVideo(
            BTCallName.Interface.video, BTCallName.Video.withdrawRemote, [.uint32(number)])
    }

    /// - Returns: false if it was released before.
    private func release() -> Bool {
        state.withLock { state in
            guard state.wakeUp >= 0 else { return false }
            state.writer.end()
            Glibc.close(state.wakeUp)
            state.wakeUp = -1
            return true
        }
    }
}
