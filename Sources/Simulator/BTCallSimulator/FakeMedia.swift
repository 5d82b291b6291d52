package import BluetoothTypes
import CBTCall
package import ControlLoop
package import DBus
import Glibc

/// A2DP as the fake bluetoothd and its headsets have it: what programs have registered, the streams, and how headsets take
/// them.
@ControlPlane
package final class FakeMedia {
    /// What a program has registered with `RegisterEndpoint`.
    package struct Endpoint: Equatable, Sendable {
        /// Unique bus name.
        package let owner: String
        package let path: String
        package let adapter: String
        package let uuid: ServiceUUID
        package let codec: UInt8
        package let capabilities: [UInt8]
        package let reportsDelay: Bool
    }

    /// What a program has registered with `RegisterPlayer`, with what it has told since.
    package struct Player: Equatable, Sendable {
        package let owner: String
        package let path: String
        package let adapter: String
        package internal(set) var properties: [String: Value]
    }

    /// What a headset answers when a stream is to be started.
    package enum StartAnswer: Sendable {
        case accepts, refuses
        /// Nothing, until `answerStarts(_:)`.
        case nothing
    }

    /// What `RegisterEndpoint` answers; nil: as it is right.
    package var endpointError: BusError?
    /// What `RegisterPlayer` answers.
    package var playerError: BusError?
    /// A bluetoothd that takes `DelayReporting` for an error.
    package var refusesDelayReporting = false
    /// Whether the headsets' own endpoints are to be seen (`/org/bluez/hci0/dev_…/sep1`), as in newer versions.
    package var showsRemoteEndpoints = true
    package var startAnswer = StartAnswer.accepts
    /// A stream is released when this returns: for headsets that take their time.
    package var onRelease: (@ControlPlane () async -> Void)?
    /// Bytes of a packet from and to the headset.
    package var readMTU: UInt16 = 672
    package var writeMTU: UInt16 = 895

    package internal(set) var endpoints: [Endpoint] = []
    package internal(set) var players: [Player] = []
    /// `Acquire`, `TryAcquire` and `Release`, in order, whatever was answered.
    package internal(set) var requests: [String] = []
    var transports: [String: Transport] = [:]
    var playerSignals: [String: Subscription] = [:]
    var nextTransport = 0

    nonisolated init() {}

    /// A stream between an endpoint and a headset.
    @ControlPlane
    final class Transport {
        let path: String
        let address: BluetoothAddress
        let endpoint: Endpoint
        /// The gateway's end, as every acquisition gets it, and the headset's.
        let socket: PassedDescriptor
        let headset: PassedDescriptor
        /// Who has acquired it, or is about to.
        var owner: String?
        var attempt = 0
        var starting: CheckedContinuation<Bool, Never>?
        var isReleasing = false

        init(path: String, address: BluetoothAddress, endpoint: Endpoint) throws(BusError) {
            var ends: [Int32] = [-1, -1]
            let type = Int32(bitPattern: SOCK_SEQPACKET.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
            guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
                throw .failed("\(SystemError(call: "socketpair", code: errno))")
            }
            self.path = path
            self.address = address
            self.endpoint = endpoint
            socket = PassedDescriptor(taking: ends[0])
            headset = PassedDescriptor(taking: ends[1])
        }

        /// The headset's answer to the start, or that there will be none.
        func answerStart(_ accepted: Bool) {
            let waiting = starting
            starting = nil
            waiting?.resume(returning: accepted)
        }

        func close() {
            owner = nil
            attempt += 1
            answerStart(false)
            _ = shutdown(headset.descriptor, Int32(SHUT_RDWR))
        }
    }
}
