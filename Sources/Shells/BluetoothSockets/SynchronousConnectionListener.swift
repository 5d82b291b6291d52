package import BluetoothTypes
package import ControlLoop
import Glibc

/// Listens for synchronous connections that headsets open: after ATA, by a button, for voice recognition.
///
/// The set-up is deferred: nothing is accepted before the policy has agreed and chosen the codec.
@ControlPlane
package final class SynchronousConnectionListener {
    /// A headset requests audio. Dropping the value without accepting it rejects the request.
    package var onIncoming: (@ControlPlane (IncomingLink) -> Void)?

    private static let backlog: Int32 = 8
    /// How long waiting connections stay in the kernel's queue while descriptors are short.
    private static let pause = Duration.seconds(1)

    private let socket: SocketHandle
    private var source: DescriptorSource?
    private var resumption: Timer?

    /// - Parameter adapter: listens on this one only; nil listens on all, including those plugged in later.
    package init(on adapter: BluetoothAddress? = nil) throws(AudioLinkError) {
        socket = try AudioLinkError.translating(codec: .cvsd) { () throws(SystemError) in
            let socket = try SocketHandle.synchronous()
            try socket.bind(to: adapter)
            try socket.deferSetup()
            try socket.listen(backlog: Self.backlog)
            return socket
        }
        do throws(SystemError) {
            source = try ControlLoop.shared.add(socket.descriptor, .readable) { [weak self] _ in self?.acceptWaiting() }
        } catch {
            throw AudioLinkError(error, codec: .cvsd)
        }
    }

    /// Stops listening; requests that were handed out stay valid.
    package func close() {
        onIncoming = nil
        source?.cancel()
        source = nil
        resumption?.cancel()
        resumption = nil
    }

    isolated deinit { close() }

    private func acceptWaiting() {
        do throws(SystemError) {
            while source != nil, let accepted = try socket.accept() {
                // If the request was withdrawn meanwhile there is no peer: the handle closes the socket.
                guard let peer = accepted.peer else { continue }
                // The kernel may still bring up a connection of ours whose set-up was given up; it arrives here like a
                // request (seen with 6.1 when a headset appears just after the deadline). It is not wanted any more.
                guard !accepted.isUp else { continue }
                let local = accepted.local
                onIncoming?(IncomingLink(accepted, peer: peer, adapter: local))
            }
        } catch {
            source?.update([])
            resumption = ControlLoop.shared.schedule(at: ControlLoop.now.advanced(by: Self.pause)) { [weak self] in
                self?.source?.update(.readable)
            }
        }
    }
}
