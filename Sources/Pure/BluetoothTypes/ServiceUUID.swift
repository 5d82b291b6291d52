/// Service class of a Bluetooth profile (Assigned Numbers §3.3).
package struct ServiceUUID: Hashable, Sendable {
    /// Full form in lower case, in BlueZ's notation.
    package let text: String

    /// - Parameter short: the 16-bit form, put on the Bluetooth base UUID.
    package init(short: UInt16) {
        let digits = String(short, radix: 16)
        text = "0000" + String(repeating: "0", count: 4 - digits.count) + digits + "-0000-1000-8000-00805f9b34fb"
    }

    /// - Parameter text: the full form, in either case; not checked, a peer may send anything.
    package init(text: String) {
        self.text = text.lowercased()
    }

    package static let serialPort = ServiceUUID(short: 0x1101)
    package static let headset = ServiceUUID(short: 0x1108)
    package static let audioSource = ServiceUUID(short: 0x110A)
    package static let audioSink = ServiceUUID(short: 0x110B)
    package static let headsetAudioGateway = ServiceUUID(short: 0x1112)
    package static let handsFree = ServiceUUID(short: 0x111E)
    package static let handsFreeAudioGateway = ServiceUUID(short: 0x111F)
}
