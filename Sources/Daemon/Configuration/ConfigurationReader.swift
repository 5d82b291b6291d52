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

    package init(file: String, line: Int?, key: String?, problem: String, accepted: String) {
        self.file = file
        self.line = line
        self.key = key
        self.problem = problem
        self.accepted = accepted
    }

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
    /// More than this is no configuration.
    package static let mostBytes = 1 << 20

    /// - Throws: `ConfigurationError` for a file that is not read, a line that is no entry, a line that is too long and a key
    ///   given twice.
    package static func entries(ofFile path: String) throws(ConfigurationError) -> [ConfigurationEntry] {
        try read(contents(path), file: path).entries
    }

    /// The same without the lines that are no entries or too long, and the keys that are given twice.
    ///
    /// - Returns: the entries, and what is wrong with the first line of each kind that is left out.
    /// - Throws: for a file that is not read.
    package static func understoodEntries(
        ofFile path: String
    ) throws(ConfigurationError) -> (entries: [ConfigurationEntry], leftOut: [ConfigurationError]) {
        try read(contents(path), file: path, leavesOut: true)
    }

    /// - Parameters:
    ///   - text: the contents of a configuration file.
    ///   - name: stands for the file in messages.
    package static func entries(ofText text: String, name: String) throws(ConfigurationError) -> [ConfigurationEntry] {
        try read(Array(text.utf8), file: name).entries
    }

    private static func contents(_ path: String) throws(ConfigurationError) -> [UInt8] {
        do throws(FileRefusal) {
            return try ForeignFile.read(path, atMost: mostBytes)
        } catch {
            let advice =
                switch error.reason {
                case .failed:
                    "give a readable file with --config, or install the example as /etc/btcall/btcalld.conf"
                case .kind, .link, .owner, .tooLong: "accepted: \(error.accepted)"
                }
            throw ConfigurationError(file: path, line: nil, key: nil, problem: error.problem, accepted: advice)
        }
    }

    private typealias Outcome = (entries: [ConfigurationEntry], leftOut: [ConfigurationError])

    private static func read(
        _ contents: [UInt8], file: String, leavesOut: Bool = false
    ) throws(ConfigurationError) -> Outcome {
        var bytes = contents
        guard !bytes.isEmpty else { return ([], []) }
        if let refusal = nul(in: bytes, file: file) {
            guard leavesOut else { throw refusal }
            let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            let others = lines.map { $0.contains(0) ? [] : $0 }.joined(separator: [UInt8(ascii: "\n")])
            let outcome = try read(Array(others), file: file, leavesOut: true)
            return (outcome.entries, [refusal] + outcome.leftOut)
        }
        let outcome: Result<Outcome, ConfigurationError> = bytes.withUnsafeMutableBytes { buffer in
            guard let stream = fmemopen(buffer.baseAddress, buffer.count, "r") else {
                let error = SystemError(call: "fmemopen", code: errno)
                return .failure(
                    ConfigurationError(file: file, line: nil, key: nil, problem: "\(error)", accepted: "try again"))
            }
            defer { fclose(stream) }
            return Result { () throws(ConfigurationError) in try read(stream, file: file, leavesOut: leavesOut) }
        }
        return try outcome.get()
    }

    /// A line with a NUL would end there, and what follows would be read as the next one.
    private static func nul(in bytes: [UInt8], file: String) -> ConfigurationError? {
        guard let place = bytes.firstIndex(of: 0) else { return nil }
        let line = bytes[..<place].count { $0 == UInt8(ascii: "\n") } + 1
        return ConfigurationError(
            file: file, line: line, key: nil, problem: "the line has a NUL character", accepted: "text without it")
    }

    /// What the callbacks of libinih work on.
    private final class Reading {
        let stream: UnsafeMutablePointer<FILE>
        let file: String
        var line = 0
        var entries: [ConfigurationEntry] = []
        var error: ConfigurationError?
        let leavesOut: Bool
        var leftOut: [ConfigurationError] = []
        /// Lines by section and key.
        private var lines: [String: Int] = [:]

        init(stream: UnsafeMutablePointer<FILE>, file: String, leavesOut: Bool) {
            self.stream = stream
            self.file = file
            self.leavesOut = leavesOut
        }

        func refuse(key: String?, _ problem: String, _ accepted: String) {
            let refusal = ConfigurationError(file: file, line: line, key: key, problem: problem, accepted: accepted)
            if leavesOut {
                if !leftOut.contains(where: { $0.problem == problem }) { leftOut.append(refusal) }
            } else if error == nil {
                error = refusal
            }
        }

        func nextLine(_ buffer: UnsafeMutablePointer<CChar>, _ size: Int32) -> UnsafeMutablePointer<CChar>? {
            guard error == nil, fgets(buffer, size, stream) != nil else { return nil }
            line += 1
            let length = strlen(buffer)
            guard length < Int(size) - 1 || buffer[length - 1] == CChar(bitPattern: UInt8(ascii: "\n")) else {
                refuse(
                    key: nil, "the line is too long", "a line may have \(ConfigurationReader.maximumLineBytes) bytes")
                return leavesOut ? skipLine(buffer) : nil
            }
            return buffer
        }

        /// Makes an empty line of one that is too long.
        private func skipLine(_ buffer: UnsafeMutablePointer<CChar>) -> UnsafeMutablePointer<CChar> {
            var byte = getc(stream)
            while byte != EOF, byte != Int32(UInt8(ascii: "\n")) { byte = getc(stream) }
            buffer[0] = 0
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
        _ stream: UnsafeMutablePointer<FILE>, file: String, leavesOut: Bool
    ) throws(ConfigurationError) -> Outcome {
        let reading = Reading(stream: stream, file: file, leavesOut: leavesOut)
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
            let refusal = ConfigurationError(
                file: file, line: Int(firstBadLine), key: nil, problem: "this is neither a section nor an entry",
                accepted: "write [section], key = value, or a comment that begins with # or ;")
            guard leavesOut else { throw refusal }
            return (reading.entries, reading.leftOut + [refusal])
        }
        return (reading.entries, reading.leftOut)
    }
}
