import ControlLoop
import Glibc
package import Talk

// The files of talk keys: the two that a configuration names, and the one of learnt keys in the state directory.
extension TalkRows {
    /// Name of the file of learnt keys in the state directory.
    package static let learntName = "talk-keys.conf"

    /// Reads the shipped and the administrator's file to the end.
    ///
    /// - Parameters:
    ///   - shipped: path of the shipped file; nil: none. A missing file is accepted at the default path only.
    ///   - overlay: path of the administrator's file, in the same way.
    /// - Returns: the valid rows, and all mistakes.
    package static func loading(
        shipped: String?, overlay: String?
    ) -> (rows: TalkRows, mistakes: [ConfigurationError]) {
        var rows = TalkRows()
        var mistakes: [ConfigurationError] = []
        let files: [(path: String?, usual: String, origin: TalkRow.Origin)] = [
            (shipped, Configuration.shippedTalkKeys, .shipped), (overlay, Configuration.adminTalkKeys, .admin),
        ]
        for file in files {
            guard let path = file.path else { continue }
            do throws(ConfigurationError) {
                guard let bytes = try contents(path, isOptional: path == file.usual) else { continue }
                let (read, errors) = try reading(bytes, file: path, origin: file.origin)
                rows = rows.overlaid(by: read)
                mistakes += errors
            } catch {
                mistakes.append(error)
            }
        }
        return (rows, mistakes)
    }

    /// Reads the file of learnt keys; no rows without the file.
    ///
    /// - Throws: `ConfigurationError` for a file that cannot be read (edited by hand, or damaged).
    package static func learnt(in directory: String) throws(ConfigurationError) -> TalkRows {
        let path = directory + "/" + learntName
        guard let bytes = try contents(path, isOptional: true) else { return TalkRows() }
        return try TalkRows(parsing: bytes, file: path, origin: .learnt)
    }

    /// Nil for an optional file that does not exist.
    private static func contents(_ path: String, isOptional: Bool) throws(ConfigurationError) -> [UInt8]? {
        do throws(FileRefusal) {
            // One more byte shows that the file is too long.
            return try ForeignFile.read(path, atMost: RowFile.mostBytes + 1, .leftOut)
        } catch {
            if isOptional, case .failed(let failure) = error.reason, failure.code == ENOENT { return nil }
            let advice = "name another one in [talk]: database, overlay; none is for none"
            let accepted =
                switch error.reason {
                case .failed: "make it readable, or \(advice)"
                case .kind, .link, .owner, .tooLong, .worldAccessible: "accepted: \(error.accepted); or \(advice)"
                }
            throw ConfigurationError(file: path, line: nil, key: nil, problem: error.problem, accepted: accepted)
        }
    }
}
