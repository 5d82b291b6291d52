import ArgumentParser
import BTCallAPI
import CommandKit

/// Writes the manual pages that are generated from the parser and the configuration; scripts/install runs it.
struct ManualCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manual", abstract: "Write the pages of the manual.",
        discussion: "Example: btcall manual /tmp/pages", shouldDisplay: false)

    @Argument(help: "Where man1 and man5 are made.", completion: .directory)
    var directory: String

    func run() throws {
        try ManualPage.write(try Self.pages(), below: directory, version: ProductVersion.current)
    }

    static func pages() throws -> [ManualPage] {
        try CommandManual(Entry.self, overview).pages + [ConfigurationManual.page]
    }

    private static let overview = CommandManual.Overview(
        """
        btcall talks to `btcalld`, which moves the audio of telephone calls between Bluetooth headsets and the board's own \
        devices. Root and the members of group btcall may do everything; everybody else may look. On a terminal tables \
        have colours; in a pipe there are none, and `--json` is for programs.
        """,
        variables: [
            ("BTCALL_BUS", "The bus that btcalld is on, where `--bus` does not say it."),
            ("NO_COLOR", "Set to anything: no colours."),
        ], seeAlso: ["btcalld(8)", "btcalld.conf(5)", "btcall-sco-routing(8)"],
        exitCodes: [
            ("0", "Done."),
            ("1", "Refused or failed: standard error says why and what to do. A fault, with `btcall doctor`."),
            ("3", "btcalld is not running, or the bus cannot be reached."),
            ("64", "The command line is wrong."),
            ("127", "The program after `--` cannot be run. If it can, its own status is that of btcall."),
        ], oldNames: OldVerbs.names)
}
