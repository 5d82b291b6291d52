package import ArgumentParser
import Spelling

/// A shell's completion script for a program.
package enum CompletionScript {
    /// - Parameter root: the program's first command; its name is the program's.
    package static func text(for shell: CompletionShell, of root: any ParsableCommand.Type) -> String {
        let script = root.completionScript(for: shell)
        let program = root.configuration.commandName ?? ""
        // The parser's name for the function.
        let function = "_" + program
        switch shell {
        case .bash: return script + bashColons(program, function)
        // fish 3.6 reports the cursor's position in a word at a prompt only, and fails elsewhere; no candidate depends on
        // it.
        case .fish: return script.replacing("(_\(function)_tokens -tC)", with: "0") + "\n"
        default: return script + "\n"
        }
    }

    /// Finds a shell by its name.
    ///
    /// - Throws: `ValidationError` naming the accepted shells.
    package static func shell(_ text: String) throws -> CompletionShell {
        guard let shell = CompletionShell(rawValue: text) else {
            let question = Suggestion.question(for: text, among: ["bash", "zsh", "fish"]).map { "; \($0)" } ?? ""
            throw ValidationError("accepted: bash, zsh, fish\(question)")
        }
        return shell
    }

    /// bash splits words at the colons of a device. This joins the words again, and removes the text before the last colon
    /// from the candidates.
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
