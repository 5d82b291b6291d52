package import BluetoothTypes

/// First octets of Bluetooth addresses: `00:14:09`; three identify the maker.
package struct AddressPrefix: Hashable, Sendable, CustomStringConvertible {
    /// 1 to 6, in written order.
    private let octets: [UInt8]

    /// Reads one to six octets of two hexadecimal digits with colons between them; nil for anything else.
    package init?(_ text: String) {
        var octets: [UInt8] = []
        for part in text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false) {
            guard part.count == 2, octets.count < 6 else { return nil }
            var octet: UInt8 = 0
            for byte in part {
                guard let digit = Self.digit(byte) else { return nil }
                octet = octet << 4 | digit
            }
            octets.append(octet)
        }
        guard !octets.isEmpty else { return nil }
        self.octets = octets
    }

    package func matches(_ address: BluetoothAddress) -> Bool { address.octets.starts(with: octets) }

    package var description: String {
        octets.map { octet in
            let digits = String(octet, radix: 16, uppercase: true)
            return octet < 16 ? "0" + digits : digits
        }.joined(separator: ":")
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
