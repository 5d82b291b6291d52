import CBTCall

/// Splits the bytes of an input device into events, however they are divided (`linux/input.h`, `struct input_event`).
package struct InputEventReader: Sendable {
    package enum Event: Equatable, Sendable {
        /// A key or switch is now on or off; key repetition is not reported.
        case changed(InputCode, isOn: Bool)
        /// The kernel's queue was full: states have to be read again (SYN_DROPPED).
        case dropped
    }

    /// Bytes of one event on this machine: the time, which does not matter here, then type, code and value.
    package static var eventBytes: Int { btcall_input_event_bytes() }

    private var records = RecordSplitter(size: eventBytes)

    package init() {}

    /// Returns the events completed by these bytes, in order; only keys and switches.
    package mutating func read(_ bytes: some Collection<UInt8>) -> [Event] {
        records.read(bytes) { Self.event($0.suffix(8)) }
    }

    /// - Parameter bytes: the last eight of an event, in the machine's order.
    private static func event(_ bytes: ArraySlice<UInt8>) -> Event? {
        let (type, code, value) = bytes.withUnsafeBytes { raw in
            (
                raw.loadUnaligned(fromByteOffset: 0, as: UInt16.self),
                raw.loadUnaligned(fromByteOffset: 2, as: UInt16.self),
                raw.loadUnaligned(fromByteOffset: 4, as: Int32.self)
            )
        }
        switch (type, value) {
        case (0, _): return code == 3 ? .dropped : nil
        case (InputCode.Kind.key.type, 0...1): return .changed(InputCode(.key, code), isOn: value == 1)
        case (InputCode.Kind.switch.type, _): return .changed(InputCode(.switch, code), isOn: value != 0)
        default: return nil
        }
    }
}
