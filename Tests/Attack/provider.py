"""A telephony application with one call: writes one 10 ms block for each that it reads, and counts missing ones."""
import socket
import time

from bus import CALLS, NAME, Client, Refused, member
from jeepney.low_level import MessageType
from users import MEMBER, Process, serve

PATH = "/attack/provider"
RATE = 16000
NUMBER, PERSON = "0301234567", "Alice Example"
BLOCK = bytes(RATE // 100 * 2)
# Seconds between two blocks from which on one counts as missing: the most that an application buffers.
GAP = 0.06
PRIORITY = 5


class Provider:
    def __init__(self, path):
        self.bus = Client(path)
        self.audio, self.path, self.ended = None, None, []
        self.begin()
        self.bus.call(NAME, CALLS, "org.btcall.Calls1", "RegisterProvider", "oa{sv}",
                      (PATH, {"name": ("s", "attacked"), "rate": ("u", RATE),
                              "capabilities": ("as", ["hold", "dtmf", "dial", "mute"])}))

    def serve(self, channel):
        serve(channel, {"call": self.call, "begin": self.begin, "again": self.again, "counts": self.counts}, self.sources)

    def sources(self):
        return [(self.bus, self.read)] + ([(self.audio, self.exchange)] if self.audio else [])

    def call(self):
        """Begins an active call unless there is one; returns its object path."""
        if not self.path:
            self.path = self.bus.call(NAME, CALLS, "org.btcall.Calls1", "ReportOutgoing", "osa{sv}",
                                      (PATH, NUMBER, {"state": ("s", "active"), "name": ("s", PERSON)}))[0]
            self.read()
        return self.path

    def again(self):
        """Ends the call and begins another one, because somebody has held it."""
        try:
            self.bus.call(NAME, self.path, "org.btcall.Call1", "Update", "sa{sv}", ("ended", {}))
        except Refused:
            # It has already ended.
            pass
        self.read()
        self.path = None
        return self.call()

    def begin(self):
        self.blocks, self.gaps, self.longest, self.last, self.since = 0, 0, 0.0, None, time.monotonic()

    def counts(self):
        self.note_gap()
        return {"blocks": self.blocks, "gaps": self.gaps, "longest": self.longest, "audio": self.audio is not None,
                "seconds": time.monotonic() - self.since, "path": self.path, "age": time.monotonic() - (self.last or 0)}

    def read(self):
        for content in self.bus.inbox + self.bus.read():
            if content.header.message_type is MessageType.method_call:
                self.take(content)
            elif member(content) == "CallRemoved" and content.body[0] == self.path:
                self.path = None
        self.bus.inbox = []

    def take(self, content):
        word = member(content)
        if word == "AudioReady":
            if self.audio:
                self.audio.close()
            self.audio = socket.socket(fileno=content.body[1])
            self.audio.setblocking(False)
        elif word == "PerformEnd" and content.body[0] == self.path:
            self.path = None
        elif word == "PerformStart":
            return self.bus.refuse(content, "org.btcall.Error.NotSupported", "one call is enough")
        self.bus.reply(content)

    def exchange(self):
        """Reads the received blocks, and writes as many."""
        try:
            while True:
                block = self.audio.recv(8192)
                if not block:
                    self.audio.close()
                    self.audio, self.last = None, None
                    return
                self.note_gap()
                self.blocks, self.last = self.blocks + 1, time.monotonic()
                self.audio.send(BLOCK)
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self.audio.close()
            self.audio, self.last = None, None

    def note_gap(self):
        if self.last:
            gap = time.monotonic() - self.last
            self.longest = max(self.longest, gap)
            self.gaps += gap > GAP


def start(path):
    provider = Process(lambda channel: Provider(path).serve(channel), MEMBER, PRIORITY)
    provider.ask("begin")
    return provider


def counted(statistics, path):
    """The daemon's counters of that call: (missing, dropped); None when it exchanges no audio."""
    for call in statistics["calls"][1]:
        if call["call"][1] == path:
            return call["missing"][1], call["dropped"][1]
    return None
