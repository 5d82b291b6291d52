import ArgumentParser
import CommandKit

struct CompletionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "completions", abstract: "Print a shell's completion script for btcall.",
        discussion: """
            The package installs it for all users. Devices, calls and keys come from the running btcalld.

            Examples:
              source <(btcall completions bash)
              btcall completions zsh >~/.zsh/completions/_btcall
              btcall completions fish >~/.config/fish/completions/btcall.fish
            """)

    @Argument(
        help: "bash, zsh or fish.", completion: .list(["bash", "zsh", "fish"]), transform: CompletionScript.shell)
    var shell: CompletionShell

    func run() {
        Output.terminal.write(CompletionScript.text(for: shell, of: Entry.self))
    }
}
