package import ControlLoop
import Glibc

/// Keeps what is set at run time and must survive a restart: the preferred and the default device.
///
/// The file is replaced as a whole (write, sync, rename, sync of the directory), so that a power cut leaves the old or
/// the new one, never half of it.
package struct PreferenceStore: Sendable {
    /// Devices in the words of the policy; nil when never set.
    package struct Preferences: Equatable, Sendable {
        package var preferred: String?
        package var standard: String?

        package init(preferred: String? = nil, standard: String? = nil) {
            self.preferred = preferred
            self.standard = standard
        }
    }

    /// What could not be kept, and what to do.
    package struct Failure: Error, CustomStringConvertible {
        package let path: String
        package let error: SystemError

        package var description: String {
            "cannot keep preferences in \(path): \(error); make the directory writable for the daemon's user "
                + "(StateDirectory=btcall in the unit does) or set [daemon] stateDirectory"
        }
    }

    private let directory: String
    private var path: String { directory + "/preferences.conf" }

    /// - Parameter directory: absolute; made when it does not exist.
    package init(directory: String) {
        self.directory = directory
    }

    /// What was kept; an absent file is no preferences.
    ///
    /// - Throws: `ConfigurationError` for a file that is not understood (edited by hand, or damaged).
    package func load() throws(ConfigurationError) -> Preferences {
        guard access(path, F_OK) == 0 else { return Preferences() }
        var preferences = Preferences()
        for entry in try ConfigurationReader.entries(ofFile: path) {
            switch (entry.section, entry.key) {
            case ("routing", "preferred"): preferences.preferred = entry.value
            case ("routing", "default"): preferences.standard = entry.value
            default:
                throw ConfigurationError(
                    file: path, line: entry.line, key: "[\(entry.section)] \(entry.key)", problem: "is not known here",
                    accepted: "keys of [routing] in this file are preferred, default; remove the file to start anew")
            }
        }
        return preferences
    }

    package func save(_ preferences: Preferences) throws(Failure) {
        var text = "[routing]\n"
        if let preferred = preferences.preferred { text += "preferred = \(preferred)\n" }
        if let standard = preferences.standard { text += "default = \(standard)\n" }
        if mkdir(directory, 0o755) != 0, errno != EEXIST { throw failure("mkdir") }
        let temporary = path + ".new"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failure("open") }
        let bytes = Array(text.utf8)
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                let error = failure("write")
                close(descriptor)
                throw error
            }
            written += count
        }
        guard fsync(descriptor) == 0 else {
            let error = failure("fsync")
            close(descriptor)
            throw error
        }
        close(descriptor)
        guard rename(temporary, path) == 0 else { throw failure("rename") }
        let parent = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard parent >= 0 else { return }
        // The rename has happened; a file system that cannot sync a directory has no better to offer.
        fsync(parent)
        close(parent)
    }

    private func failure(_ call: String) -> Failure {
        Failure(path: path, error: SystemError(call: call, code: errno))
    }
}
