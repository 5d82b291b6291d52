import ControlLoop
import Glibc
package import HandsFree

// The quirks files that a configuration names.
extension QuirksDatabase {
    /// Reads both files of a configuration.
    ///
    /// - Parameters:
    ///   - shipped: path of the shipped file; nil: none. A missing file is accepted at the default path only.
    ///   - overlay: path of the administrator's file, in the same way.
    /// - Throws: `ConfigurationError` for a file that cannot be read or has a mistake.
    package static func load(shipped: String?, overlay: String?) throws(ConfigurationError) -> QuirksDatabase {
        let (database, mistakes) = loading(shipped: shipped, overlay: overlay)
        if let mistake = mistakes.first { throw mistake }
        return database
    }

    /// Reads both files to the end.
    ///
    /// - Returns: the valid rows, and all mistakes.
    package static func loading(
        shipped: String?, overlay: String?
    ) -> (database: QuirksDatabase, mistakes: [ConfigurationError]) {
        var database = QuirksDatabase()
        var mistakes: [ConfigurationError] = []
        do throws(ConfigurationError) {
            if let shipped, let bytes = try contents(shipped, isOptional: shipped == Configuration.shippedQuirks) {
                (database, mistakes) = try reading(bytes, file: shipped, origin: .shipped)
            }
        } catch {
            mistakes.append(error)
        }
        guard let overlay else { return (database, mistakes) }
        func withoutOverlay(_ error: ConfigurationError) -> ConfigurationError {
            ConfigurationError(
                file: error.file, line: error.line, key: error.key, problem: error.problem,
                accepted: error.accepted + "; or start without: [quirks] overlay = none")
        }
        let bytes: [UInt8]?
        do throws(ConfigurationError) {
            bytes = try contents(overlay, isOptional: overlay == Configuration.adminQuirks)
        } catch {
            return (database, mistakes + [error])
        }
        guard let bytes else { return (database, mistakes) }
        do throws(ConfigurationError) {
            let (rows, errors) = try reading(bytes, file: overlay, origin: .admin)
            return (database.overlaid(by: rows), mistakes + errors.map(withoutOverlay))
        } catch {
            return (database, mistakes + [withoutOverlay(error)])
        }
    }

    /// Nil for an optional file that does not exist.
    package static func contents(_ path: String, isOptional: Bool) throws(ConfigurationError) -> [UInt8]? {
        do throws(FileRefusal) {
            // One more byte shows that the file is too long.
            return try ForeignFile.read(path, atMost: mostBytes + 1, .leftOut)
        } catch {
            if isOptional, case .failed(let failure) = error.reason, failure.code == ENOENT { return nil }
            let advice = "name another one in [quirks]: database, overlay; none is for none"
            let accepted =
                switch error.reason {
                case .failed: "make it readable, or \(advice)"
                case .kind, .link, .owner, .tooLong, .worldAccessible: "accepted: \(error.accepted); or \(advice)"
                }
            throw ConfigurationError(file: path, line: nil, key: nil, problem: error.problem, accepted: accepted)
        }
    }
}
