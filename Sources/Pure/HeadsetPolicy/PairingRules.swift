package import BluetoothTypes
import HandsFree

/// Devices that a pairing window admits, and the PIN for those that require one.
package struct PairingRules: Equatable, Sendable {
    /// An entry of the list.
    package enum Allowed: Equatable, Sendable {
        case address(BluetoothAddress)
        /// The device's own name, with `*` and `?`; the case of letters does not matter.
        case name(String)
    }

    /// An invalid rule, and what is accepted.
    package struct Refusal: Error, Equatable, CustomStringConvertible {
        package let description: String

        init(_ description: String) {
            self.description = description
        }
    }

    package static let seconds = 1...600
    package static let usualSeconds = 120
    package static let mostEntries = 32
    package static let acceptedEntry =
        "an address like 00:1B:DC:08:00:11, or 1 to 100 characters of a name in which * stands for any and ? for one"

    /// Empty: every audio device.
    package let allowed: [Allowed]
    package let pin: String?

    /// - Throws: `Refusal` for an invalid entry or PIN.
    package init(allow: [String] = [], pin: String? = nil) throws(Refusal) {
        guard allow.count <= Self.mostEntries else {
            throw Refusal("allow has \(allow.count) entries; accepted: at most \(Self.mostEntries)")
        }
        var allowed: [Allowed] = []
        for text in allow {
            guard let entry = Self.entry(text) else {
                throw Refusal("allow has \"\(text)\"; accepted: \(Self.acceptedEntry)")
            }
            allowed.append(entry)
        }
        if let pin, !(1...16).contains(pin.utf8.count) || !pin.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
            throw Refusal("pin has \(pin.utf8.count) bytes; accepted: 1 to 16 printable ones, like 0000")
        }
        self.allowed = allowed
        self.pin = pin
    }

    /// Nil for text that is neither an address nor a pattern.
    package static func entry(_ text: String) -> Allowed? {
        if let address = BluetoothAddress(text) { return .address(address) }
        guard TextPattern(text) != nil, text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
            return nil
        }
        return .name(text)
    }

    /// - Parameter name: the device's own name; nil if not known yet.
    package func allows(_ address: BluetoothAddress, name: String?) -> Bool {
        allowed.isEmpty
            || allowed.contains { entry in
                switch entry {
                case .address(let allowed): allowed == address
                case .name(let pattern): name.map { TextPattern(pattern)?.matches($0) ?? false } ?? false
                }
            }
    }

    /// The addresses, if the list contains nothing else.
    package var onlyAddresses: [BluetoothAddress]? {
        var addresses: [BluetoothAddress] = []
        for case .address(let address) in allowed { addresses.append(address) }
        return addresses.isEmpty || addresses.count < allowed.count ? nil : addresses
    }
}

extension PairingRules: CustomStringConvertible {
    /// For the log; without the PIN.
    package var description: String {
        guard !allowed.isEmpty else { return "any audio device" }
        return allowed.map { entry in
            switch entry {
            case .address(let address): "\(address)"
            case .name(let pattern): "\"\(pattern)\""
            }
        }.joined(separator: ", ")
    }
}
