/// One indicator of CSR's extensions: `(index,value)`.
package struct CSRIndicator: Hashable, Sendable {
    package let index: Int
    package let value: Int

    package static let battery = 4
    package static let power = 5
    package static let codecs = 6
    package static let bandwidths = 7

    /// Reads `(4,1),(5,0)`: at most eight pairs of numbers of one or two digits.
    ///
    /// - Throws: `missing`, `malformed`, `excess`.
    static func list(_ bytes: [UInt8]) throws(ATSyntaxError) -> [CSRIndicator] {
        guard !bytes.isEmpty else { throw .missing }
        var pairs: [CSRIndicator] = []
        var rest = bytes[...]
        while true {
            guard pairs.count < 8 else { throw .excess }
            guard rest.popFirst() == UInt8(ascii: "("), let index = number(&rest),
                rest.popFirst() == UInt8(ascii: ","), let value = number(&rest), rest.popFirst() == UInt8(ascii: ")")
            else { throw .malformed }
            pairs.append(CSRIndicator(index: index, value: value))
            guard let next = rest.popFirst() else { return pairs }
            guard next == UInt8(ascii: ",") else { throw .malformed }
        }
    }

    private static func number(_ rest: inout ArraySlice<UInt8>) -> Int? {
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard (1...2).contains(digits.count) else { return nil }
        rest = rest.dropFirst(digits.count)
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
}

extension AudioGateway {
    /// A headset's preferences for the routing of calls to it (AT+ANDROID=SINKAUDIOPOLICY,…).
    package struct SinkAudioPolicy: Hashable, Sendable {
        package enum Preference: Int, Hashable, Sendable {
            case unspecified = 0
            case allowed = 1
            case notAllowed = 2
        }

        package static let word = "SINKAUDIOPOLICY"
        /// A call that is answered or dialled elsewhere moves to this headset.
        package let calls: Preference
        /// The headset becomes active when it connects.
        package let activation: Preference
        /// The headset accepts our ring tone in its audio.
        package let inbandRing: Preference
    }

    package enum PowerSource: String, Hashable, Sendable {
        case battery, external
    }

    /// A message that a headset sends for people or programs that know it; safe to print.
    package struct VendorReport: Hashable, Sendable {
        /// `DON`, `DOFF`, `USER-AGENT`…
        package let word: String
        /// The parameters, at most eight; an empty one for an empty field.
        package let values: [String]

        package static let limit = 8

        package init(_ word: String, _ values: [String] = []) {
            self.word = ATText.word(word)
            self.values = values.prefix(Self.limit).map(ATText.word)
        }

        init(_ word: String, _ parameters: ATParameters) {
            var parameters = parameters
            var values: [String] = []
            while !parameters.isAtEnd, values.count < Self.limit { values.append(parameters.text() ?? "") }
            self.init(word, values)
        }
    }

    /// Settings of the headset's vendor extensions that come without an event.
    package struct VendorSettings: Hashable, Sendable {
        /// AT+APLEFM: 0…2; nil until the headset sends one.
        package internal(set) var eyesFree: Int?
        /// AT+CSR: the indicators that the headset has switched off.
        package internal(set) var silencedCSR: Set<Int> = []

        package init() {}
    }
}
