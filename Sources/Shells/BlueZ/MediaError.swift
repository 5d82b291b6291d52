package import DBus

/// Why a headset's A2DP stream could not be acquired (`org.bluez.MediaTransport1`).
///
/// All are expected; each text says what to do.
package enum MediaError: BlueZError, Equatable, Sendable {
    case serviceAbsent
    /// No A2DP stream is set up with the headset.
    case notConfigured
    /// Another program has the headset's A2DP stream; nil: an unknown one.
    case foreign(BusPeer?)
    /// Another caller here is acquiring or releasing it.
    case inProgress
    /// This process has it already.
    case alreadyAcquired
    /// bluetoothd has given it to another program, or has not finished an earlier request.
    case notAuthorized
    /// The headset did not start the stream.
    case refused
    /// The headset or bluetoothd has ended the stream meanwhile.
    case gone
    /// The caller cancelled the request.
    case cancelled
    /// bluetoothd or the headset did not answer in time.
    case timedOut
    /// The bus does not let this process talk to bluetoothd.
    case notPermitted(BusError)
    /// The answer of bluetoothd cannot carry the stream.
    case unusable(String)
    case failed(BusError)

    package static let objectAbsent = MediaError.gone

    package static func own(_ error: BusError) -> MediaError? {
        if error.hasName(BusError.Name.unknownInterface) { return .gone }
        switch error.blueZName {
        case "NotAuthorized": return .notAuthorized
        case "InProgress": return .inProgress
        case "NotAvailable", "NotReady", "NotConnected": return .gone
        case "Failed": return .refused
        default: return nil
        }
    }
}

extension MediaError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .serviceAbsent: Self.serviceAbsentText
        case .notConfigured:
            "the headset has no A2DP stream with this box: connect it, and see `bluetoothctl info` for its Audio Sink"
        case .foreign(let peer?): "the headset's A2DP stream belongs to \(peer): \(peer.mediaRemedy)"
        case .foreign(nil):
            "the headset's A2DP stream belongs to another program: look for it with `busctl list` and stop it"
        case .inProgress: "the headset's A2DP stream is being started or stopped already: wait for the outcome"
        case .alreadyAcquired: "the headset's A2DP stream is in use here already: give it back first"
        case .notAuthorized:
            "bluetoothd has given the headset's A2DP stream to somebody else or is still busy with it: try again"
        case .refused: "the headset did not start its A2DP stream: it may be busy with a call or with another machine"
        case .gone: "the headset's A2DP stream was taken down meanwhile: connect the headset again"
        case .cancelled: "the start of the A2DP stream was given up: start it again when it is wanted"
        case .timedOut: "the headset's A2DP stream did not start in time: see `journalctl -u bluetooth`"
        case .notPermitted(let error): Self.notPermittedText(error)
        case .unusable(let reason): "the headset's A2DP stream cannot be used: \(reason); connect the headset again"
        case .failed(let error): "bluetoothd failed to start the A2DP stream: \(error)"
        }
    }
}
