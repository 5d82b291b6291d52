"""What btcalld costs by size, with the exponent of each dimension. Called by scripts/bench sizes.

Usage: sizes.py BTCALLD BTCALL SCO-REDIRECT [--quick] [--only WORD] [--json FILE]

Headsets, calls, programs on the ALSA PCM and clients of the bus, each in several sizes while the rest stays as small as can be.
For each size a new bus, a new far side (headset.py) and a new daemon, the program as it is shipped, with a call on a headset
over mSBC: processor, memory, and the time until a headset has the OK of AT+CIND? and a program the reply to Properties.Get.
Prints a table in Markdown. --quick measures the smallest and the largest size, for a shorter time, to see that it works; --only
the dimensions whose names contain WORD. The application, the programs and the clients are other processes of this machine and
are not counted. btcalld keeps one voice link at a time: of several connected headsets one carries the call.
"""

import dataclasses
import functools
import json
import math
import os
import select
import shutil
import signal
import socket
import statistics
import struct
import sys
import time

import measure

sys.path.insert(0, os.path.join(measure.HERE, "..", "Attack"))
import bus
import pcm
import users

RATE, PCM_RATE = 16000, 48000
# 10 ms of a tone of 444 Hz.
BLOCK = b"".join(struct.pack("<h", 6000 if at // 18 % 2 else -6000) for at in range(RATE // 100))
APPLICATION = "/sizes/application"
QUESTION = (bus.NAME, bus.ROUTER, bus.PROPERTIES, "Get", "ss", ("org.btcall.Router1", "ActiveRoute"))
# Of an application's audio, as in the lab.
PRIORITY = 5
# One process may have 8 of the 16 streams.
STREAMS_OF_A_PROCESS = 8
# Below the limit of 50 AT commands a second; a program may ask faster.
COMMAND_MILLISECONDS, QUESTION_SECONDS = 25, 0.01
PARTS = 5
# Seconds that one size may take.
LIMIT = 150
# A cost that changes by less than this share from the smallest to the largest size counts as constant.
GROWTH = 0.05


@dataclasses.dataclass(frozen=True)
class Size:
    known: int = 1
    connected: int = 1
    calls: int = 1
    programs: int = 0
    clients: int = 0


# Name, one size of it, all sizes.
DIMENSIONS = [
    ("headsets known", lambda n: Size(known=n), (1, 2, 4, 8, 16, 32)),
    ("headsets connected", lambda n: Size(known=n, connected=n), (1, 2, 3)),
    ("calls", lambda n: Size(calls=n), (1, 2, 4, 7)),
    ("programs on the PCM", lambda n: Size(programs=n), (1, 2, 4, 8, 16)),
    ("clients of the bus", lambda n: Size(clients=n), (1, 3, 10, 30, 100)),
]
# Name, key, digits after the point.
COLUMNS = [
    ("processor, ms/s", "processor", 2), ("resident, MB", "resident", 2), ("anonymous, MB", "anonymous", 2),
    ("AT command, µs", "at", 0), ("99 %", "at 99", 0), ("bus call, µs", "bus", 0), ("99 %", "bus 99", 0),
]


class Application:
    """A telephony application with active calls: answers each block of audio with one."""

    def __init__(self, path, options):
        self.bus, self.sockets = bus.Client(path), []
        self.bus.call(bus.NAME, bus.CALLS, "org.btcall.Calls1", "RegisterProvider", "oa{sv}",
                      (APPLICATION, {"name": ("s", "sizes")} | options))

    def serve(self, channel):
        users.serve(channel, {"begin": self.begin, "sockets": lambda: len(self.sockets)}, self.sources)

    def sources(self):
        return [(self.bus, self.read)] + [(audio, functools.partial(self.exchange, audio)) for audio in self.sockets]

    def begin(self, count):
        for number in range(count):
            self.bus.call(bus.NAME, bus.CALLS, "org.btcall.Calls1", "ReportOutgoing", "osa{sv}",
                          (APPLICATION, str(1001 + number), {"state": ("s", "active")}))
            self.read()

    def read(self):
        for content in self.bus.inbox + self.bus.read():
            if content.header.message_type is bus.MessageType.method_call:
                if bus.member(content) == "AudioReady":
                    audio = socket.socket(fileno=content.body[1])
                    audio.setblocking(False)
                    self.sockets.append(audio)
                self.bus.reply(content)
        self.bus.inbox = []

    def exchange(self, audio):
        try:
            while audio.recv(8192):
                audio.send(BLOCK)
        except BlockingIOError:
            return
        except OSError:
            pass
        # The audio has ended.
        self.sockets.remove(audio)
        audio.close()


class Programs:
    """Players and recorders on btcall:call in turn, which keep their rings full and empty."""

    def __init__(self, path, first, count):
        frames = PCM_RATE // 5
        self.streams = []
        for number in range(first, first + count):
            direction = (pcm.PLAYBACK, pcm.CAPTURE)[number % 2]
            stream = pcm.Stream(path, pcm.CALL, direction, b"sizes", PCM_RATE)
            os.set_blocking(stream.wakes, False)
            stream.ahead = 0
            if direction == pcm.PLAYBACK:
                stream.ahead = frames
                sound = BLOCK * math.ceil(2 * frames / len(BLOCK))
                stream.map[stream.offset:stream.offset + 2 * frames] = sound[:2 * frames]
            self.feed(stream)
            stream.say(pcm.START)
            self.streams.append(stream)

    def serve(self, channel):
        users.serve(channel, {"engaged": self.engaged}, self.sources)

    def sources(self):
        return [(stream.wakes, functools.partial(self.feed, stream)) for stream in self.streams]

    def feed(self, stream):
        try:
            while os.read(stream.wakes, 4096):
                pass
        except BlockingIOError:
            pass
        stream.ring.application = stream.ring.hardware + stream.ahead

    def engaged(self):
        """How many streams the daemon is the clock of."""
        return sum(stream.ring.engagement % 2 for stream in self.streams)


class Clients:
    """Programs that follow btcalld's signals, and ask for the route once a second, one after the other."""

    def __init__(self, path, count):
        self.clients = [bus.Client(path) for _ in range(count)]
        for client in self.clients:
            client.call(*bus.DRIVER, "AddMatch", "s", (f"type='signal',sender='{bus.NAME}'",))
        self.question = bus.call_message(*QUESTION)
        self.began, self.asked, self.answered = time.monotonic(), 0, 0

    def serve(self, channel):
        users.serve(channel, {"answered": lambda: self.answered}, self.sources, self.tick, interval=0.005)

    def sources(self):
        return [(client, functools.partial(self.read, client)) for client in self.clients]

    def read(self, client):
        self.answered += sum(bus.serial_answered(content) is not None for content in client.read())

    def tick(self):
        due = int((time.monotonic() - self.began) * len(self.clients))
        while self.asked < due:
            self.clients[self.asked % len(self.clients)].send(self.question)
            self.asked += 1


class SizeBench(measure.Bench):
    """One size: `run` starts everything, and returns its figures."""

    def __init__(self, size, *programs):
        super().__init__(*programs)
        self.size, self.helpers = size, []
        self.pcm = f"{self.folder}/pcm.sock"
        with open(self.configuration, "a") as file:
            file.write(f"pcmSocket = {self.pcm}\n[bluetooth]\nreconnect = no\nprofileCheckSeconds = 0\n")

    def help(self, work, priority=None):
        self.helpers.append(users.Process(work, None, priority))
        return self.helpers[-1]

    def run(self, settle, seconds, samples):
        """- Parameters:
          - settle: seconds for what a connection and a link do once.
          - seconds: for which the processor is counted.
          - samples: of each latency.
        """
        path = f"{self.folder}/bus"
        self.start_bus()
        self.start_headset(f"headsets={self.size.known}")
        self.start_daemon()
        for number in range(1, self.size.connected + 1):
            self.connect_headset(number)
        if self.btcall("prefer", "bluetooth").wait() != 0:
            raise measure.Failure("btcall prefer bluetooth failed")
        time.sleep(settle)
        options = {"audio": ("s", "pcm")} if self.size.programs else {"rate": ("u", RATE)}
        self.application = self.help(lambda channel: Application(path, options).serve(channel), PRIORITY)
        self.application.ask("begin", self.size.calls)
        self.hear("link")
        self.players = []
        for first in range(0, self.size.programs, STREAMS_OF_A_PROCESS):
            count = min(STREAMS_OF_A_PROCESS, self.size.programs - first)
            self.players.append(self.help(functools.partial(self.play, first, count), PRIORITY))
        self.clients = None
        if self.size.clients:
            self.clients = self.help(lambda channel: Clients(path, self.size.clients).serve(channel))
        time.sleep(settle)
        memory = self.memory()
        figures = {"resident": memory["resident"], "anonymous": memory["anonymous"], "processor": self.processor(seconds)}
        figures |= self.times("at", self.ask_headset(samples)) | self.times("bus", self.ask_bus(path, samples))
        self.check()
        return figures | {"lost": self.lost(), "size": dataclasses.asdict(self.size)}

    def play(self, first, count, channel):
        Programs(self.pcm, first, count).serve(channel)

    def hear(self, word):
        """The headset's next line with that word: a link may have moved meanwhile."""
        while line := self.headset.stdout.readline().split():
            if line[0] == "refused":
                raise measure.Failure(f"the headset: {' '.join(line[1:]) or 'ERROR'}; see {self.folder}")
            if line[0] == word:
                return line
        raise measure.Failure(f"the far side has ended; see {self.folder}")

    def processor(self, seconds):
        """Milliseconds of a second that all threads of the daemon have a processor; the median of the parts."""
        parts = []
        for _ in range(PARTS):
            before, began = self.threads(self.daemon), time.monotonic()
            time.sleep(seconds / PARTS)
            after, length = self.threads(self.daemon), time.monotonic() - began
            parts.append(sum(after[name][0] - before[name][0] for name in after if name in before) * 1e3 / length)
        return statistics.median(parts)

    @staticmethod
    def times(name, microseconds):
        ordered = sorted(microseconds)
        return {name: statistics.median(ordered), f"{name} 99": ordered[math.ceil(0.99 * len(ordered)) - 1]}

    def ask_headset(self, samples):
        self.tell_headset("ask", self.size.connected, samples, COMMAND_MILLISECONDS)
        return [float(word) for word in self.hear("asked")[1:]]

    def ask_bus(self, path, samples):
        """Microseconds from each question until its reply can be read: both ways through dbus-daemon."""
        client, question, times = bus.Client(path), bus.call_message(*QUESTION), []
        while client.read(0.2):
            pass
        hurry(os.SCHED_RR, 10)
        try:
            for number in range(samples):
                data = question.serialise(client.serial + 1 + number)
                time.sleep(QUESTION_SECONDS)
                began = time.monotonic()
                client.socket.sendall(data)
                if not select.select([client], [], [], 5)[0]:
                    raise measure.Failure(f"no reply to Properties.Get; see {self.folder}/btcalld.log")
                times.append(1e6 * (time.monotonic() - began))
                if [bus.serial_answered(content) for content in client.read()] != [client.serial + 1 + number]:
                    raise measure.Failure(f"another message than the reply; see {self.folder}/btcalld.log")
        finally:
            hurry(os.SCHED_OTHER, 0)
            client.close()
        return times

    def lost(self):
        """Samples that the daemon itself lost in the call."""
        audio = self.bus.get_object("org.btcall", "/org/btcall/audio")
        return int(audio.Get("org.btcall.Audio1", "Statistics", dbus_interface=bus.PROPERTIES)["lost"])

    def check(self):
        """Whether everything that should have run has run."""
        status = json.loads(self.btcall("status", "--json").communicate()[0])
        if status["codec"] != "mSBC" or not (status["route"] or "").startswith("bluetooth:"):
            raise measure.Failure(f"the call is on {status['route']} with {status['codec']}: see {self.folder}/btcalld.log")
        for what, wanted, found in (
                ("calls with audio", 0 if self.size.programs else self.size.calls, self.application.ask("sockets")[0]),
                ("running streams", self.size.programs, sum(player.ask("engaged")[0] for player in self.players))):
            if found != wanted:
                raise measure.Failure(f"{what}: {found}, not {wanted}; see {self.folder}/btcalld.log")
        if self.clients and not self.clients.ask("answered")[0]:
            raise measure.Failure("the clients got no answers")

    def end(self):
        for helper in self.helpers:
            helper.end()
        super().end()


def hurry(policy, priority):
    try:
        os.sched_setscheduler(0, policy, os.sched_param(priority))
    except PermissionError:
        pass  # Without real-time priority the times of this process are in the figures as well.


def line(points):
    """Of the straight line with the least squares: its slope, and the sum of the squares that remain."""
    middle_x, middle_y = (statistics.mean(values) for values in zip(*points))
    slope = (sum((x - middle_x) * (y - middle_y) for x, y in points) / sum((x - middle_x) ** 2 for x, _ in points))
    return slope, sum((y - middle_y - slope * (x - middle_x)) ** 2 for x, y in points)


def exponents(costs):
    """Of the whole cost, and p of constant + factor * size^p, the constant fitted; as text.

    - Parameter costs: pairs of a size and its cost, at least two, the smallest size first.
    """
    whole, _ = line([(math.log(size), math.log(cost)) for size, cost in costs if cost > 0])
    least, most = costs[0][1], costs[-1][1]
    if abs(most - least) <= GROWTH * least:
        return f"{whole:.2f} (constant)"
    # Two points fit every exponent.
    if len(costs) < 3:
        return f"{whole:.2f}"
    grown = min((hundredth / 100 for hundredth in range(10, 301)),
                key=lambda power: line([(size ** power, cost) for size, cost in costs])[1])
    return f"{whole:.2f} ({grown:.2f})"


def growth(costs, digits):
    """What one more costs on average, in the unit of the column."""
    (first, least), (last, most) = costs[0], costs[-1]
    return f"{(most - least) / (last - first):+.{digits + 1}f}"


def table(results):
    """Markdown: a row for each size, and for each dimension its exponents and what one more costs."""
    lines = ["| Size | " + " | ".join(name for name, *_ in COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    for name, sizes in results.items():
        for size, figures in sizes:
            lines.append(f"| {name}: {size} | " + " | ".join(
                f"{figures[key]:.{digits}f}" for _, key, digits in COLUMNS) + " |")
        if len(sizes) > 1:
            columns = [([(size, figures[key]) for size, figures in sizes], digits) for _, key, digits in COLUMNS]
            lines.append("| **exponent** | " + " | ".join(exponents(costs) for costs, _ in columns) + " |")
            lines.append("| one more | " + " | ".join(growth(*column) for column in columns) + " |")
    return "\n".join(lines)


def too_long(*_):
    raise measure.Failure(f"one size took longer than {LIMIT} s")


def measured(size, programs, effort):
    machine = SizeBench(size, *programs)
    signal.alarm(LIMIT)
    try:
        figures = machine.run(*effort)
    finally:
        signal.alarm(0)
        machine.end()
    shutil.rmtree(machine.folder, ignore_errors=True)
    return figures


def main():
    words = sys.argv[1:]
    report = words.pop(words.index("--json") + 1) if "--json" in words else None
    only = words.pop(words.index("--only") + 1) if "--only" in words else ""
    is_quick = "--quick" in words
    programs = [os.path.abspath(word) for word in words if not word.startswith("--")]
    # Seconds to settle and to count the processor, and samples of each latency.
    effort = (1.5, 2, 40) if is_quick else (3, 10, 400)
    signal.signal(signal.SIGALRM, too_long)
    results, lost = {}, 0
    for name, size_of, sizes in DIMENSIONS:
        if only not in name:
            continue
        results[name] = []
        for number in (sizes[0], sizes[-1]) if is_quick else sizes:
            try:
                figures = measured(size_of(number), programs, effort)
            except (measure.Failure, users.Failed) as failure:
                sys.exit(f"sizes.py: {name}, {number}: {failure}")
            results[name].append((number, figures))
            lost += figures["lost"]
            print(f"{name}: {number}: {figures['processor']:.2f} ms/s", file=sys.stderr, flush=True)
    print(table(results))
    print("\nExponent: slope of the logarithm of the cost over that of the size. In brackets: p of the best constant + factor *"
          f"\nsize^p; constant: from the smallest to the largest size the cost changes by no more than {GROWTH:.0%}.")
    if lost:
        print(f"The daemon lost {lost} samples in these calls: the machine is too busy to be measured.")
    if report:
        with open(report, "w") as file:
            json.dump(results, file, indent=2)


if __name__ == "__main__":
    main()
