import BluetoothTypes

/// One condition of a row: a key, and values of which one has to match.
package enum QuirkCondition: Hashable, Sendable {
    case address([AddressPrefix])
    case name([TextPattern])
    case modalias([TextPattern])
    case controller([TextPattern])
    case driver([TextPattern])
    case manufacturer([Int])
    case alternateSetting([Int])
    case kernel([KernelRange])

    package enum Key: String, CaseIterable, Sendable {
        case address, name, modalias, controller, driver, manufacturer, alternateSetting, kernel

        /// Accepted values, for messages.
        package var accepted: String {
            switch self {
            case .address: "a list of the first 1 to 6 octets of addresses: 00:14:09, 04:52:C7"
            case .name: "a list of names, in which * stands for any characters and ? for one (for a comma, too)"
            case .modalias: "a list of ids as in `bluetoothctl info`, with * and ?: bluetooth:v004Cp2002*"
            case .controller:
                "a list of ids as in /sys/class/bluetooth/hci0/device/modalias, with * and ?: usb:v0A12p0001*"
            case .driver: "a list of names of kernel drivers, with * and ?: btusb, hci_uart_*"
            case .manufacturer: "a list of company numbers from 0 to 65535"
            case .alternateSetting: "a list of the USB alternate settings that mSBC goes by: 1, 3 or 6"
            case .kernel: "a list of versions, or of two with a hyphen: 5.10.1-5.10.18, 4, 0-5.7"
            }
        }
    }

    /// Result of a check, with the reason in words.
    package enum Verdict: Hashable, Sendable {
        case holds(String)
        case fails(String)
    }

    /// Reads a value in the notation of a file; nil if not accepted.
    package init?(_ key: Key, _ text: String) {
        switch key {
        case .address:
            guard let prefixes = QuirkEffect.list(text, { AddressPrefix($0) }) else { return nil }
            self = .address(prefixes)
        case .name, .modalias, .controller, .driver:
            guard let patterns = QuirkEffect.list(text, { TextPattern($0) }) else { return nil }
            switch key {
            case .name: self = .name(patterns)
            case .modalias: self = .modalias(patterns)
            case .controller: self = .controller(patterns)
            case .driver: self = .driver(patterns)
            case .address, .manufacturer, .alternateSetting, .kernel: return nil
            }
        case .manufacturer:
            guard let numbers = QuirkEffect.list(text, { Self.number($0, in: 0...65535) }) else { return nil }
            self = .manufacturer(numbers)
        case .alternateSetting:
            guard let numbers = QuirkEffect.list(text, { Self.number($0, in: 1...6) }) else { return nil }
            self = .alternateSetting(numbers)
        case .kernel:
            guard let ranges = QuirkEffect.list(text, { KernelRange($0) }) else { return nil }
            self = .kernel(ranges)
        }
    }

    private static func number(_ text: String, in range: ClosedRange<Int>) -> Int? {
        Int(text).flatMap { range.contains($0) ? $0 : nil }
    }

    package var key: Key {
        switch self {
        case .address: .address
        case .name: .name
        case .modalias: .modalias
        case .controller: .controller
        case .driver: .driver
        case .manufacturer: .manufacturer
        case .alternateSetting: .alternateSetting
        case .kernel: .kernel
        }
    }

    /// The value in the notation of a file.
    package var value: String {
        let elements: [String] =
            switch self {
            case .address(let prefixes): prefixes.map(\.description)
            case .name(let patterns), .modalias(let patterns), .controller(let patterns), .driver(let patterns):
                patterns.map(\.description)
            case .manufacturer(let numbers), .alternateSetting(let numbers): numbers.map { String($0) }
            case .kernel(let ranges): ranges.map(\.description)
            }
        return elements.joined(separator: ", ")
    }

    /// Whether the condition is about the headset rather than this machine.
    package var isAboutDevice: Bool {
        switch self {
        case .address, .name, .modalias: true
        case .controller, .driver, .manufacturer, .alternateSetting, .kernel: false
        }
    }

    package func check(_ subject: QuirkSubject) -> Verdict {
        switch self {
        case .address(let prefixes):
            guard let prefix = prefixes.first(where: { $0.matches(subject.address) }) else {
                return .fails("the address does not begin with \(value)")
            }
            return .holds("the address begins with \(prefix)")
        case .name(let patterns): return check("name", subject.name, patterns)
        case .modalias(let patterns): return check("id", subject.modalias, patterns)
        case .controller(let patterns): return check("controller's id", subject.controller.modalias, patterns)
        case .driver(let patterns): return check("controller's driver", subject.controller.driver, patterns)
        case .manufacturer(let numbers):
            return check("controller's manufacturer", subject.controller.manufacturer, numbers)
        case .alternateSetting(let numbers):
            return check("alternate setting of mSBC", subject.controller.alternateSettingOfMSBC, numbers)
        case .kernel(let ranges):
            guard let release = subject.kernel else { return .fails("the kernel is not known") }
            guard let range = ranges.first(where: { $0.contains(release) }) else {
                return .fails("the kernel is \(release), not \(value)")
            }
            return .holds("the kernel is \(release) (\(range))")
        }
    }

    private func check(_ what: String, _ text: String?, _ patterns: [TextPattern]) -> Verdict {
        guard let text else { return .fails("the \(what) is not known") }
        guard let pattern = patterns.first(where: { $0.matches(text) }) else {
            return .fails("the \(what) is “\(text)”, not \(value)")
        }
        return .holds("the \(what) is “\(text)”" + (pattern.description == text ? "" : " (\(pattern))"))
    }

    private func check(_ what: String, _ number: Int?, _ numbers: [Int]) -> Verdict {
        guard let number else { return .fails("the \(what) is not known") }
        return numbers.contains(number)
            ? .holds("the \(what) is \(number)") : .fails("the \(what) is \(number), not \(value)")
    }
}

extension QuirkCondition: CustomStringConvertible {
    /// As a line of the database: `address = 00:14:09`.
    package var description: String { "\(key.rawValue) = \(value)" }
}
