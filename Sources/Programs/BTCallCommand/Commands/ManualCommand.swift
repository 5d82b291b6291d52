import ArgumentParser
import BTCallAPI
import CommandKit

/// Writes the manual pages that are generated from the parser and the configuration; scripts/install runs it.
struct ManualCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manual", abstract: "Write the pages of the manual.",
        discussion: "Example: btcall manual /tmp/pages", shouldDisplay: false)

    @Argument(help: "Directory for man1 and man5.", completion: .directory)
    var directory: String

    func run() throws {
        try ManualPage.write(try Self.pages(), below: directory, version: ProductVersion.current)
    }

    static func pages() throws -> [ManualPage] {
        try CommandManual(Entry.self, overview).pages + [ConfigurationManual.page]
    }

    private static let overview = CommandManual.Overview(
        """
        btcall talks to `btcalld`, which moves the audio of telephone calls between Bluetooth headsets and the \
        board's own devices. Root and the members of group btcall may do everything; other users may only look. \
        Tables have colours on a terminal, but not in a pipe; `--json` is for programs.
        """,
        variables: [
            ("BTCALL_BUS", "The bus of btcalld, unless `--bus` names it."),
            ("NO_COLOR", "When set, disables colours."),
        ], seeAlso: ["btcalld(8)", "btcalld.conf(5)", "btcall-sco-routing(8)"],
        exitCodes: [
            ("0", "Done."),
            ("1", "Refused or failed: standard error says why and what to do. With `btcall doctor`: a fault."),
            ("3", "btcalld is not running, or the bus cannot be reached."),
            ("64", "The command line is invalid."),
            ("127", "The program after `--` cannot be run; otherwise its status is that of btcall."),
        ], oldNames: OldVerbs.names)
}
