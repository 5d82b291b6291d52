import CINIH
import ControlLoop
import Glibc

/// What is wrong with a configuration file: where, and what would be right.
package struct ConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
    package let file: String
    /// Counted from 1; nil when the file as a whole is meant.
    package let line: Int?
    /// `[section] key`; nil when no key is meant.
    package let key: String?
    package let problem: String
    /// What would be right, in words.
    package let accepted: String

    package var description: String {
        let place = line.map { "\(file):\($0)" } ?? file
        return "\(place): \(key.map { $0 + ": " } ?? "")\(problem); \(accepted)"
    }
}

/// One `key = value` of a file, with the place it stands at.
package struct ConfigurationEntry: Equatable, Sendable {
    package let section: String
    package let key: String
    package let value: String
    package let line: Int
}

/// Reads INI files through libinih and says where each entry stands.
///
/// Debian's libinih neither reports line numbers nor accepts lines of 200 bytes and more: lines are counted and measured
/// while they are fed to it, and longer ones are refused instead of being cut.
package enum ConfigurationReader {
    /// Longest line in bytes, without its end (INI_MAX_LINE less the end of line and the terminator).
    package static let maximumLineBytes = 198

    /// - Throws: `ConfigurationError` for a file that cannot be opened, a line that is no entry, a line that is too long
    ///   and a key given twice.
    package static func entries(ofFile path: String) throws(ConfigurationError) -> [ConfigurationEntry] {
        guard let stream = fopen(path, "re") else {
            let error = SystemError(call: "open", code: errno)
            throw ConfigurationError(
                file: path, line: nil, key: nil, problem: "\(error)",
                accepted: "give a readable file with --config, or install the example as /etc/btcall/btcalld.conf")
        }
        defer { fclose(stream) }
        return try read(stream, file: path)
    }

    /// - Parameters:
    ///   - text: the contents of a configuration file.
    ///   - name: stands for the file in messages.
    package static func entries(ofText text: String, name: String) throws(ConfigurationError) -> [ConfigurationEntry] {
        var bytes = Array(text.utf8)
        guard !bytes.isEmpty else { return [] }
        let outcome: Result<[ConfigurationEntry], ConfigurationError> = bytes.withUnsafeMutableBytes { buffer in
            guard let stream = fmemopen(buffer.baseAddress, buffer.count, "r") else {
                let error = SystemError(call: "fmemopen", code: errno)
                return .failure(
                    ConfigurationError(file: name, line: nil, key: nil, problem: "\(error)", accepted: "try again"))
            }
            defer { fclose(stream) }
            return Result { () throws(ConfigurationError) in try read(stream, file: name) }
        }
        return try outcome.get()
    }

    /// What the callbacks of libinih work on.
    private final class Reading {
        let stream: UnsafeMutablePointer<FILE>
        let file: String
        var line = 0
        var entries: [ConfigurationEntry] = []
        var error: ConfigurationError?
        /// Lines by section and key.
        private var lines: [String: Int] = [:]

        init(stream: UnsafeMutablePointer<FILE>, file: String) {
            self.stream = stream
            self.file = file
        }

        func refuse(key: String?, _ problem: String, _ accepted: String) {
            guard error == nil else { return }
            error = ConfigurationError(file: file, line: line, key: key, problem: problem, accepted: accepted)
        }

        func nextLine(_ buffer: UnsafeMutablePointer<CChar>, _ size: Int32) -> UnsafeMutablePointer<CChar>? {
            guard error == nil, fgets(buffer, size, stream) != nil else { return nil }
            line += 1
            let length = strlen(buffer)
            guard length < Int(size) - 1 || buffer[length - 1] == CChar(bitPattern: UInt8(ascii: "\n")) else {
                refuse(
                    key: nil, "the line is too long", "a line may have \(ConfigurationReader.maximumLineBytes) bytes")
                return nil
            }
            return buffer
        }

        func take(section: String, key: String, value: String) {
            let name = "[\(section)] \(key)"
            if let earlier = lines[name] {
                refuse(key: name, "is given a second time", "keep one of this and line \(earlier)")
                return
            }
            lines[name] = line
            entries.append(ConfigurationEntry(section: section, key: key, value: value, line: line))
        }
    }

    private static func read(
        _ stream: UnsafeMutablePointer<FILE>, file: String
    ) throws(ConfigurationError) -> [ConfigurationEntry] {
        let reading = Reading(stream: stream, file: file)
        let context = Unmanaged.passUnretained(reading).toOpaque()
        let firstBadLine = ini_parse_stream(
            { buffer, size, stream in
                guard let buffer, let stream else { return nil }
                return Unmanaged<Reading>.fromOpaque(stream).takeUnretainedValue().nextLine(buffer, size)
            }, context,
            { context, section, key, value in
                guard let context, let section, let key else { return 0 }
                let reading = Unmanaged<Reading>.fromOpaque(context).takeUnretainedValue()
                reading.take(
                    section: String(cString: section), key: String(cString: key),
                    value: value.map { String(cString: $0) } ?? "")
                return reading.error == nil ? 1 : 0
            }, context)
        if let error = reading.error { throw error }
        guard firstBadLine == 0 else {
            throw ConfigurationError(
                file: file, line: Int(firstBadLine), key: nil, problem: "this is neither a section nor an entry",
                accepted: "write [section], key = value, or a comment that begins with # or ;")
        }
        return reading.entries
    }
}
