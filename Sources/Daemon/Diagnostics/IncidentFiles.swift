package import ControlLoop
import Glibc

/// The newest incident files, in their own directory.
package struct IncidentFiles: Sendable {
    package static let limit = 8

    package let directory: String
    private static let prefix = "incident-"
    private static let suffix = ".json"

    /// - Parameter stateDirectory: absolute; it and the directory in it are created when they do not exist.
    package init(stateDirectory: String) {
        directory = stateDirectory + "/incidents"
    }

    /// Writes a file atomically and removes the oldest ones beyond the limit.
    ///
    /// - Parameter time: part of the name, `incident-20250301T170405Z.json`.
    /// - Returns: the path of the file.
    package func add(_ text: String, at time: WallClock) throws(SystemError) -> String {
        try OwnFile.makeDirectory(ForeignFile.directory(of: directory))
        try OwnFile.makeDirectory(directory)
        let digits = time.iso8601.prefix(19).filter { $0 != "-" && $0 != ":" }
        let name = Self.prefix + digits + "Z" + Self.suffix
        let path = directory + "/" + name
        // Not synced to disk: the file is needed only while the board runs.
        try OwnFile.replace(path, with: Array(text.utf8), mode: 0o640, isSynced: false)
        removeOldest(but: name)
        return path
    }

    /// Keeps the file just written, whatever the clock says.
    private func removeOldest(but newest: String) {
        let others = names().filter { $0 != newest }.sorted()
        for name in others.dropLast(Self.limit - 1) {
            // A failure only leaves one file too many.
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
