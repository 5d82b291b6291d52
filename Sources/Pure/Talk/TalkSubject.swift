package import BluetoothTypes
package import HandsFree

/// Known facts about a device; matched against rows.
package struct TalkSubject: Hashable, Sendable {
    package var address: BluetoothAddress
    /// The device's own name; nil if unknown.
    package var name: String?
    /// `org.bluez.Device1.Modalias`: maker, product and version; nil if unknown.
    package var modalias: String?
    /// `org.bluez.Device1.UUIDs`
    package var services: Set<ServiceUUID>

    package init(
        address: BluetoothAddress, name: String? = nil, modalias: String? = nil, services: Set<ServiceUUID> = []
    ) {
        self.address = address
        self.name = name
        self.modalias = modalias
        self.services = services
    }
}

/// One condition of a row: a key, and values of which one has to match.
package enum TalkCondition: Hashable, Sendable {
    case address([AddressPrefix])
    case name([TextPattern])
    case modalias([TextPattern])
    /// Services that the device has.
    case offers([ServiceUUID])

    package enum Key: String, CaseIterable, Sendable {
        case address, name, modalias, offers

        /// Accepted values, for messages.
        package var accepted: String {
            switch self {
            case .address: "a list of the first 1 to 6 octets of addresses: 00:14:09, 04:52:C7"
            case .name: "a list of names, in which * stands for any characters and ? for one: PTT-Z*"
            case .modalias: "a list of ids as in `bluetoothctl info`, with * and ?: bluetooth:v004Cp2002*"
            case .offers: "a list of services: FFE0, or 28393551-5345-5209-fd67-45287c0bdac5"
            }
        }
    }

    /// Most values of a list.
    package static let mostValues = 16

    /// Reads a value in the notation of a file; nil if not accepted.
    package init?(_ key: Key, _ text: String) {
        switch key {
        case .address:
            guard let prefixes = Self.list(text, { AddressPrefix($0) }) else { return nil }
            self = .address(prefixes)
        case .name:
            guard let patterns = Self.list(text, { TextPattern($0) }) else { return nil }
            self = .name(patterns)
        case .modalias:
            guard let patterns = Self.list(text, { TextPattern($0) }) else { return nil }
            self = .modalias(patterns)
        case .offers:
            guard let services = Self.list(text, { ServiceUUID(inRow: $0) }) else { return nil }
            self = .offers(services)
        }
    }

    /// Reads `a, b`: 1 to `most` elements.
    static func list<Element>(
        _ text: String, most: Int = mostValues, _ read: (String) -> Element?
    ) -> [Element]? {
        var elements: [Element] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let word = part.drop { $0 == " " || $0 == "\t" }
            let end = word.lastIndex { $0 != " " && $0 != "\t" }.map { word.index(after: $0) } ?? word.startIndex
            guard elements.count < most, let element = read(String(word[..<end])) else { return nil }
            elements.append(element)
        }
        return elements
    }

    package var key: Key {
        switch self {
        case .address: .address
        case .name: .name
        case .modalias: .modalias
        case .offers: .offers
        }
    }

    /// The value in the notation of a file.
    package var value: String {
        let elements: [String] =
            switch self {
            case .address(let prefixes): prefixes.map(\.description)
            case .name(let patterns), .modalias(let patterns): patterns.map(\.description)
            case .offers(let services): services.map(\.notationInRow)
            }
        return elements.joined(separator: ", ")
    }

    /// - Returns: the reason in words; nil when the condition does not hold.
    package func reason(for subject: TalkSubject) -> String? {
        switch self {
        case .address(let prefixes):
            return prefixes.first { $0.matches(subject.address) }.map { "the address begins with \($0)" }
        case .name(let patterns):
            guard let name = subject.name, patterns.contains(where: { $0.matches(name) }) else { return nil }
            return "the name is “\(name)”"
        case .modalias(let patterns):
            guard let id = subject.modalias, patterns.contains(where: { $0.matches(id) }) else { return nil }
            return "the id is \(id)"
        case .offers(let services):
            return services.first { subject.services.contains($0) }.map { "it offers \($0.notationInRow)" }
        }
    }
}

extension ServiceUUID {
    private static let baseEnd = "-0000-1000-8000-00805f9b34fb"

    /// Reads `FFE0` or a full UUID, in either case; nil for anything else.
    package init?(inRow text: String) {
        let bytes = Array(text.utf8)
        func isHex(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                UInt8(ascii: "A")...UInt8(ascii: "F"):
                true
            default: false
            }
        }
        switch bytes.count {
        case 4:
            guard bytes.allSatisfy(isHex), let short = UInt16(text, radix: 16) else { return nil }
            self.init(short: short)
        case 36:
            let isFull = bytes.indices.allSatisfy { index in
                index == 8 || index == 13 || index == 18 || index == 23
                    ? bytes[index] == UInt8(ascii: "-") : isHex(bytes[index])
            }
            guard isFull else { return nil }
            self.init(text: text)
        default: return nil
        }
    }

    /// `FFE0` for a service of the Bluetooth base UUID, otherwise the full form.
    package var notationInRow: String {
        guard text.utf8.count == 36, text.hasPrefix("0000"), text.hasSuffix(Self.baseEnd) else { return text }
        return text.dropFirst(4).prefix(4).uppercased()
    }
}
