"""Descriptors that harm any process that closes, reads or writes them."""
import os
import socket
import struct

# Seconds that closing the last reference takes.
LINGER = 8


def lingering(seconds=LINGER):
    """A local TCP socket whose last close takes this long, and the socket that must stay open for that."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(1)
    sending = socket.socket()
    sending.connect(listener.getsockname())
    receiving, _ = listener.accept()
    listener.close()
    sending.setblocking(False)
    try:
        while True:
            sending.send(bytes(1 << 16))
    except BlockingIOError:
        pass
    sending.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, seconds))
    return sending, receiving


def many():
    """One of each kind, to be closed by the caller: pairs of a name and a descriptor."""
    reading, writing = os.pipe()
    stream, other = socket.socketpair()
    shut, end = socket.socketpair()
    end.close()
    other.close()
    return [("a pipe's end to read", reading), ("a pipe's end to write", writing), ("a socket whose other end is closed", stream.detach()),
            ("another of them", shut.detach()), ("/dev/null", os.open("/dev/null", os.O_RDWR)),
            ("a directory", os.open("/", os.O_RDONLY)), ("an O_PATH", os.open("/", os.O_PATH)),
            ("a datagram socket", socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).detach()),
            ("a listening socket", listening()), ("a memory", os.memfd_create("x")), ("an eventfd", os.eventfd(0))]


def listening():
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind("")
    listener.listen(1)
    return listener.detach()
