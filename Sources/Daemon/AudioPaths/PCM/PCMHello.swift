package import AudioDSP
import AudioEngine
package import CBTCall
import ControlLoop
import Glibc

/// The first message of an ALSA PCM client (pcm_protocol.h), checked.
package struct PCMHello: Equatable, Sendable {
    package enum Role: Equatable, Sendable { case call, ring, page, control }

    package let role: Role
    /// The client records; only with role `call`.
    package let isCapture: Bool
    package let layout: SampleLayout
    /// Sample rate in Hz.
    package let rate: Int
    package let periodFrames: Int
    package let bufferFrames: Int
    /// For people: the first 31 bytes of the client's name, made printable.
    package let program: String

    /// - Parameter bytes: one message as received.
    /// - Throws: what was wrong, and what is accepted.
    package init(_ bytes: [UInt8]) throws(PCMRefusal) {
        guard bytes.count == MemoryLayout<btcall_pcm_hello>.size else {
            throw PCMRefusal(
                EPROTO, "a hello of \(bytes.count) bytes; accepted: \(MemoryLayout<btcall_pcm_hello>.size)")
        }
        var hello = btcall_pcm_hello()
        withUnsafeMutableBytes(of: &hello) { $0.copyBytes(from: bytes) }
        guard hello.magic == BTCALL_PCM_MAGIC else { throw PCMRefusal(EPROTO, "no hello of the PCM btcall") }
        guard hello.version == BTCALL_PCM_VERSION else {
            throw PCMRefusal(
                EPROTONOSUPPORT,
                "the plug-in speaks version \(hello.version), btcalld \(BTCALL_PCM_VERSION): install both")
        }
        program = Self.text(hello)
        switch UInt32(hello.role) {
        case BTCALL_PCM_CALL.rawValue: role = .call
        case BTCALL_PCM_RING.rawValue: role = .ring
        case BTCALL_PCM_PAGE.rawValue: role = .page
        case BTCALL_PCM_CONTROL.rawValue:
            role = .control
            (isCapture, layout, rate, periodFrames, bufferFrames) = (false, SampleLayout(), 0, 0, 0)
            return
        default: throw PCMRefusal(EINVAL, "role \(hello.role); accepted: 0 call, 1 ring, 2 page, 3 control")
        }
        isCapture = try Self.isCapture(hello, role)
        layout = try Self.layout(hello)
        guard let rate = Int(exactly: hello.rate), AudioEngine.rates.contains(rate) else {
            let accepted = AudioEngine.rates.map { String($0) }.joined(separator: ", ")
            throw PCMRefusal(EINVAL, "\(hello.rate) frames a second; accepted: \(accepted)")
        }
        self.rate = rate
        let periods = UInt32(rate / 100)...BTCALL_PCM_MAXIMUM_PERIOD
        guard periods.contains(hello.period_frames) else {
            throw PCMRefusal(
                EINVAL,
                "a period of \(hello.period_frames) frames; accepted: \(periods.lowerBound)–\(periods.upperBound)")
        }
        let buffers = 2 * hello.period_frames...BTCALL_PCM_MAXIMUM_BUFFER
        guard buffers.contains(hello.buffer_frames) else {
            throw PCMRefusal(
                EINVAL,
                "a buffer of \(hello.buffer_frames) frames; accepted: \(buffers.lowerBound)–\(buffers.upperBound)")
        }
        periodFrames = Int(hello.period_frames)
        bufferFrames = Int(hello.buffer_frames)
    }

    private static func isCapture(_ hello: btcall_pcm_hello, _ role: Role) throws(PCMRefusal) -> Bool {
        switch UInt32(hello.direction) {
        case BTCALL_PCM_PLAYBACK.rawValue: return false
        case BTCALL_PCM_CAPTURE.rawValue:
            guard role == .call else {
                throw PCMRefusal(EINVAL, "nothing can be recorded there: only from btcall:call")
            }
            return true
        default: throw PCMRefusal(EINVAL, "direction \(hello.direction); accepted: 0 playback, 1 capture")
        }
    }

    private static func layout(_ hello: btcall_pcm_hello) throws(PCMRefusal) -> SampleLayout {
        let format: SampleFormat
        switch UInt32(hello.format) {
        case BTCALL_PCM_S16.rawValue: format = .s16
        case BTCALL_PCM_F32.rawValue: format = .f32
        default: throw PCMRefusal(EINVAL, "format \(hello.format); accepted: 0 S16, 1 F32")
        }
        guard (1...BTCALL_PCM_MAXIMUM_CHANNELS).contains(UInt32(hello.channels)) else {
            throw PCMRefusal(EINVAL, "\(hello.channels) channels; accepted: 1, 2")
        }
        return SampleLayout(format, channels: Int(hello.channels))
    }

    /// The program's name.
    private static func text(_ hello: btcall_pcm_hello) -> String {
        let bytes = withUnsafeBytes(of: hello.program) { raw in Array(raw.prefix { $0 != 0 }.prefix(31)) }
        let name = PrintableText.line(bytes: bytes)
        return name.isEmpty ? "a program" : name
    }
}

/// Why a client gets no stream.
package struct PCMRefusal: Error, Equatable {
    /// An errno.
    package let code: Int32
    package let reason: String

    package init(_ code: Int32, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    /// The refusal as sent to the client: the reason is cut to the room in the message.
    package var answer: btcall_pcm_answer {
        var answer = btcall_pcm_answer()
        answer.magic = BTCALL_PCM_MAGIC
        answer.version = BTCALL_PCM_VERSION
        answer.error = code
        withUnsafeMutableBytes(of: &answer.reason) { room in
            room.copyBytes(from: reason.utf8.prefix(room.count - 1))
        }
        return answer
    }
}
