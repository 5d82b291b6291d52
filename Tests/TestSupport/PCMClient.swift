package import CBTCall
import Glibc

/// A program on the ALSA PCM that talks to the daemon like the plug-in (pcm_protocol.h). It never waits; one thread uses it.
package final class PCMClient: @unchecked Sendable {
    package struct Failure: Error {
        package let call: String
        package let code: Int32
    }

    package let descriptor: Int32
    /// Nil until it has arrived.
    package private(set) var answer: btcall_pcm_answer?
    package private(set) var ring: PCMRing?
    /// Signalled once in each period, and after each advance of a capture stream.
    package private(set) var wakeDescriptor: Int32 = -1
    package private(set) var messages: [btcall_pcm_message] = []
    package private(set) var isClosed = false
    private let bufferFrames: UInt32

    /// Hello for a stream of one channel of 16 bit.
    package static func hello(
        _ role: btcall_pcm_role, isCapture: Bool = false, rate: UInt32 = 16_000, bufferFrames: UInt32 = 1_600
    ) -> btcall_pcm_hello {
        var hello = btcall_pcm_hello()
        hello.magic = BTCALL_PCM_MAGIC
        hello.version = BTCALL_PCM_VERSION
        hello.role = UInt8(role.rawValue)
        hello.direction = UInt8(isCapture ? BTCALL_PCM_CAPTURE.rawValue : BTCALL_PCM_PLAYBACK.rawValue)
        hello.format = UInt8(BTCALL_PCM_S16.rawValue)
        hello.channels = 1
        hello.rate = rate
        hello.period_frames = rate / 100
        hello.buffer_frames = bufferFrames
        withUnsafeMutableBytes(of: &hello.program) { $0.copyBytes(from: "test".utf8) }
        return hello
    }

    /// Connects and sends the hello.
    package init(_ path: String, _ hello: btcall_pcm_hello) throws(Failure) {
        descriptor = socket(
            AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        bufferFrames = hello.buffer_frames
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw Failure(call: "connect", code: errno) }
        send(hello)
    }

    deinit {
        ring?.stop()
        close()
        if wakeDescriptor >= 0 { Glibc.close(wakeDescriptor) }
    }

    package func close() {
        guard !isClosed else { return }
        isClosed = true
        Glibc.close(descriptor)
    }

    /// Sends any message.
    package func send<Message>(_ message: Message) {
        withUnsafeBytes(of: message) {
            _ = Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
    }

    package func send(_ kind: btcall_pcm_message_kind) {
        send(btcall_pcm_message(kind: kind.rawValue, element: 0, value: 0))
    }

    /// Receives pending messages; returns whether there is an answer.
    package func isAnswered() -> Bool {
        receive()
        return answer != nil
    }

    /// Whether the daemon has closed the connection.
    package func isGone() -> Bool {
        receive()
        return isClosed
    }

    package func value(of element: btcall_pcm_element) -> Int32? {
        receive()
        return messages.last { $0.element == element.rawValue }?.value
    }

    private func receive() {
        while !isClosed {
            var bytes = [UInt8](repeating: 0, count: 512)
            var descriptors: [Int32] = [-1, -1]
            var count = 2
            var outcome: Int32 = 0
            let received = btcall_receive_descriptors(
                descriptor, &bytes, bytes.count, &descriptors, &count, Int32(MSG_DONTWAIT), &outcome)
            if received < 0 && errno == EAGAIN { return }
            guard received > 0 else { return close() }
            if received == MemoryLayout<btcall_pcm_answer>.size {
                handle(bytes.withUnsafeBytes { $0.loadUnaligned(as: btcall_pcm_answer.self) }, descriptors, count)
            } else if received == MemoryLayout<btcall_pcm_message>.size {
                messages.append(bytes.withUnsafeBytes { $0.loadUnaligned(as: btcall_pcm_message.self) })
            }
        }
    }

    private func handle(_ answer: btcall_pcm_answer, _ descriptors: [Int32], _ count: Int) {
        self.answer = answer
        guard count == 2 else { return }
        ring = PCMRing(
            descriptors[0], bytes: Int(answer.bytes), samplesOffset: Int(answer.samples_offset),
            bufferFrames: Int(bufferFrames))
        Glibc.close(descriptors[0])
        wakeDescriptor = descriptors[1]
    }

    /// Reason for a refusal.
    package var reason: String {
        guard let answer else { return "" }
        return withUnsafeBytes(of: answer.reason) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
