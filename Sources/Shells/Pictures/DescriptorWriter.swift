import CBTCall
import CPictures
import ControlLoop
import Glibc
import Synchronization
import VideoPlan

/// Writes pictures to a descriptor, in a thread of its own: YUV4MPEG2 to one of somebody else, bare pictures to a V4L2 node.
///
/// A reader that is too slow loses pictures, never a part of one. A reader that stops reading keeps this thread waiting, nobody
/// else.
final class DescriptorWriter: PictureTaker {
    /// How it has ended.
    enum End: Equatable, Sendable {
        /// By ``end()``.
        case asked
        /// The reader has closed its end.
        case closed
        case failed(SystemError)
    }

    private struct State {
        var pending: Picture?
        var isEnding = false
    }

    private let state = Mutex(State())
    /// Wakes the thread.
    private let wake: Int32
    private let descriptor: Int32
    private let format: PictureFormat
    private let isStream: Bool

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - descriptor: duplicated here; its flags are not changed.
    ///   - then: called once.
    /// - Throws: `EINVAL` for what is no pipe, stream socket or regular file; `EBADF` for one that is not open for writing.
    @ControlPlane
    static func start(
        _ descriptor: Int32, _ format: PictureFormat, then: @escaping @ControlPlane (End) -> Void
    ) throws(SystemError) -> DescriptorWriter {
        let copy = try SystemError.check("fcntl") { fcntl(descriptor, F_DUPFD_CLOEXEC, 0) }
        var outlet = btcall_outlet()
        guard btcall_outlet_open(&outlet, copy) == 0 else {
            let error = SystemError("write")
            close(copy)
            throw error
        }
        let wake = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard wake >= 0 else {
            let error = SystemError("eventfd")
            btcall_outlet_close(&outlet)
            close(copy)
            throw error
        }
        let writer = DescriptorWriter(copy, wake, format, isStream: true)
        try writer.start(outlet, then)
        return writer
    }

    /// Starts the thread for a V4L2 output node.
    ///
    /// - Parameter node: taken over, also on failure.
    @ControlPlane
    static func start(
        node: Int32, _ format: PictureFormat, then: @escaping @ControlPlane (End) -> Void
    ) throws(SystemError) -> DescriptorWriter {
        var outlet = btcall_outlet()
        btcall_outlet_take(&outlet, node)
        let wake = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard wake >= 0 else {
            let error = SystemError("eventfd")
            close(node)
            throw error
        }
        let writer = DescriptorWriter(node, wake, format, isStream: false)
        try writer.start(outlet, then)
        return writer
    }

    @ControlPlane
    private func start(_ outlet: btcall_outlet, _ then: @escaping @ControlPlane (End) -> Void) throws(SystemError) {
        guard !ControlLoop.runBeside("btcall-frames", { self.run(outlet) }, then: then) else { return }
        var unused = outlet
        btcall_outlet_close(&unused)
        throw SystemError(call: "pthread_create", code: EAGAIN)
    }

    static func check(_ descriptor: Int32) throws(SystemError) {
        var outlet = btcall_outlet()
        guard btcall_outlet_open(&outlet, descriptor) == 0 else { throw SystemError("write") }
        btcall_outlet_close(&outlet)
    }

    private init(_ descriptor: Int32, _ wake: Int32, _ format: PictureFormat, isStream: Bool) {
        self.descriptor = descriptor
        self.wake = wake
        self.format = format
        self.isStream = isStream
    }

    deinit {
        close(wake)
        close(descriptor)
    }

    func take(_ picture: Picture) {
        guard picture.width == format.width, picture.height == format.height else { return }
        state.withLock { $0.pending = picture }
        signal()
    }

    /// The thread ends soon; nothing more is written.
    func end() {
        state.withLock { $0 = State(pending: nil, isEnding: true) }
        signal()
    }

    private func signal() {
        var one: UInt64 = 1
        // Fails only with a full counter: the thread wakes anyway.
        _ = write(wake, &one, MemoryLayout<UInt64>.size)
    }

    // MARK: The thread

    private func run(_ opened: btcall_outlet) -> End {
        var outlet = opened
        defer { btcall_outlet_close(&outlet) }
        var head = isStream ? format.streamHeader : []
        while true {
            let (picture, isEnding) = state.withLock { state in
                defer { state.pending = nil }
                return (state.pending, state.isEnding)
            }
            if isEnding { return .asked }
            guard let picture else {
                if let end = wait(forRoom: false) { return end }
                continue
            }
            if isStream {
                head += Array("FRAME\n".utf8)
                if let end = head.withUnsafeBytes({ send($0, &outlet) }) { return end }
                head = []
            }
            if let end = picture.withBytes({ send($0, &outlet) }) { return end }
        }
    }

    /// - Returns: nil once all bytes are written.
    private func send(_ bytes: UnsafeRawBufferPointer, _ outlet: inout btcall_outlet) -> End? {
        var rest = bytes[...]
        while true {
            let part = UnsafeRawBufferPointer(rebasing: rest)
            let count = btcall_outlet_write(&outlet, part.baseAddress, part.count)
            if count < 0 {
                let error = SystemError("write")
                if error.code == EPIPE || error.code == ECONNRESET { return .closed }
                guard error.code == EAGAIN else { return .failed(error) }
                if let end = wait(forRoom: true) { return end }
                continue
            }
            rest = rest.dropFirst(count)
            if rest.isEmpty, outlet.waiting == 0 { return nil }
        }
    }

    /// Waits for the next picture or the end, and also for room in the descriptor.
    ///
    /// - Returns: nil to go on.
    private func wait(forRoom: Bool) -> End? {
        var sources = [
            pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: forRoom ? Int16(POLLOUT) : 0, revents: 0),
        ]
        // What a node's driver says of an idle writer is no end.
        let count = isStream || forRoom ? sources.count : 1
        guard poll(&sources, nfds_t(count), -1) >= 0 else {
            let error = SystemError("poll")
            return error.code == EINTR ? nil : .failed(error)
        }
        if sources[0].revents != 0 {
            var count: UInt64 = 0
            _ = read(wake, &count, MemoryLayout<UInt64>.size)
            if state.withLock({ $0.isEnding }) { return .asked }
        }
        guard isStream else { return nil }
        return sources[1].revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 ? .closed : nil
    }
}
