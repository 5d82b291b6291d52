"""activate.py SOCKET... -- PROGRAM [ARGUMENT...]: opens sockets, and becomes PROGRAM with the first connection to one of them.

SOCKET is the path of a Unix socket, or ADDRESS:PORT=FILE: the port is written to FILE, which matters for port 0. The program gets
the sockets as a service manager passes them (sd_listen_fds(3)), and keeps this process's number.
"""

import os
import select
import socket
import sys

# The first descriptor that is passed.
FIRST = 3


def opened(word):
    if word.startswith("/"):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(word)
        os.chmod(word, 0o666)
    else:
        (address, port), file = word.split("=")[0].rsplit(":", 1), word.split("=")[1]
        listener = socket.socket(socket.AF_INET)
        listener.bind((address, int(port)))
        with open(file + ".new", "w") as number:
            number.write(str(listener.getsockname()[1]))
        os.rename(file + ".new", file)
    listener.listen(64)
    return listener


def main(words):
    place = words.index("--")
    listeners = [opened(word) for word in words[:place]]
    select.select(listeners, [], [])
    # Out of the way of the places they get.
    copies = [os.dup(listener.fileno()) for listener in listeners]
    high = [os.dup(copy) for copy in copies]
    while min(high) < FIRST + len(listeners):
        high = [os.dup(copy) for copy in high]
    for index, descriptor in enumerate(high):
        os.dup2(descriptor, FIRST + index, inheritable=True)
    os.environ.update(LISTEN_FDS=str(len(listeners)), LISTEN_PID=str(os.getpid()))
    program = words[place + 1 :]
    os.execvp(program[0], program)


main(sys.argv[1:])
