package import AudioEngine
import CBTCall
package import ControlLoop
import Glibc

/// One client of the ALSA PCM: a stream, or a mixer that shows the volumes.
@ControlPlane
package final class PCMConnection {
    package enum Event {
        case hello(PCMHello)
        case refused(PCMRefusal)
        case start, stop
        case value(element: UInt32, value: Int32)
        /// The client has disconnected, or has sent an invalid message.
        case gone(complaint: String?)
    }

    /// What is running: the engine's number of the call stream, or the graph's number of the playback.
    package enum Running { case call(UInt32), playback(UInt32) }

    /// Timeout for a client that connects and sends nothing.
    private static let helloTimeout = Duration.seconds(5)
    /// Most messages handled at once; the rest waits for the next turn.
    private static let mostMessages = 16

    package var onEvent: (@ControlPlane (Event) -> Void)?
    package private(set) var hello: PCMHello?
    package var memory: PCMMemory?
    package var running: Running?
    /// The client's process, as `PCMServer.process` finds it.
    package let process: Int32
    private let descriptor: Int32
    private var source: DescriptorSource?
    private var silence: Timer?
    private var isClosed = false

    /// - Parameter descriptor: owned from now on, even when this throws.
    package init(_ descriptor: Int32, of process: Int32) throws(SystemError) {
        self.descriptor = descriptor
        self.process = process
        do throws(SystemError) {
            source = try ControlLoop.shared.add(descriptor, .readable) { [weak self] _ in self?.receive() }
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        silence = ControlLoop.shared.schedule(after: Self.helloTimeout) { [weak self] in
            self?.onEvent?(.gone(complaint: "a client of the PCM said nothing for \(Self.helloTimeout)"))
        }
    }

    /// Closes the connection; no event follows.
    package func close() {
        guard !isClosed else { return }
        isClosed = true
        onEvent = nil
        silence?.cancel()
        source?.cancel()
        btcall_close_peer(descriptor)
    }

    package func send(_ refusal: PCMRefusal) { _ = Self.send(refusal.answer, [], to: descriptor) }

    /// Refuses a client without waiting for its hello.
    ///
    /// - Parameter descriptor: is closed.
    package static func send(_ refusal: PCMRefusal, closing descriptor: Int32) {
        _ = send(refusal.answer, [], to: descriptor)
        btcall_close_peer(descriptor)
    }

    /// Accepts the client and sends it the stream's memory.
    ///
    /// - Returns: false if the client does not take the answer.
    package func accept(_ memory: PCMMemory?) -> Bool {
        self.memory = memory
        var answer = btcall_pcm_answer()
        answer.magic = BTCALL_PCM_MAGIC
        answer.version = BTCALL_PCM_VERSION
        guard let memory else { return send(answer, []) }
        answer.bytes = UInt32(clamping: memory.bytes)
        answer.samples_offset = UInt32(PCMMemory.samplesOffset)
        return send(answer, [memory.descriptor, memory.clientWakeDescriptor])
    }

    package func send(_ value: Int32, of element: UInt32) -> Bool {
        send(btcall_pcm_message(kind: BTCALL_PCM_VALUE.rawValue, element: element, value: value), [])
    }

    private func send<Message>(_ message: Message, _ descriptors: [Int32]) -> Bool {
        Self.send(message, descriptors, to: descriptor)
    }

    /// - Returns: false if the socket has no room: a client that does not read is not waited for.
    private static func send<Message>(_ message: Message, _ descriptors: [Int32], to descriptor: Int32) -> Bool {
        let length = MemoryLayout<Message>.size
        let sent = withUnsafeBytes(of: message) {
            btcall_send_descriptors(
                descriptor, $0.baseAddress, length, descriptors, descriptors.count,
                Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
        }
        return sent == length
    }

    private func receive() {
        var left = Self.mostMessages
        var bytes = [UInt8](repeating: 0, count: 256)
        while left > 0, !isClosed {
            left -= 1
            let received = bytes.withUnsafeMutableBytes { room in
                room.baseAddress.map { btcall_receive_block(descriptor, $0, room.count) } ?? 0
            }
            switch received {
            case -Int(EAGAIN): return
            case -Int(EBADMSG):
                onEvent?(.gone(complaint: "it sent descriptors; accepted: messages without"))
                return
            case ...0:
                onEvent?(.gone(complaint: nil))
                return
            case (bytes.count + 1)...:
                onEvent?(.gone(complaint: "a message of \(received) bytes"))
                return
            default: handle(Array(bytes[..<received]))
            }
        }
    }

    private func handle(_ bytes: [UInt8]) {
        guard hello != nil else { return greet(bytes) }
        guard bytes.count == MemoryLayout<btcall_pcm_message>.size else {
            onEvent?(.gone(complaint: "a message of \(bytes.count) bytes"))
            return
        }
        var message = btcall_pcm_message()
        withUnsafeMutableBytes(of: &message) { $0.copyBytes(from: bytes) }
        let isControl = hello?.role == .control
        switch message.kind {
        case BTCALL_PCM_START.rawValue where !isControl: onEvent?(.start)
        case BTCALL_PCM_STOP.rawValue where !isControl: onEvent?(.stop)
        case BTCALL_PCM_VALUE.rawValue where isControl:
            onEvent?(.value(element: message.element, value: message.value))
        default: onEvent?(.gone(complaint: "a message of kind \(message.kind)"))
        }
    }

    private func greet(_ bytes: [UInt8]) {
        silence?.cancel()
        silence = nil
        do throws(PCMRefusal) {
            let hello = try PCMHello(bytes)
            self.hello = hello
            onEvent?(.hello(hello))
        } catch {
            onEvent?(.refused(error))
        }
    }
}
