package import BluetoothTypes
import CBTCall
package import ControlLoop
package import DBus
import Glibc

/// A2DP of the fake bluetoothd and its headsets: registrations of programs, streams, and the headsets' behaviour.
@ControlPlane
package final class FakeMedia {
    /// A registration by `RegisterEndpoint`.
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

    /// A registration by `RegisterPlayer`, with the program's later updates.
    package struct Player: Equatable, Sendable {
        package let owner: String
        package let path: String
        package let adapter: String
        package internal(set) var properties: [String: Value]
    }

    /// A headset's answer to the start of a stream.
    package enum StartAnswer: Sendable {
        case accepts, refuses
        /// No answer, until `answerStarts(_:)`.
        case nothing
    }

    /// Error of `RegisterEndpoint`; nil for success.
    package var endpointError: BusError?
    /// Error of `RegisterPlayer`; nil for success.
    package var playerError: BusError?
    /// Whether bluetoothd treats `DelayReporting` as an error.
    package var refusesDelayReporting = false
    /// Whether the headsets' own endpoints are visible (`/org/bluez/hci0/dev_…/sep1`), as in newer versions.
    package var showsRemoteEndpoints = true
    package var startAnswer = StartAnswer.accepts
    /// Delays the release of a stream until it returns: for slow headsets.
    package var onRelease: (@ControlPlane () async -> Void)?
    /// Packet sizes from and to the headset in bytes.
    package var readMTU: UInt16 = 672
    package var writeMTU: UInt16 = 895

    package internal(set) var endpoints: [Endpoint] = []
    package internal(set) var players: [Player] = []
    /// Calls of `Acquire`, `TryAcquire` and `Release`, in order, with any answer.
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
        /// The gateway's end, which every acquisition receives, and the headset's.
        let socket: PassedDescriptor
        let headset: PassedDescriptor
        /// The program that has acquired it, or is acquiring it.
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

        /// Handles the headset's answer to the start, or its absence.
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
