import BluetoothSockets
import BluetoothTypes
import ControlLoop
import Glibc
import Testing

@Suite
struct AudioLinkErrorTests {
    @Test(arguments: [
        (ECONNREFUSED, AudioLinkError.refused), (EHOSTUNREACH, .noAdapter), (EHOSTDOWN, .headsetAbsent),
        (EOPNOTSUPP, .unsupportedCodec(.mSBC)), (EPROTONOSUPPORT, .unsupportedCodec(.mSBC)), (ETIMEDOUT, .timedOut),
        (EBUSY, .busy), (ECONNRESET, .lost), (EPIPE, .lost), (ENOTCONN, .lost),
        (EAGAIN, .tryAgain(SystemError(call: "connect", code: EAGAIN))),
        (EPERM, .notPermitted(SystemError(call: "connect", code: EPERM))),
        (EACCES, .notPaired), (EBADE, .notPaired),
        (EINVAL, .negotiationFailed(SystemError(call: "connect", code: EINVAL))),
        (ENOSYS, .negotiationFailed(SystemError(call: "connect", code: ENOSYS))),
        (EBADFD, .failed(SystemError(call: "connect", code: EBADFD))),
    ])
    func `each errno of connect has one meaning`(code: Int32, expected: AudioLinkError) {
        #expect(AudioLinkError(SystemError(call: "connect", code: code), codec: .mSBC) == expected)
    }

    @Test func `setting the voice without a powered adapter has a code of its own`() {
        #expect(AudioLinkError(SystemError(call: "setsockopt BT_VOICE", code: EBADFD), codec: .cvsd) == .noAdapter)
    }

    @Test(arguments: [EAFNOSUPPORT, EPROTONOSUPPORT])
    func `a kernel without Bluetooth is distinguished from an unsupported codec`(code: Int32) {
        let error = SystemError(call: "socket", code: code)
        #expect(AudioLinkError(error, codec: .mSBC) == .noBluetoothInKernel(error))
    }

    @Test func `every text has a remedy, and the call with its errno if there is no other reason`() {
        let error = SystemError(call: "connect", code: EINVAL)
        #expect(AudioLinkError.failed(error).description.contains("EINVAL"))
        #expect(AudioLinkError.unsupportedCodec(.mSBC).description.contains("use CVSD"))
        #expect(AudioLinkError.busy.description.contains("wait 300 ms"))
        #expect(AudioLinkError.notPermitted(error).description.contains("RestrictAddressFamilies"))
    }
}
