"""zsh-line.py DIRECTORY LINE: types LINE to a zsh that has the completions of DIRECTORY, has it completed, and prints the last word then.

Prints nothing when the line stays as it was; a zsh that has no _btcall prints that instead."""

import os
import pty
import select
import sys
import tempfile

# Timeout of one step of zsh in seconds.
PATIENCE = 60


def until(terminal, end, said):
    """Reads zsh's output until the file `end` exists: zsh creates it when it has processed the typed line."""
    waited = 0
    while not os.path.exists(end):
        if select.select([terminal], [], [], 0.1)[0]:
            said += os.read(terminal, 4096)
        else:
            waited += 0.1
            if waited > PATIENCE:
                sys.exit("zsh does not come to an end: " + said.decode(errors="replace"))
    return said


def main(directory, line):
    place = tempfile.mkdtemp()
    ready, done = os.path.join(place, "ready"), os.path.join(place, "done")
    with open(os.path.join(place, ".zshrc"), "w") as file:
        file.write(f"""
            PS1= RPS1=
            unset zle_bracketed_paste
            fpath=({directory} $fpath); autoload -U compinit; compinit -u -D
            finish() {{
                zle complete-word
                print -r -- "$BUFFER" >{done}.new
                (( $+functions[_btcall] )) || print -r -- "no _btcall" >{done}.new
                mv {done}.new {done}
            }}
            zle -N finish; bindkey '^T' finish
            begin() {{ touch {ready} }}
            zle -N zle-line-init begin
            """)
    os.environ.update(ZDOTDIR=place, TERM="dumb")
    child, terminal = pty.fork()
    if child == 0:
        os.execvp("zsh", ["zsh", "-d", "-i"])
    said = until(terminal, ready, b"")
    os.write(terminal, line.encode() + b"\x14")
    until(terminal, done, said)
    os.kill(child, 9)
    with open(done) as file:
        completed = file.read().strip("\n")
    if completed != line:
        words = completed.split()
        print(words[-1] if words else "")


main(*sys.argv[1:])
