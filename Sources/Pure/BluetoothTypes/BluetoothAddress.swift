/// The 48-bit address of a Bluetooth device (BD_ADDR, Core Specification Vol 2 Part B §1.2).
///
/// Ordered by numeric value, so that lists of devices have a fixed order, independent of hash tables.
package struct BluetoothAddress: Hashable, Comparable, Sendable {
    /// The address as a number; the first octet of the text form is the most significant of the 48 bits.
    package let value: UInt64

    /// - Parameter value: only the low 48 bits are kept.
    package init(value: UInt64) {
        self.value = value & 0xFFFF_FFFF_FFFF
    }

    /// Reads `AA:BB:CC:DD:EE:FF`, in either case, and the D-Bus form `AA_BB_CC_DD_EE_FF`; nil for anything else.
    package init?(_ text: some StringProtocol) {
        var value: UInt64 = 0
        var position = 0
        var separator: UInt8?
        for byte in text.utf8 {
            guard position < 17 else { return nil }
            if position % 3 == 2 {
                guard byte == UInt8(ascii: ":") || byte == UInt8(ascii: "_"), byte == separator ?? byte else {
                    return nil
                }
                separator = byte
            } else {
                guard let digit = Self.hexDigit(byte) else { return nil }
                value = value << 4 | UInt64(digit)
            }
            position += 1
        }
        guard position == 17 else { return nil }
        self.value = value
    }

    /// The octets, most significant first, in written order.
    package var octets: [UInt8] {
        (0..<6).map { UInt8(truncatingIfNeeded: value >> UInt64(40 - 8 * $0)) }
    }

    /// `AA_BB_CC_DD_EE_FF`: the form used in D-Bus object paths.
    package var pathComponent: String { text(separator: "_") }

    private func text(separator: String) -> String {
        octets.map { octet in
            let digits = String(octet, radix: 16, uppercase: true)
            return octet < 16 ? "0" + digits : digits
        }.joined(separator: separator)
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    package static func < (left: BluetoothAddress, right: BluetoothAddress) -> Bool { left.value < right.value }
}

extension BluetoothAddress: CustomStringConvertible {
    /// `AA:BB:CC:DD:EE:FF`
    package var description: String { text(separator: ":") }
}
