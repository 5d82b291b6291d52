package import ArgumentParser
import Spelling

/// What a shell reads to complete the command lines of a program.
package enum CompletionScript {
    /// - Parameter root: the program's first command, whose name is the program's.
    package static func text(for shell: CompletionShell, of root: any ParsableCommand.Type) -> String {
        let script = root.completionScript(for: shell)
        let program = root.configuration.commandName ?? ""
        // So the parser names its function.
        let function = "_" + program
        switch shell {
        case .bash: return script + bashColons(program, function)
        // Where in a word the cursor is, fish 3.6 says at a prompt only, and fails elsewhere; no offer depends on it.
        case .fish: return script.replacing("(_\(function)_tokens -tC)", with: "0") + "\n"
        default: return script + "\n"
        }
    }

    /// A shell by its name.
    ///
    /// - Throws: `ValidationError` naming all that is accepted.
    package static func shell(_ text: String) throws -> CompletionShell {
        guard let shell = CompletionShell(rawValue: text) else {
            let question = Suggestion.question(for: text, among: ["bash", "zsh", "fish"]).map { "; \($0)" } ?? ""
            throw ValidationError("accepted: bash, zsh, fish\(question)")
        }
        return shell
    }

    /// bash takes the colons of a device for ends of words. This puts the words together again, and takes from what is
    /// offered what is before the last colon.
    private static func bashColons(_ program: String, _ function: String) -> String {
        #"""

        \#(function)_with_colons() {
            local -a split=("${COMP_WORDS[@]}")
            local -i last="${COMP_CWORD}" index
            local word rest="${COMP_LINE}" joins=
            # \#(function) sees these instead of bash's.
            local -a COMP_WORDS=()
            local -i COMP_CWORD=0
            for index in "${!split[@]}"; do
                word="${split[index]}"
                # Nothing is between two parts of one word.
                if [[ -n "${joins}" && "${rest}" != [[:space:]]* && ("${word}" = :* || "${COMP_WORDS[COMP_CWORD]}" = *:) ]]; then
                    COMP_WORDS[COMP_CWORD]+="${word}"
                else
                    COMP_WORDS+=("${word}")
                    COMP_CWORD="${#COMP_WORDS[@]}-1"
                fi
                joins=1
                rest="${rest#"${rest%%[![:space:]]*}"}"
                rest="${rest#"${word}"}"
                ((index == last)) && break
            done
            word="${COMP_WORDS[COMP_CWORD]}"
            \#(function) "${1}" "${word}" "${COMP_WORDS[COMP_CWORD > 0 ? COMP_CWORD - 1 : 0]}"
            if [[ "${COMPREPLY[*]}" = *:* ]]; then
                # As names of files they would get a backslash before each colon.
                compopt +o filenames 2>/dev/null
                [[ "${word}" = *:* && "${COMP_WORDBREAKS}" = *:* ]] && COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*:}"}"}")
            fi
            return 0
        }
        complete -o filenames -F \#(function)_with_colons \#(program)

        """#
    }
}
