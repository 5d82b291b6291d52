import BluetoothTypes
import CommandKit
import JSONText

/// Output of `btcall-lab decode --sbc-capabilities` for one endpoint, or for two.
struct SBCDecoding {
    /// The capabilities to choose from; nil when a size is wrong.
    private let capabilities: SBCCapabilities?
    private let selected: SBCConfiguration?
    private let error: String?

    /// - Parameters:
    ///   - text: hexadecimal digits; spaces, colons and a 0x at the beginning are skipped.
    ///   - other: the other endpoint.
    init(_ text: String, with other: String?) {
        var capabilities: SBCCapabilities?
        do throws(Failure) {
            let first = try Self.read(text, "")
            capabilities = first
            guard let other else {
                selected = try Self.attempt("") { () throws(SBCError) in try first.select() }
                self.capabilities = first
                error = nil
                return
            }
            let second: SBCCapabilities
            do throws(Failure) {
                second = try Self.read(other, "--with: ")
            } catch {
                capabilities = nil
                throw error
            }
            capabilities = first.intersection(second)
            try Self.attempt("", first.check)
            try Self.attempt("--with: ", second.check)
            selected = try Self.attempt("") { () throws(SBCError) in try first.select(with: second) }
            error = nil
        } catch {
            selected = nil
            self.error = error.text
        }
        self.capabilities = capabilities
    }

    private struct Failure: Error {
        let text: String
    }

    private static func attempt<Value>(
        _ which: String, _ work: () throws(SBCError) -> Value
    ) throws(Failure) -> Value {
        do throws(SBCError) {
            return try work()
        } catch {
            throw Failure(text: "\(which)\(error)")
        }
    }

    private static func read(_ text: String, _ which: String) throws(Failure) -> SBCCapabilities {
        var digits = text.filter { $0 != " " && $0 != ":" }
        if digits.hasPrefix("0x") || digits.hasPrefix("0X") { digits.removeFirst(2) }
        let values = digits.compactMap(\.hexDigitValue)
        guard values.count == digits.count, digits.utf8.count == digits.count else {
            throw Failure(text: "\(which)not hexadecimal: \(text)")
        }
        guard values.count % 2 == 0 else {
            throw Failure(text: "\(which)wrong size: half a byte too many in \(text)")
        }
        let bytes = stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
        return try attempt(which) { () throws(SBCError) in try SBCCapabilities(bytes) }
    }

    /// Contains `selected` or `error`; capabilities that could not be read are null.
    var document: JSON {
        let outcome = selected.map { ("selected", Self.document($0)) } ?? ("error", JSON(error))
        return JSON([
            ("rates", Self.list(capabilities?.rates)), ("modes", Self.list(capabilities?.modes.map(\.rawValue))),
            ("blocks", Self.list(capabilities?.blocks)), ("subbands", Self.list(capabilities?.subbands)),
            ("allocation", Self.list(capabilities?.allocations.map(\.rawValue))),
            ("minBitpool", JSON(capabilities?.minimumBitpool)), ("maxBitpool", JSON(capabilities?.maximumBitpool)),
            outcome,
        ])
    }

    private static func document(_ selected: SBCConfiguration) -> JSON {
        [
            "rate": JSON(selected.rate), "mode": .string(selected.mode.rawValue), "blocks": JSON(selected.blocks),
            "subbands": JSON(selected.subbands), "allocation": .string(selected.allocation.rawValue),
            "minBitpool": JSON(selected.minimumBitpool), "maxBitpool": JSON(selected.maximumBitpool),
        ]
    }

    private static func list(_ numbers: [Int]?) -> JSON {
        numbers.map { .array($0.map { JSON($0) }) } ?? .null
    }

    private static func list(_ words: [String]?) -> JSON {
        words.map { JSON($0) } ?? .null
    }

    var lines: [String] {
        var facts = Facts()
        if let capabilities {
            func add(_ label: String, _ values: [some CustomStringConvertible]) {
                facts.add(label, values.isEmpty ? "none" : values.map(\.description).joined(separator: ", "))
            }
            add("rates", capabilities.rates)
            add("modes", capabilities.modes.map(\.rawValue))
            add("blocks", capabilities.blocks)
            add("subbands", capabilities.subbands)
            add("allocation", capabilities.allocations.map(\.rawValue))
            facts.add("bitpool", "\(capabilities.minimumBitpool) to \(capabilities.maximumBitpool)")
        }
        if let selected {
            let hex = selected.bytes.map { String($0 >> 4, radix: 16) + String($0 & 0xF, radix: 16) }.joined()
            facts.add(
                "selected",
                "\(selected.rate) Hz, \(selected.mode), \(selected.blocks) blocks, \(selected.subbands) subbands, "
                    + "\(selected.allocation), bitpool \(selected.minimumBitpool) to \(selected.maximumBitpool): \(hex)"
            )
        }
        if let error { facts.add("error", error) }
        return facts.lines
    }
}
