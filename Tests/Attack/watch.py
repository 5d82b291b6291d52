"""The watch: observes the daemon and the machine during an attack, in a process of its own."""
import socket
import time

from bus import CALLS, DRIVER, NAME, PEER, PROPERTIES, ROOT, ROUTER, Client, call_message, sender, serial_answered
from jeepney.low_level import HeaderFields, MessageType
from users import MEMBER, STRANGER, Process, serve

# Seconds.
INTERVAL, AT_INTERVAL, LATEST = 0.02, 0.05, 5.0
PRIORITY = 4
# The bus allows a client 128 pending replies.
WAITING = 60
SET_UP = ["AT+BRSF=16", "AT+CIND=?", "AT+CIND?", "AT+CMER=3,0,0,1"]


class Latencies:
    """Response times in seconds. A request delayed by too many pending ones counts from its due time."""

    def __init__(self):
        self.took, self.waiting, self.unsent, self.wrong = [], {}, [], {}

    def answered(self, key, now):
        due = self.waiting.pop(key, None)
        if due is None:
            return
        self.took.append(now - due)
        while self.unsent and len(self.waiting) < WAITING:
            self.took.append(now - self.unsent.pop(0))

    def summary(self, now):
        late = [now - due for due in [*self.waiting.values(), *self.unsent]]
        times = sorted(self.took + [time for time in late if time > LATEST / 2])
        return {"count": len(times), "worst": times[-1] if times else 0.0, "wrong": self.wrong,
                "99": times[min(len(times) - 1, len(times) * 99 // 100)] if times else 0.0,
                "outstanding": max(late, default=0.0)}


class Asker:
    """Sends the same requests at fixed intervals, independently of the answers."""

    def __init__(self, path, user, questions):
        self.client = Client(path, user)
        # Its connection is read only when data has arrived; its messages are short.
        self.client.socket.settimeout(LATEST)
        self.questions, self.next, self.latencies, self.at = questions, time.monotonic(), Latencies(), 0

    def ask(self, now):
        while now >= self.next:
            if len(self.latencies.waiting) < WAITING:
                question = self.questions[self.at % len(self.questions)]
                self.at += 1
                self.latencies.waiting[self.client.send(call_message(*question))] = self.next
            else:
                self.latencies.unsent.append(self.next)
            self.next += INTERVAL

    def read(self):
        contents, now = self.client.read(), time.monotonic()
        for content in contents:
            serial = serial_answered(content)
            if serial in self.latencies.waiting and content.header.message_type is MessageType.error:
                name = content.header.fields[HeaderFields.error_name]
                by = "from the bus" if sender(content) == DRIVER[0] else "from the daemon"
                self.latencies.wrong["%s %s" % (name, by)] = self.latencies.wrong.get("%s %s" % (name, by), 0) + 1
            self.latencies.answered(serial, now)


class Headset:
    """A headset with a service level connection that requests the indicators at fixed intervals."""

    def __init__(self):
        self.socket, self.next, self.latencies, self.left, self.count = None, 0.0, Latencies(), SET_UP, 0
        self.text = b""

    def take(self, descriptors):
        self.socket, self.next = socket.socket(fileno=descriptors[0]), 0.0
        self.socket.setblocking(False)
        self.left, self.latencies, self.text = list(SET_UP), Latencies(), b""
        self.say(self.left.pop(0), time.monotonic())

    def say(self, line, due):
        self.count += 1
        try:
            self.socket.send(line.encode() + b"\r")
            self.latencies.waiting[self.count] = due
        except BlockingIOError:
            self.latencies.unsent.append(due)
        except OSError:
            self.lose()

    def lose(self):
        """Handles a hang-up: pending answers will not come."""
        self.socket.close()
        self.socket = None
        self.latencies.waiting, self.latencies.unsent = {}, []

    def is_set_up(self):
        return self.socket is not None and not self.left and not self.latencies.waiting

    def ask(self, now):
        if not self.socket or self.left or now < self.next:
            return
        due = max(self.next, now - LATEST)
        self.next = due + AT_INTERVAL if self.next else now + AT_INTERVAL
        if len(self.latencies.waiting) < 4:
            self.say("AT+CIND?", due if self.next else now)
        else:
            self.latencies.unsent.append(due)

    def read(self):
        try:
            data = self.socket.recv(8192)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            return self.lose()
        now, self.text = time.monotonic(), self.text + data
        *lines, self.text = self.text.replace(b"\n", b"\r").split(b"\r")
        for line in lines:
            if line in (b"OK", b"ERROR") and self.latencies.waiting:
                self.latencies.answered(min(self.latencies.waiting), now)
                if self.left:
                    self.say(self.left.pop(0), now)


class Watch:
    def __init__(self, path):
        self.askers = {
            "ping": Asker(path, STRANGER, [(NAME, ROOT, PEER, "Ping")]),
            "reads": Asker(path, MEMBER, [(NAME, CALLS, PROPERTIES, "Get", "ss", ("org.btcall.Calls1", "Calls")),
                                          (NAME, ROUTER, PROPERTIES, "Get", "ss", ("org.btcall.Router1", "ActiveRoute"))]),
            "bus": Asker(path, STRANGER, [(*DRIVER, "GetId")])}
        self.headset, self.woken, self.overshoot = Headset(), time.monotonic(), 0.0

    def serve(self, channel):
        serve(channel, {"headset": self.headset.take, "headset is set up": self.headset.is_set_up, "begin": self.begin,
                        "end": self.end},
              self.sources, self.tick, 0.005)

    def sources(self):
        sources = [(asker.client, asker.read) for asker in self.askers.values()]
        if self.headset.socket:
            sources.append((self.headset.socket, self.headset.read))
        return sources

    def tick(self):
        now = time.monotonic()
        # It wakes after at most 5 ms.
        self.overshoot, self.woken = max(self.overshoot, now - self.woken - 0.005), now
        for asker in self.askers.values():
            asker.ask(now)
        self.headset.ask(now)

    def begin(self):
        """Waits for the answers to earlier requests, without counting them."""
        for measured in [*self.askers.values(), self.headset]:
            measured.latencies.took, measured.latencies.wrong = [], {}
        self.woken, self.overshoot = time.monotonic(), 0.0

    def end(self):
        now = time.monotonic()
        summary = {name: asker.latencies.summary(now) for name, asker in self.askers.items()}
        summary["AT"] = self.headset.latencies.summary(now)
        summary["headset"], summary["overshoot"] = self.headset.socket is not None, self.overshoot
        return summary


def start(path):
    watch = Process(lambda channel: Watch(path).serve(channel), None, PRIORITY)
    watch.ask("begin")
    return watch
