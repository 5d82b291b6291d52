/// Splits the bytes of an RFCOMM channel into command lines, however the bytes are divided.
///
/// CR ends a line (V.250 §5.2.1). LF is ignored everywhere, as are spaces and tabs outside quoted strings: headsets send all
/// of them. A line that exceeds the limit is reported once, when it does, and skipped to its CR.
package struct ATReader: Sendable {
    package enum Input: Hashable, Sendable {
        /// Without its CR; may be empty.
        case line([UInt8])
        case problem(Problem)

        package var byteCount: Int {
            switch self {
            case .line(let bytes): bytes.count
            case .problem: 0
            }
        }
    }

    package enum Problem: Hashable, Sendable {
        case lineTooLong
    }

    /// Bytes of the incomplete line; at most `limit`.
    package var keptBytes: Int { line.count }

    /// Maximum length of a line in bytes, ignored bytes not counted.
    package static let limit = 1024

    private var line: [UInt8] = []
    private var isQuoted = false
    private var isSkipping = false

    package init() {}

    /// - Returns: the complete lines, in order; the rest is kept for the next call, at most `limit` bytes.
    package mutating func read(_ bytes: some Sequence<UInt8>) -> [Input] {
        var inputs: [Input] = []
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\r"):
                if !isSkipping { inputs.append(.line(line)) }
                line.removeAll(keepingCapacity: true)
                isQuoted = false
                isSkipping = false
            case _ where isSkipping, UInt8(ascii: "\n"):
                break
            case UInt8(ascii: " ") where !isQuoted, UInt8(ascii: "\t") where !isQuoted:
                break
            default:
                if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
                if line.count < Self.limit {
                    line.append(byte)
                } else {
                    isSkipping = true
                    line.removeAll(keepingCapacity: true)
                    inputs.append(.problem(.lineTooLong))
                }
            }
        }
        return inputs
    }
}
