import ArgumentParser
import BTCallDaemon
import Configuration
import Foundation

/// Writes the pages of the manual that are made from the parser and the configuration; scripts/install runs it.
struct ManualCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manual", abstract: "Write the pages of the manual.",
        discussion: "Example: btcall manual /tmp/pages", shouldDisplay: false)

    @Argument(help: "Where man1 and man5 are made.", completion: .directory)
    var directory: String

    func run() throws {
        for page in try Self.pages() {
            let folder = URL(filePath: directory).appending(path: "man\(page.section)")
            do {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                try page.roff(version: Daemon.version)
                    .write(to: folder.appending(path: page.fileName), atomically: true, encoding: .utf8)
            } catch {
                Output.terminal.printError("\(folder.path()): \(error.localizedDescription)")
                throw ExitCode.failure
            }
        }
    }

    static func pages() throws -> [ManualPage] {
        try CommandManual().pages + [ConfigurationManual.page]
    }
}
