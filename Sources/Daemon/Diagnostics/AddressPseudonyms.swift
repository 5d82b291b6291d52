import BluetoothTypes

/// Replaces the Bluetooth addresses in a text by pseudonyms, so that it can be shown to strangers.
///
/// Pseudonyms sort like the real addresses, because the policy settles ties by address. The last three octets of an address
/// stay the same while the daemon runs, and cannot be traced back without the daemon's memory.
package struct AddressPseudonyms {
    /// Seed of the last octets; never shown.
    private let salt: UInt64

    package init(salt: UInt64 = .random(in: .min ... .max)) {
        self.salt = salt
    }

    /// Replaces every address in the text, written as `AA:BB:CC:DD:EE:FF` or with underscores.
    package func replacingAddresses(in text: String) -> String {
        let bytes = Array(text.utf8)
        let places = Self.places(in: bytes)
        let pseudonyms = pseudonyms(of: places.map(\.address))
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var end = 0
        for place in places {
            result += bytes[end..<place.start]
            end = place.start + Self.length
            let pseudonym = pseudonyms[place.address] ?? place.address
            let isPath = bytes[place.start + 2] == UInt8(ascii: "_")
            result += (isPath ? pseudonym.pathComponent : pseudonym.description).utf8
        }
        result += bytes[end...]
        return String(decoding: result, as: UTF8.self)
    }

    /// Pseudonyms of the form `02:RANK:RANK:HASH:HASH:HASH`; no manufacturer assigns addresses that begin with 02.
    private func pseudonyms(of addresses: [BluetoothAddress]) -> [BluetoothAddress: BluetoothAddress] {
        var pseudonyms: [BluetoothAddress: BluetoothAddress] = [:]
        for (index, address) in Set(addresses).sorted().enumerated() {
            let rank = UInt64(index + 1) & 0xFFFF
            pseudonyms[address] = BluetoothAddress(value: 0x02 << 40 | rank << 24 | hash(address) & 0xFF_FFFF)
        }
        return pseudonyms
    }

    private func hash(_ address: BluetoothAddress) -> UInt64 {
        // `Hasher` has its own random seed in each process, in addition to the salt.
        var hasher = Hasher()
        hasher.combine(salt)
        hasher.combine(address.value)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    private static let length = 17

    private static func places(in bytes: [UInt8]) -> [(start: Int, address: BluetoothAddress)] {
        var places: [(start: Int, address: BluetoothAddress)] = []
        var start = 0
        while start + length <= bytes.count {
            let separator = bytes[start + 2]
            guard separator == UInt8(ascii: ":") || separator == UInt8(ascii: "_"),
                let address = BluetoothAddress(String(decoding: bytes[start..<start + length], as: UTF8.self))
            else {
                start += 1
                continue
            }
            places.append((start, address))
            start += length
        }
        return places
    }
}
