/// Versions of other programs with known faults that affect headsets.
struct KnownFault: Sendable {
    /// First version with the fault, and first version without it; nil when unknown, or not fixed yet.
    let from: Version?
    let before: Version?
    /// Symptom, to follow the name and the version.
    let symptom: String
    /// Source of the information.
    let source: String

    func concerns(_ text: String) -> Bool {
        guard let version = Version(text) else { return false }
        if let from, version < from { return false }
        if let before, version >= before { return false }
        return true
    }

    /// Matched against `bluetoothd --version`.
    static let bluetoothd = [
        KnownFault(
            from: "5.55", before: "5.56", symptom: "may crash when a headset connects",
            source: "https://github.com/bluez/bluez/issues/90"),
        KnownFault(
            from: "5.62", before: "5.65", symptom: "may crash when a headset connects",
            source: "https://github.com/bluez/bluez/issues/327"),
        KnownFault(
            from: "5.67", before: "5.68", symptom: "crashes when music begins to play on a headset",
            source: "https://github.com/bluez/bluez/issues/544"),
    ]

    /// Matched against `uname -r`, for any adapter.
    static let kernel = [
        KnownFault(
            from: nil, before: "5.9", symptom: "does not tell damaged packets of voice from good ones (BT_PKT_STATUS)",
            source: "BlueZ's doc/sco-protocol.rst"),
        KnownFault(
            from: "6.8.12", before: "6.8.13", symptom: "may connect a headset with only one of its profiles",
            source: "https://github.com/bluez/bluez/issues/865"),
        KnownFault(
            from: "6.9.3", before: "6.9.4", symptom: "may connect a headset with only one of its profiles",
            source: "https://github.com/bluez/bluez/issues/865"),
        KnownFault(
            from: "6.1.0-56", before: "6.1.0-57",
            symptom: "(Debian) has a bug in hci_chan_del: bluetoothd dies when a link is lost",
            source: "Tests/Lab/README.md"),
    ]

    /// Kernel faults with USB adapters that have no alternate setting 6.
    static let kernelWithoutSetting6 = [
        KnownFault(
            from: "5.8", before: "5.15",
            symptom: "may send mSBC nowhere on USB adapters without alternate setting 6: the headset is silent",
            source: "https://github.com/arkq/bluez-alsa/issues/400")
    ]

    /// Numbers separated by dots and dashes, up to the first other word, for example `6.1.0-56-amd64`, `5.66`.
    struct Version: Comparable, ExpressibleByStringLiteral, Sendable {
        private let numbers: [Int]

        /// Returns nil for a text that does not begin with a number.
        init?(_ text: String) {
            var numbers: [Int] = []
            for part in text.split(whereSeparator: { $0 == "." || $0 == "-" || $0 == "+" || $0 == "_" }) {
                let digits = part.prefix { $0.isASCII && $0.isNumber }
                guard let number = Int(digits) else { break }
                numbers.append(number)
                guard digits.count == part.count else { break }
            }
            guard !numbers.isEmpty else { return nil }
            self.numbers = numbers
        }

        init(stringLiteral text: String) {
            numbers = Version(text)?.numbers ?? []
        }

        static func < (left: Version, right: Version) -> Bool {
            left.numbers.lexicographicallyPrecedes(right.numbers)
        }
    }
}
