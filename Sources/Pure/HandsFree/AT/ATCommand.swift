/// A parsed command line: name, form and parameters (V.250 §5.3, §5.4).
package struct ATCommand: Hashable, Sendable {
    package enum Form: Hashable, Sendable {
        /// `AT+CHUP`, `ATA`, `ATD…`
        case action
        /// `AT+CIND?`
        case read
        /// `AT+CIND=?`
        case test
        /// `AT+VGS=9`
        case set
    }

    /// In upper case: `+BRSF`, `A`, `D`; empty for an empty line and for `AT` alone.
    package let name: String
    package let form: Form
    /// Bytes after the name and `=`; for `D` the dial string.
    package let parameters: ATParameters

    /// Whether the line begins with `AT`, in either case.
    package static func isCommand(_ line: [UInt8]) -> Bool {
        line.count >= 2 && upper(line[0]) == UInt8(ascii: "A") && upper(line[1]) == UInt8(ascii: "T")
    }

    /// - Parameter line: from `ATReader`.
    /// - Throws: `notACommand` when the line does not begin with `AT` in either case or has no name after it.
    package init(line: [UInt8]) throws(ATSyntaxError) {
        guard !line.isEmpty else {
            self.init(name: "", form: .action)
            return
        }
        guard Self.isCommand(line) else { throw .notACommand }
        guard line.count > 2 else {
            self.init(name: "", form: .action)
            return
        }
        let body = line.dropFirst(2)
        let isExtended = body.first.map { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "%") } ?? false
        let length: Int
        if isExtended {
            length = 1 + body.dropFirst().prefix { Self.isNameByte($0) }.count
            guard length > 1 else { throw .notACommand }
        } else {
            length = 1
            guard body.first.map(Self.isNameByte) == true else { throw .notACommand }
        }
        let name = String(decoding: body.prefix(length).map(Self.upper), as: UTF8.self)
        let rest = body.dropFirst(length)
        switch rest.first {
        case nil:
            self.init(name: name, form: .action)
        case UInt8(ascii: "?") where isExtended && rest.count == 1:
            self.init(name: name, form: .read)
        case UInt8(ascii: "=") where isExtended:
            let value = rest.dropFirst()
            if value.elementsEqual([UInt8(ascii: "?")]) {
                self.init(name: name, form: .test)
            } else {
                self.init(name: name, form: .set, parameters: ATParameters(value))
            }
        default:
            guard !isExtended else { throw .notACommand }
            self.init(name: name, form: .action, parameters: ATParameters(rest))
        }
    }

    private init(name: String, form: Form, parameters: ATParameters = ATParameters([])) {
        self.name = name
        self.form = form
        self.parameters = parameters
    }

    static func upper(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? byte & 0xDF : byte
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(upper(byte))
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}

/// Error in a command line; the headset receives ERROR, nothing else happens.
package enum ATSyntaxError: Error, Hashable, Sendable {
    case notACommand
    /// A parameter is missing.
    case missing
    /// A parameter is invalid.
    case malformed
    /// A number is outside the accepted range.
    case range
    /// A text is invalid.
    case text
    /// There are more parameters than the command accepts.
    case excess

    /// Error code for a headset with extended errors. No code of HFP 1.9 §4.34.2 means wrong parameters: they are not
    /// allowed.
    var code: CMEError {
        switch self {
        case .missing, .malformed, .excess: .notAllowed
        case .range: .invalidIndex
        case .notACommand, .text: .invalidText
        }
    }
}
