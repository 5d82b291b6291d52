import ArgumentParser
import CommandKit

struct LabCompletionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "completions", abstract: "Print a shell's completion script for btcall-lab.",
        discussion: """
            scripts/install installs it for all users.

            Example: source <(btcall-lab completions bash)
            """)

    @Argument(
        help: "bash, zsh or fish.", completion: .list(["bash", "zsh", "fish"]), transform: CompletionScript.shell)
    var shell: CompletionShell

    func run() {
        Output.terminal.write(CompletionScript.text(for: shell, of: LabEntry.self))
    }
}
