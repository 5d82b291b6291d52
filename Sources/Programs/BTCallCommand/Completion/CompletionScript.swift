import ArgumentParser

/// What a shell reads to complete the command lines of btcall.
enum CompletionScript {
    static func text(for shell: CompletionShell) -> String {
        let script = Entry.completionScript(for: shell)
        switch shell {
        case .bash: return script + bashColons
        // Where in a word the cursor is, fish 3.6 says at a prompt only, and fails elsewhere; no offer depends on it.
        case .fish: return script.replacing("(__btcall_tokens -tC)", with: "0") + "\n"
        default: return script + "\n"
        }
    }

    /// bash takes the colons of a device for ends of words. This puts the words together again, and takes from what is
    /// offered what is before the last colon.
    private static let bashColons = #"""

        _btcall_with_colons() {
            local -a split=("${COMP_WORDS[@]}")
            local -i last="${COMP_CWORD}" index
            local word rest="${COMP_LINE}" joins=
            # _btcall sees these instead of bash's.
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
            _btcall "${1}" "${word}" "${COMP_WORDS[COMP_CWORD > 0 ? COMP_CWORD - 1 : 0]}"
            if [[ "${COMPREPLY[*]}" = *:* ]]; then
                # As names of files they would get a backslash before each colon.
                compopt +o filenames 2>/dev/null
                [[ "${word}" = *:* && "${COMP_WORDBREAKS}" = *:* ]] && COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*:}"}"}")
            fi
            return 0
        }
        complete -o filenames -F _btcall_with_colons btcall

        """#
}
