import ArgumentParser
import BTCallAPI
import CommandKit

/// Writes the manual pages; scripts/install runs it.
struct LabManualCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manual", abstract: "Write the pages of the manual.",
        discussion: "Example: btcall-lab manual /tmp/pages", shouldDisplay: false)

    @Argument(help: "Directory for man1.", completion: .directory)
    var directory: String

    func run() throws {
        try ManualPage.write(try Self.pages(), below: directory, version: ProductVersion.current)
    }

    static func pages() throws -> [ManualPage] {
        try CommandManual(LabEntry.self, overview).pages
    }

    private static let overview = CommandManual.Overview(
        """
        btcall-lab has the tools for a laptop: a demonstration, the routing policy and the Audio Gateway without \
        a daemon, and measurements. A board needs only btcalld and btcall.
        """,
        variables: [("NO_COLOR", "When set, disables colours.")], seeAlso: ["btcall(1)", "btcalld(8)"])
}
