package import ControlLoop
import Glibc

/// The newest incident files, in a directory of their own.
package struct IncidentFiles: Sendable {
    package static let limit = 8

    package let directory: String
    private static let prefix = "incident-"
    private static let suffix = ".json"

    /// - Parameter stateDirectory: absolute; it and the directory in it are made when they do not exist.
    package init(stateDirectory: String) {
        directory = stateDirectory + "/incidents"
    }

    /// Writes a file and removes the oldest beyond the limit. It is there as a whole or not at all.
    ///
    /// - Parameter time: part of the name, `incident-20250301T170405Z.json`.
    /// - Returns: the path.
    package func add(_ text: String, at time: WallClock) throws(SystemError) -> String {
        let parent = String(directory.prefix(upTo: directory.lastIndex(of: "/") ?? directory.startIndex))
        if mkdir(parent, 0o755) != 0, errno != EEXIST { throw SystemError("mkdir") }
        if mkdir(directory, 0o750) != 0, errno != EEXIST { throw SystemError("mkdir") }
        let digits = time.iso8601.prefix(19).filter { $0 != "-" && $0 != ":" }
        let name = Self.prefix + digits + "Z" + Self.suffix
        let path = directory + "/" + name
        let temporary = directory + "/new"
        try Self.write(Array(text.utf8), to: temporary)
        guard rename(temporary, path) == 0 else { throw SystemError("rename") }
        removeOldest(but: name)
        return path
    }

    private static func write(_ bytes: [UInt8], to path: String) throws(SystemError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o640)
        guard descriptor >= 0 else { throw SystemError("open") }
        defer { close(descriptor) }
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw SystemError("write") }
            written += count
        }
    }

    /// The file just written stays, whatever the clock says.
    private func removeOldest(but newest: String) {
        let others = names().filter { $0 != newest }.sorted()
        for name in others.dropLast(Self.limit - 1) {
            // One more file for a while is no harm.
            unlink(directory + "/" + name)
        }
    }

    private func names() -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasPrefix(Self.prefix), name.hasSuffix(Self.suffix) { names.append(name) }
        }
        return names
    }
}
