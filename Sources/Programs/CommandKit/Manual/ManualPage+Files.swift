import ArgumentParser
import ControlLoop

extension ManualPage {
    /// Writes pages to `man1`, `man5` and so on below a directory, which is created if necessary.
    ///
    /// - Parameter version: version of btcall.
    /// - Throws: `ExitCode` when a page cannot be written; the reason is printed on standard error.
    package static func write(_ pages: [ManualPage], below directory: String, version: String) throws {
        for page in pages {
            let folder = "\(directory)/man\(page.section)"
            do throws(SystemError) {
                try makeDirectories(folder)
                try OwnFile.replace(
                    "\(folder)/\(page.fileName)", with: Array(page.roff(version: version).utf8), mode: 0o666,
                    isSynced: false)
            } catch {
                Output.terminal.printError("\(folder): \(error)")
                throw ExitCode.failure
            }
        }
    }

    private static func makeDirectories(_ path: String) throws(SystemError) {
        var folder = path.hasPrefix("/") ? "" : "."
        for name in path.split(separator: "/") {
            folder += "/\(name)"
            try OwnFile.makeDirectory(folder, mode: 0o777)
        }
    }
}
