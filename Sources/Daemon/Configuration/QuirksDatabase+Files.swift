import ControlLoop
import Glibc
package import HandsFree

// The files of a configuration.
extension QuirksDatabase {
    /// Reads both files of a configuration.
    ///
    /// - Parameters:
    ///   - shipped: nil has none; a file that does not exist is none if it is where files are by default.
    ///   - overlay: as `shipped`.
    /// - Throws: for a file that cannot be read or is not understood.
    package static func load(shipped: String?, overlay: String?) throws(ConfigurationError) -> QuirksDatabase {
        var database = QuirksDatabase()
        if let shipped, let bytes = try contents(shipped, isOptional: shipped == Configuration.shippedQuirks) {
            database = try QuirksDatabase(parsing: bytes, file: shipped, origin: .shipped)
        }
        if let overlay, let bytes = try contents(overlay, isOptional: overlay == Configuration.adminQuirks) {
            do throws(ConfigurationError) {
                database = database.overlaid(by: try QuirksDatabase(parsing: bytes, file: overlay, origin: .admin))
            } catch {
                throw ConfigurationError(
                    file: error.file, line: error.line, key: error.key, problem: error.problem,
                    accepted: error.accepted + "; or start without: [quirks] overlay = none")
            }
        }
        return database
    }

    /// Nil for an optional file that does not exist.
    package static func contents(_ path: String, isOptional: Bool) throws(ConfigurationError) -> [UInt8]? {
        do throws(FileRefusal) {
            // One byte more says that it is too long.
            return try ForeignFile.read(path, atMost: mostBytes + 1, .leftOut)
        } catch {
            if isOptional, case .failed(let failure) = error.reason, failure.code == ENOENT { return nil }
            let advice = "name another one in [quirks]: database, overlay; none is for none"
            let accepted =
                switch error.reason {
                case .failed: "make it readable, or \(advice)"
                case .kind, .link, .owner, .tooLong: "accepted: \(error.accepted); or \(advice)"
                }
            throw ConfigurationError(file: path, line: nil, key: nil, problem: error.problem, accepted: accepted)
        }
    }
}
