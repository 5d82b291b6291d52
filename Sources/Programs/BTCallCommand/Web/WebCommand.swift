import ArgumentParser

/// `btcall web`: verbs for the clients of btcall-web.
struct WebCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web", abstract: "Make tokens for clients of btcall-web.",
        discussion: """
            btcall-web serves web pages and programs over HTTP. A token says what a client may do, and until when.

            Example: btcall web token --scope read,calls --for 1h
            """,
        subcommands: [WebTokenCommand.self])
}
