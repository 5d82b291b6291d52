/// An input device of the kernel, from sysfs: no device is opened, so that keyboards are left alone.
package struct InputNode: Equatable, Sendable {
    /// `/dev/input/event3`.
    package let path: String
    /// As `/proc/bus/input/devices` shows it.
    package let name: String
    package let codes: Set<InputCode>
    /// The index of the sound card that the device belongs to; nil if it belongs to none.
    package let card: Int?
}

/// The present input devices.
package struct InputCatalogue: Sendable {
    private let nodes: String
    private let classes: String

    /// - Parameters:
    ///   - nodes: directory of the device nodes.
    ///   - classes: the kernel's class directory.
    package init(nodes: String = "/dev/input", classes: String = "/sys/class/input") {
        self.nodes = nodes
        self.classes = classes
    }

    /// All devices in the order of their numbers.
    package func all() -> [InputNode] {
        let numbers = Directory.names(classes).compactMap { name in
            name.hasPrefix("event") ? Int(name.dropFirst("event".count)) : nil
        }
        return numbers.sorted().compactMap { node("event\($0)") }
    }

    /// Finds a device by name, or by path (links as in `/dev/input/by-path` are followed).
    ///
    /// - Throws: `missing`, with the names of the devices that have a key or switch.
    package func find(_ nameOrPath: String) throws(BoardInputError) -> InputNode {
        if nameOrPath.hasPrefix("/") {
            let leaf = Directory.resolve(nameOrPath).flatMap { $0.split(separator: "/").last }
            if let leaf, let node = node(String(leaf)) { return node }
        } else if let node = all().first(where: { $0.name == nameOrPath }) {
            return node
        }
        throw .missing(device: "input device \(nameOrPath)", others: all().filter { !$0.codes.isEmpty }.map(\.name))
    }

    private func node(_ event: String) -> InputNode? {
        guard let name = Directory.text("\(classes)/\(event)/device/name") else { return nil }
        var codes: Set<InputCode> = []
        for kind in [InputCode.Kind.key, .switch] {
            let file = kind == .key ? "key" : "sw"
            let bitmap = Directory.text("\(classes)/\(event)/device/capabilities/\(file)") ?? ""
            codes.formUnion(Self.numbers(bitmap).map { InputCode(kind, $0) })
        }
        return InputNode(path: "\(nodes)/\(event)", name: name, codes: codes, card: card(of: event))
    }

    /// Parses words of hexadecimal digits, the most significant first, each as long as the machine's.
    private static func numbers(_ bitmap: String) -> [UInt16] {
        var numbers: [UInt16] = []
        for (index, word) in bitmap.split(separator: " ").reversed().enumerated() {
            guard let bits = UInt(word, radix: 16) else { return [] }
            for bit in 0..<UInt.bitWidth where bits & 1 << UInt(bit) != 0 {
                let number = index * UInt.bitWidth + bit
                if number < Int(InputCode.limit) { numbers.append(UInt16(number)) }
            }
        }
        return numbers
    }

    /// A jack of a card is `…/sound/card0/input7/event7`.
    private func card(of event: String) -> Int? {
        guard let path = Directory.resolve("\(classes)/\(event)") else { return nil }
        let parts = path.split(separator: "/")
        for (parent, child) in zip(parts, parts.dropFirst()) where parent == "sound" && child.hasPrefix("card") {
            return Int(child.dropFirst("card".count))
        }
        return nil
    }
}
