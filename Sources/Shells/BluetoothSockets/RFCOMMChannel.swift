package import ControlLoop
import Glibc

/// The byte stream to a headset: an RFCOMM descriptor from BlueZ, or any other stream socket.
///
/// Never blocks. Handlers run on the control loop, never from inside a call of this class; set them before the next
/// suspension after `init`.
@ControlPlane
package final class RFCOMMChannel {
    package enum CloseReason: Error, Equatable, Sendable {
        /// The headset ended the stream, or somebody disconnected it; all bytes before the end were delivered.
        case closedByPeer
        /// The radio link was lost: ETIMEDOUT, after the supervision time-out.
        case linkLost
        /// The headset takes no bytes: more than `outputLimit` wait for it.
        case outputOverflow
        case failed(SystemError)
    }

    /// Most bytes that may wait for the headset: several hundred result codes, many seconds of a headset that is stuck.
    package nonisolated static let outputLimit = 16 * 1024
    private let outputLimit: Int
    /// One turn of the loop reads at most this much, so that one headset does not starve the others.
    private static let readSize = 2048
    /// Reads that a channel still makes after it has failed.
    private static let lastReads = 8

    private enum ReadOutcome { case delivered, nothing, ended(CloseReason) }

    /// Received bytes, never empty, at most 2048 in one piece, split anywhere.
    package var onBytes: (@ControlPlane ([UInt8]) -> Void)?
    /// Called once, last, and not after `close`: the channel has closed itself.
    package var onClosed: (@ControlPlane (CloseReason) -> Void)?

    /// Non-blocking; -1 when closed.
    package private(set) var descriptor: Int32
    private var source: DescriptorSource?
    /// Why the channel is about to close; the owner is notified on the next turn of the loop.
    private var failure: CloseReason?
    private var output: [UInt8] = []
    /// Number of bytes at the front of `output` that were sent already.
    private var sent = 0

    package var isOpen: Bool { descriptor >= 0 && failure == nil }
    /// Number of bytes that wait for the headset.
    package var pendingBytes: Int { output.count - sent }

    /// - Parameters:
    ///   - descriptor: ownership passes to the channel, even if the initialiser throws.
    ///   - outputLimit: most bytes that may wait for the other end.
    package init(descriptor: Int32, outputLimit: Int = RFCOMMChannel.outputLimit) throws(SystemError) {
        self.descriptor = descriptor
        self.outputLimit = outputLimit
        do throws(SystemError) {
            try markNonBlocking(descriptor)
            source = try ControlLoop.shared.add(descriptor, .readable) { [weak self] readiness in
                self?.ready(readiness)
            }
        } catch {
            if descriptor >= 0 { _ = Glibc.close(descriptor) }
            self.descriptor = -1
            throw error
        }
    }

    isolated deinit { close() }

    /// Sends the bytes in order, at once as far as the headset takes them. Ignored when closed.
    package func write(_ bytes: [UInt8]) {
        guard isOpen, !bytes.isEmpty else { return }
        guard pendingBytes + bytes.count <= outputLimit else { return fail(.outputOverflow) }
        output.append(contentsOf: bytes)
        if pendingBytes == bytes.count { flush() }
    }

    /// Closes without a report; waiting bytes are lost. A second call does nothing.
    package func close() {
        onBytes = nil
        onClosed = nil
        source?.cancel()
        source = nil
        output = []
        sent = 0
        guard descriptor >= 0 else { return }
        _ = Glibc.close(descriptor)
        descriptor = -1
    }

    private func ready(_ readiness: Readiness) {
        if readiness.contains(.writable) { flush() }
        guard isOpen, readiness != .writable else { return }
        if case .ended(let reason) = readOnce() { fail(reason) }
    }

    /// Delivers the bytes of one read.
    private func readOnce() -> ReadOutcome {
        var code: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.readSize) { buffer, count in
            var result: Int
            repeat {
                result = read(descriptor, buffer.baseAddress, buffer.count)
            } while result < 0 && errno == EINTR
            code = result < 0 ? errno : 0
            count = max(result, 0)
        }
        guard bytes.isEmpty else {
            onBytes?(bytes)
            return .delivered
        }
        switch code {
        case 0, ECONNRESET: return .ended(.closedByPeer)
        case EAGAIN: return .nothing
        case ETIMEDOUT: return .ended(.linkLost)
        default: return .ended(.failed(SystemError(call: "read", code: code)))
        }
    }

    private func flush() {
        while pendingBytes > 0 {
            let result = output.withUnsafeBytes { bytes in
                send(descriptor, bytes.baseAddress?.advanced(by: sent), bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            if result >= 0 {
                sent += result
            } else if errno == EAGAIN {
                break
            } else if errno != EINTR {
                return fail(.failed(SystemError(call: "send", code: errno)))
            }
        }
        output.removeFirst(sent)
        sent = 0
        source?.update(output.isEmpty ? .readable : [.readable, .writable])
    }

    /// Stops now and reports on the next turn of the loop, because this may run inside the owner's `write`.
    private func fail(_ reason: CloseReason) {
        guard failure == nil else { return }
        failure = reason
        source?.cancel()
        source = nil
        output = []
        sent = 0
        ControlLoop.shared.perform { [self] in finish(reason) }
    }

    private func finish(_ reason: CloseReason) {
        // Deliver what the headset sent before its end, even if we noticed the end by writing: it may be +CHUP.
        for _ in 0..<Self.lastReads {
            guard descriptor >= 0, case .delivered = readOnce() else { break }
        }
        let handler = onClosed
        close()
        handler?(reason)
    }
}

extension RFCOMMChannel.CloseReason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .closedByPeer: "the headset closed its control connection"
        case .linkLost: "the radio link to the headset was lost"
        case .outputOverflow: "the headset takes no bytes: \(RFCOMMChannel.outputLimit) were waiting for it"
        case .failed(let error): "the control connection failed: \(error)"
        }
    }
}
