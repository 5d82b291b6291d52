/// Settings of a program that runs beside btcalld: what its command line and its configuration file are called.
package protocol CompanionSettings: FileSettings {
    init()

    /// Name of the program, for example `btcall-web`.
    static var program: String { get }

    /// The file that is read without `--config`. It may be absent.
    static var standardFile: String { get }

    /// Options that override a key of the file.
    static var options: [String: Key] { get }

    /// Text of `--help`.
    static var usage: String { get }

    /// The least severe messages that are logged.
    var logLevel: LogLevel { get }

    /// Why the keys of the file do not go together, with what is accepted; nil: they do.
    var refusal: String? { get }
}

extension CompanionSettings {
    /// Maximum size of the file in bytes.
    package static var mostBytes: Int { 64 * 1024 }

    package var refusal: String? { nil }

    /// - Parameters:
    ///   - bytes: UTF-8.
    ///   - file: its name, for messages.
    /// - Throws: for the first invalid line, for a repeated key, and for keys that do not go together.
    package init(reading bytes: [UInt8], file: String) throws(SettingsError) {
        self.init()
        try read(bytes, file: file)
        if let refusal { throw SettingsError("\(file): \(refusal)") }
    }
}

/// The least severe messages that a program logs.
package enum LogLevel: String, Sendable, CaseIterable {
    case trace, debug, info, notice, warning, error

    package static var accepted: String { "one of " + allCases.map(\.rawValue).joined(separator: ", ") }
}
