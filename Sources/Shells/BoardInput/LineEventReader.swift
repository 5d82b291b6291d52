import CBTCall

/// Splits the bytes of a watched GPIO line into events, however they are divided (`linux/gpio.h`, `struct
/// gpio_v2_line_event`).
package struct LineEventReader: Sendable {
    package static var eventBytes: Int { btcall_line_event_bytes() }

    private var records = RecordSplitter(size: eventBytes)

    package init() {}

    /// Returns whether the line became active, for each event completed by these bytes, in order.
    package mutating func read(_ bytes: some Collection<UInt8>) -> [Bool] {
        records.read(bytes) { record in
            // Eight bytes of time, then 1 for a rising and 2 for a falling edge.
            let edge = record.dropFirst(8).withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
            return edge == 1 || edge == 2 ? edge == 1 : nil
        }
    }
}
