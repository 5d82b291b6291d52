import CBTCall
package import ControlLoop
import Glibc

/// A talk button on a serial port: it sends fixed bytes when it is pressed and released.
@ControlPlane
package final class VirtualButton {
    /// Bytes that the button sends.
    package struct Words: Equatable, Sendable {
        package var pressed: String
        package var released: String

        package init(pressed: String, released: String) {
            self.pressed = pressed
            self.released = released
        }

        /// The words that most speaker microphones and buttons have in common.
        package static let usual = Words(pressed: "+PTT=P", released: "+PTT=R")
    }

    package let words: Words
    /// The other end has closed the port.
    package var onClosed: (@ControlPlane () -> Void)?
    package var isConnected: Bool { descriptor >= 0 }
    /// What the other end has sent.
    package private(set) var received: [UInt8] = []
    private var descriptor: Int32 = -1
    private var source: DescriptorSource?

    package init(_ words: Words = .usual) {
        self.words = words
    }

    /// Takes a connected stream.
    ///
    /// - Parameter descriptor: ownership passes to the button, which lives until the stream has ended.
    package func attach(_ descriptor: Int32) throws(SystemError) {
        detach()
        self.descriptor = descriptor
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        source = try ControlLoop.shared.add(descriptor, .readable) { _ in self.read() }
    }

    /// Switches off in order: closes the stream.
    package func detach() {
        source?.cancel()
        source = nil
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    package func press() { say(words.pressed) }
    package func release() { say(words.released) }

    /// Sends any text in one piece.
    package func say(_ text: String) { say(Array(text.utf8)) }

    package func say(_ bytes: [UInt8]) {
        guard descriptor >= 0 else { return }
        // Writing fails when the other end has gone: reading reports it.
        _ = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    private func read() {
        var bytes = [UInt8](repeating: 0, count: 1024)
        while descriptor >= 0 {
            let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return }
            guard count > 0 else {
                detach()
                onClosed?()
                return
            }
            received += bytes[..<count]
        }
    }
}
