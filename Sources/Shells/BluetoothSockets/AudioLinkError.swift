package import BluetoothTypes
package import ControlLoop
import Glibc

/// Why a synchronous connection was not set up, or a listener not opened (kernel `net/bluetooth/sco.c` and the mapping of
/// HCI status codes to `errno`).
///
/// All cases but `alreadyConnecting` have external causes and are expected in the life of a headset.
package enum AudioLinkError: Error, Equatable, Sendable {
    /// The kernel has no Bluetooth sockets, or none for audio: EAFNOSUPPORT, EPROTONOSUPPORT from `socket`.
    case noBluetoothInKernel(SystemError)
    /// No adapter that is on leads to the headset: EHOSTUNREACH, ENETDOWN, ENETUNREACH, ENODEV.
    case noAdapter
    /// The headset did not answer the page: EHOSTDOWN.
    case headsetAbsent
    /// The headset refused (limited resources, security, address): ECONNREFUSED.
    case refused
    /// The deadline of the call passed, or the controller's: ETIMEDOUT.
    case timedOut
    /// The pairing is no longer valid on one side: EACCES, EBADE from `connect`.
    case notPaired
    /// Adapter and headset did not agree on a link for another reason: EINVAL, EIO, ELOOP, EPROTO, ENOSYS from `connect`;
    /// the last stands for every HCI status that the kernel does not distinguish. Another codec may work.
    case negotiationFailed(SystemError)
    /// The adapter or the headset cannot carry this codec: EOPNOTSUPP, EPROTONOSUPPORT from `connect`.
    case unsupportedCodec(VoiceCodec)
    /// An audio connection to this headset exists or is being set up: EBUSY, EALREADY, EMLINK, EISCONN.
    case busy
    /// The headset, or its radio link, went away meanwhile: ECONNRESET, ECONNABORTED, EPIPE, ENOTCONN, ENOENT.
    case lost
    /// The kernel cannot take the request at this moment: EAGAIN, ENOBUFS, ENOMEM, EMFILE, ENFILE.
    case tryAgain(SystemError)
    /// The process may not use Bluetooth sockets: EPERM, EACCES.
    case notPermitted(SystemError)
    /// Another program listens for audio connections already: EADDRINUSE.
    case listenerExists
    /// The owner or its task cancelled the set-up.
    case cancelled
    /// Our mistake: the connector was used during a set-up of its own.
    case alreadyConnecting
    /// Anything else; the call and its `errno` say more.
    case failed(SystemError)

    /// - Parameter codec: requested codec; named if it is the reason.
    package init(_ error: SystemError, codec: VoiceCodec) {
        switch (error.call, error.code) {
        case ("socket", EAFNOSUPPORT), ("socket", EPROTONOSUPPORT), ("socket", ESOCKTNOSUPPORT):
            self = .noBluetoothInKernel(error)
        // Linux looks for the adapter when the voice setting is chosen, and has a special error for finding none.
        case ("setsockopt BT_VOICE", EBADFD): self = .noAdapter
        case (_, EHOSTUNREACH), (_, ENETDOWN), (_, ENETUNREACH), (_, ENODEV), (_, EADDRNOTAVAIL): self = .noAdapter
        case (_, EHOSTDOWN): self = .headsetAbsent
        case (_, ECONNREFUSED): self = .refused
        case (_, ETIMEDOUT): self = .timedOut
        case ("connect", EACCES), ("connect", EBADE): self = .notPaired
        case ("connect", EINVAL), ("connect", EIO), ("connect", ELOOP), ("connect", EPROTO), ("connect", ENOSYS):
            self = .negotiationFailed(error)
        case (_, EOPNOTSUPP), (_, EPROTONOSUPPORT): self = .unsupportedCodec(codec)
        case (_, EBUSY), (_, EALREADY), (_, EMLINK), (_, EISCONN): self = .busy
        case (_, ECONNRESET), (_, ECONNABORTED), (_, EPIPE), (_, ENOTCONN), (_, ENOENT): self = .lost
        case (_, EAGAIN), (_, ENOBUFS), (_, ENOMEM), (_, EMFILE), (_, ENFILE): self = .tryAgain(error)
        case (_, EPERM), (_, EACCES): self = .notPermitted(error)
        case (_, EADDRINUSE): self = .listenerExists
        default: self = .failed(error)
        }
    }

    /// Makes system calls for a connection with this codec.
    static func translating<Result: ~Copyable>(
        codec: VoiceCodec, _ calls: () throws(SystemError) -> Result
    ) throws(AudioLinkError) -> Result {
        do throws(SystemError) {
            return try calls()
        } catch {
            throw AudioLinkError(error, codec: codec)
        }
    }

    /// Whether the same request can succeed a moment later without any intervention.
    package var isWorthRetrying: Bool {
        switch self {
        case .refused, .timedOut, .busy, .lost, .tryAgain, .negotiationFailed: true
        case .noBluetoothInKernel, .noAdapter, .headsetAbsent, .unsupportedCodec, .notPermitted, .listenerExists: false
        case .notPaired: false
        case .cancelled, .alreadyConnecting, .failed: false
        }
    }
}

extension AudioLinkError: CustomStringConvertible {
    /// What happened and what to do about it, as one line for the log and for `btcall why`.
    package var description: String {
        switch self {
        case .noBluetoothInKernel(let error):
            """
            this kernel has no Bluetooth sockets: load the module `bluetooth` (with `modprobe bluetooth`), and build the \
            kernel with CONFIG_BT and CONFIG_BT_BREDR (\(error))
            """
        case .noAdapter:
            """
            no Bluetooth adapter that is on leads to the headset: check `bluetoothctl show`, `rfkill list` and that the \
            adapter is plugged in
            """
        case .headsetAbsent: "the headset does not answer: switch it on or bring it nearer"
        case .refused:
            """
            the headset refused the audio connection: it may be in another call or busy with another device; try again \
            after 300 ms, then with another codec
            """
        case .timedOut: "the audio connection was not up in time: check the radio conditions, then try again"
        case .notPaired: "the pairing is not valid any more: remove the device here and there, then pair it again"
        case .negotiationFailed(let error):
            """
            adapter and headset did not agree on an audio link: try again after 300 ms, then with another codec (\(error))
            """
        case .unsupportedCodec(let codec):
            """
            the adapter or the headset cannot carry \(codec) (no transparent or enhanced synchronous connections): use \
            CVSD
            """
        case .busy:
            """
            an audio connection to this headset exists already or is being set up: close it first, or stop the other \
            program that holds it (PipeWire, PulseAudio, BlueALSA), and wait 300 ms
            """
        case .lost: "the link to the headset broke while audio was being connected: wait for the headset to come back"
        case .tryAgain(let error): "the kernel cannot set up the audio connection at this moment: try again (\(error))"
        case .notPermitted(let error):
            """
            this process may not open Bluetooth sockets: check the unit's RestrictAddressFamilies (AF_BLUETOOTH must be \
            in it) and the container's seccomp profile (\(error))
            """
        case .listenerExists:
            """
            another program waits for audio connections of headsets already: stop PipeWire's, PulseAudio's or BlueALSA's \
            hands-free support
            """
        case .cancelled: "the audio connection is not wanted any more"
        case .alreadyConnecting: "this connector has a set-up under way: await it or cancel it first"
        case .failed(let error): "the audio connection failed: \(error)"
        }
    }
}
