package import ControlLoop

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
    package var isConnected: Bool { stream.isOpen }
    /// What the other end has sent.
    package private(set) var received: [UInt8] = []
    private let stream = DeviceStream()

    package init(_ words: Words = .usual) {
        self.words = words
    }

    /// Takes a connected stream.
    ///
    /// - Parameter descriptor: ownership passes to the button, which lives until the stream has ended.
    package func attach(_ descriptor: Int32) throws(SystemError) {
        try stream.open(descriptor, onBytes: { self.received += $0 }, onClosed: { self.onClosed?() })
    }

    /// Switches off in order: closes the stream.
    package func detach() { stream.end() }

    package func press() { say(words.pressed) }
    package func release() { say(words.released) }

    /// Sends any text in one piece.
    package func say(_ text: String) { say(Array(text.utf8)) }

    package func say(_ bytes: [UInt8]) { stream.say(bytes) }
}
