/// Cuts the bytes of an RFCOMM channel into command lines, however they are split.
///
/// CR ends a line (V.250 §5.2.1). LF is noise wherever it is, and so are spaces and tabs outside quoted strings: headsets
/// send all of them. A line that is too long is reported once, when it becomes too long, and skipped to its CR.
package struct ATReader: Sendable {
    package enum Input: Hashable, Sendable {
        /// Without its CR; empty lines too.
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

    /// Bytes of the line that is not complete; at most `limit`.
    package var keptBytes: Int { line.count }

    /// The longest line in bytes, noise not counted.
    package static let limit = 1024

    private var line: [UInt8] = []
    private var isQuoted = false
    private var isSkipping = false

    package init() {}

    /// - Returns: what is complete now, in order; what is not is kept for the next call, at most `limit` bytes.
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
