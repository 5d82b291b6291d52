"""The client's side of the socket for programs on the ALSA PCM: hello, ring and messages."""
import ctypes
import mmap
import os
import socket
import struct

# Sources/C/CBTCall/include/pcm_protocol.h
MAGIC, VERSION = 0x4D435042, 1
HELLO = struct.Struct("=IIBBBBIII32s")
ANSWER = struct.Struct("=IIiII112s")
MESSAGE = struct.Struct("=IIi")
CALL, RING, PAGE, CONTROL = range(4)
PLAYBACK, CAPTURE = range(2)
START, STOP, VALUE = 1, 2, 3
RATES = [8000, 16000, 24000, 32000, 44100, 48000]


class Ring(ctypes.Structure):
    _fields_ = [("hardware", ctypes.c_uint64), ("application", ctypes.c_uint64), ("engagement", ctypes.c_uint32),
                ("latency", ctypes.c_uint32), ("missing", ctypes.c_uint64)]


def connect(path):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.settimeout(5)
    connection.connect(path)
    return connection


class Stream:
    """A stream of an accepted program: its ring, and the socket that wakes it."""

    def __init__(self, path, role=PAGE, direction=PLAYBACK, program=b"attack", rate=16000):
        self.connection = connect(path)
        self.connection.send(HELLO.pack(MAGIC, VERSION, role, direction, 0, 1, rate, rate // 50, rate // 5, program))
        answer, self.handed, _, _ = socket.recv_fds(self.connection, 256, 4)
        if len(answer) != ANSWER.size:
            raise ConnectionError("no answer")
        _, _, self.error, self.size, self.offset, self.reason = ANSWER.unpack(answer)
        if self.error:
            raise ConnectionError(self.reason.rstrip(b"\0").decode(errors="replace"))
        self.memory, self.wakes = self.handed
        self.map = mmap.mmap(self.memory, self.size)
        self.ring = Ring.from_buffer(self.map)

    def say(self, kind, element=0, value=0):
        self.connection.send(MESSAGE.pack(kind, element, value))

    def close(self):
        self.ring = None
        self.map.close()
        for descriptor in self.handed:
            os.close(descriptor)
        self.connection.close()
