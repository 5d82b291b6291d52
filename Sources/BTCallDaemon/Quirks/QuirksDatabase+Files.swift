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
        func failure(_ call: String) -> ConfigurationError {
            ConfigurationError(
                file: path, line: nil, key: nil, problem: "\(SystemError(call: call, code: errno))",
                accepted: "make it readable, or name another one in [quirks]: database, overlay; none is for none")
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if isOptional, errno == ENOENT { return nil }
            throw failure("open")
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while bytes.count <= mostBytes {
            let count = part.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("read") }
            guard count > 0 else { break }
            bytes += part[..<count]
        }
        return bytes
    }
}
