"""Measures what btcalld costs on this machine, and compares it with the limits. Called by scripts/bench.

Usage: measure.py BTCALLD BTCALL SCO-REDIRECT BTCALL-VIDEO [--json FILE]

BTCALLD is the program as it is shipped: stripped, with the Swift library inside. It runs alone in its process; bluetoothd,
the headset, and the telephony application are others and are not counted. Of the voice link, the kernel's radio is replaced
by a local socket: the work of the Bluetooth driver is not in these figures. From the first idle figures on btcall-video
runs beside it: it costs nothing while no call has video.
"""

import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import dbus
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

STARTS = 10
IDLE_SECONDS = 10
CALL_SECONDS = 20
COUNT_SECONDS = 8
REMEMBERED = 8192  # events of a full flight recorder
HERE = os.path.dirname(os.path.abspath(__file__))


class Failure(Exception):
    pass


class Bench:
    rate = 16000  # of the call

    def __init__(self, daemon, command, redirect, video=None):
        self.daemon_program, self.command_program, self.redirect, self.video_program = daemon, command, redirect, video
        self.folder = tempfile.mkdtemp(prefix="btcall-bench-")
        self.address = f"unix:path={self.folder}/bus"
        self.sco = f"{self.folder}/sco"
        self.configuration = f"{self.folder}/btcalld.conf"
        with open(self.configuration, "w") as file:
            file.write(f"[daemon]\nlogLevel = notice\nstateDirectory = {self.folder}/state\n[audio]\nvoiceProcessing = none\n")
        self.started = []
        self.daemon = self.video = None

    # The processes

    def start_bus(self):
        with open(f"{self.folder}/bus.conf", "w") as file:
            file.write(
                f"<busconfig><type>session</type><listen>{self.address}</listen><auth>EXTERNAL</auth>"
                '<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>'
                '<allow own="*"/></policy></busconfig>')
        bus = subprocess.Popen(
            ["dbus-daemon", "--nofork", "--nopidfile", f"--config-file={self.folder}/bus.conf", "--print-address"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.started.append(bus)
        if not bus.stdout.readline():
            raise Failure("dbus-daemon does not start")
        DBusGMainLoop(set_as_default=True)
        self.bus = dbus.bus.BusConnection(self.address)
        self.context = GLib.MainContext.default()

    def start_headset(self, *words):
        self.headset = subprocess.Popen(
            [sys.executable, f"{HERE}/headset.py", self.address, self.sco, *words], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.started.append(self.headset)
        self.expect("ready")

    def expect(self, word):
        line = self.headset.stdout.readline().split()
        if not line or line[0] != word:
            raise Failure(f"the headset said {' '.join(line) or 'nothing'} where {word} was expected; see {self.folder}")
        return line

    def start_daemon(self, *tool):
        """Milliseconds from the start of the program, inside `tool` if given, to its name on the bus."""
        environment = dict(os.environ, LD_PRELOAD=self.redirect, BTCALL_BENCH_SCO=self.sco)
        named = []
        match = self.bus.add_signal_receiver(
            lambda name, old, new: named.append(time.monotonic()) if new else None, "NameOwnerChanged",
            "org.freedesktop.DBus", "org.freedesktop.DBus", arg0="org.btcall")
        self.bus.get_name_owner("org.freedesktop.DBus")  # The match is in force when this is answered.
        log = os.open(f"{self.folder}/btcalld.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        words = [*tool, self.daemon_program, "--config", self.configuration, "--bus", self.address, "--foreground"]
        began = time.monotonic()
        self.daemon = os.posix_spawn(
            words[0], words, environment, file_actions=[(os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2)])
        os.close(log)
        while not named:
            if time.monotonic() > began + 30:
                raise Failure(f"btcalld did not take its name: see {self.folder}/btcalld.log")
            self.context.iteration(False) or time.sleep(0.0001)
        match.remove()
        self.expect("profile")
        return 1000 * (named[0] - began)

    def start_video(self):
        """btcall-video, which btcalld does not start."""
        with open(f"{self.folder}/video.conf", "w"), open(f"{self.folder}/btcall-video.log", "w") as log:
            self.video = subprocess.Popen(
                [self.video_program, "--bus", self.address, "--config", f"{self.folder}/video.conf", "--state",
                 f"{self.folder}/video", "--foreground"], stderr=log)
        self.started.append(self.video)
        began = time.monotonic()
        while not self.bus.name_has_owner("org.btcall.Video"):
            if time.monotonic() > began + 30:
                raise Failure(f"btcall-video did not take its name: see {self.folder}/btcall-video.log")
            time.sleep(0.1)
        time.sleep(5)

    def cameras(self):
        """How many camera nodes btcall-video has open."""
        base = f"/proc/{self.video.pid}/fd"
        return sum(os.path.realpath(f"{base}/{name}").startswith("/dev/video") for name in os.listdir(base))

    def stop_daemon(self):
        os.kill(self.daemon, signal.SIGTERM)
        os.waitpid(self.daemon, 0)
        self.daemon = None

    def btcall(self, *words):
        return subprocess.Popen(
            [self.command_program, *words, "--bus", self.address], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True)

    def end(self):
        if self.daemon:
            self.stop_daemon()
        for process in reversed(self.started):
            process.terminate()
            process.wait()

    # Figures from /proc

    def memory(self):
        with open(f"/proc/{self.daemon}/status") as file:
            fields = dict(line.split(":", 1) for line in file)
        return {"anonymous": int(fields["RssAnon"].split()[0]) * 1024 / 1e6,
                "resident": int(fields["VmRSS"].split()[0]) * 1024 / 1e6, "threads": int(fields["Threads"])}

    @staticmethod
    def threads(process):
        """Per thread: processor seconds, and number of switches away from it."""
        result = {}
        for task in os.listdir(f"/proc/{process}/task"):
            base = f"/proc/{process}/task/{task}"
            with open(f"{base}/comm") as file:
                name = file.read().strip()
            with open(f"{base}/schedstat") as file:
                seconds = int(file.read().split()[0]) / 1e9
            with open(f"{base}/status") as file:
                switches = sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)
            result[name if name not in result else f"{name} {task}"] = (seconds, switches)
        return result

    def observe(self, seconds):
        """Per thread and second: CPU in microseconds, switches; and instructions of the process, if counted."""
        counter = None
        if shutil.which("perf"):
            counter = subprocess.Popen(
                ["perf", "stat", "-x", ",", "-e", "instructions:u", "-p", str(self.daemon), "sleep", str(seconds)],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        watched = [self.daemon] + ([self.video.pid] if self.video else [])
        before, began = [self.threads(process) for process in watched], time.monotonic()
        time.sleep(seconds)
        after, length = [self.threads(process) for process in watched], time.monotonic() - began
        instructions = None
        if counter:
            line = re.search(r"^(\d+),", counter.communicate()[1], re.M)
            instructions = int(line[1]) / seconds if line else None
        rates = [{
            name: ((new[name][0] - old[name][0]) * 1e6 / length, (new[name][1] - old[name][1]) / length)
            for name in new if name in old} for old, new in zip(before, after)]
        self.video_rates = self.sums(rates[1]) if self.video else None
        return rates[0], instructions

    @staticmethod
    def sums(rates):
        return {"wake-ups": sum(rate[1] for rate in rates.values()), "cpu": sum(rate[0] for rate in rates.values())}

    # Measurements

    def run(self):
        result = {"size": os.path.getsize(self.daemon_program) / 1e6}
        self.start_bus()
        self.start_headset()
        times = []
        for _ in range(STARTS):
            times.append(self.start_daemon())
            self.stop_daemon()
        result["start"], result["start worst"] = statistics.median(times), max(times)
        self.start_daemon()
        self.connect_headset()
        # The last that a connection causes is the check for missing profiles, after 6 s; from then on nothing may happen.
        time.sleep(8)
        rates, _ = self.observe(IDLE_SECONDS)
        result["idle"] = self.memory() | self.sums(rates)
        if self.video_program:
            self.start_video()
            time.sleep(2)  # It asks the daemon for what there is.
            rates, _ = self.observe(IDLE_SECONDS)
            result["video"] = {"daemon": self.sums(rates), "idle": self.video_rates, "cameras": self.cameras()}
        self.call(result)
        result["recorder"] = self.fill_recorder()
        if result["call"]["instructions"] is None and shutil.which("callgrind_control"):
            self.stop_daemon()
            result["call"]["instructions"] = self.count_instructions()
        return result

    def fill_recorder(self):
        """MB of anonymous memory of a full flight recorder: every preference set is an event."""
        router = self.bus.get_object("org.btcall", "/org/btcall/router")
        before = self.memory()["anonymous"]
        for number in range(REMEMBERED):
            router.Set("org.btcall.Router1", "Preferred", ("bluetooth", "none")[number % 2],
                       dbus_interface="org.freedesktop.DBus.Properties")
        return self.memory()["anonymous"] - before

    def tell_headset(self, *words):
        print(*words, file=self.headset.stdin, flush=True)

    def connect_headset(self, number=1):
        self.tell_headset("connect", number)
        self.expect("connected")

    def begin_call(self, seconds):
        if self.btcall("prefer", "bluetooth").wait() != 0:
            raise Failure("btcall prefer bluetooth failed")
        call = self.btcall("test-call", "--outgoing", "--far-end", "tone:440", "--rate", str(self.rate),
                           "--seconds", str(seconds + 8), "--json")
        self.started.append(call)
        self.expect("link")
        time.sleep(3)
        return call

    def count_instructions(self):
        """Instructions per second of the process alone; a separate run under callgrind, which is slow and counts exactly."""
        self.start_daemon(shutil.which("valgrind"), "--tool=callgrind", "--instr-atstart=no",
                          f"--callgrind-out-file={self.folder}/callgrind")
        self.connect_headset()
        call = self.begin_call(COUNT_SECONDS)
        times = []
        for switch in ("on", "off"):
            subprocess.run(["callgrind_control", "-i", switch, str(self.daemon)], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=True)
            times.append(time.monotonic())
            if switch == "on":
                time.sleep(COUNT_SECONDS)
        call.wait()
        self.expect("closed")
        self.stop_daemon()
        with open(f"{self.folder}/btcalld.log") as file:
            collected = re.findall(r"Collected : (\d+)", file.read())
        return int(collected[-1]) / (times[1] - times[0]) if collected else None

    def call(self, result):
        call = self.begin_call(CALL_SECONDS)
        rates, instructions = self.observe(CALL_SECONDS)
        status = json.loads(self.btcall("status", "--json").communicate()[0])
        if status["codec"] != "mSBC" or not status["route"].startswith("bluetooth:"):
            raise Failure(f"the call is on {status['route']} with {status['codec']}: see {self.folder}/btcalld.log")
        statistics_ = self.bus.get_object("org.btcall", "/org/btcall/audio").Get(
            "org.btcall.Audio1", "Statistics", dbus_interface="org.freedesktop.DBus.Properties")
        if self.video:
            result["video"]["call"] = self.video_rates
        result["call"] = self.memory() | self.sums(rates) | {
            "threads by name": rates, "instructions": instructions, "lost": int(statistics_["lost"]),
            "realtime": bool(statistics_["realtime"])}
        call.wait()
        _, received, sent = self.expect("closed")
        result["call"]["packets"] = [int(received), int(sent)]


def print_table(result):
    """MB are 1 000 000 bytes."""
    idle, call = result["idle"], result["call"]
    instructions = call["instructions"]
    rows = [
        ("size, stripped, Swift library inside", f"{result['size']:.2f} MB", "10 MB", result["size"] <= 10),
        (f"start to bus name, median of {STARTS}", f"{result['start']:.1f} ms", "30 ms", result["start"] <= 30),
        ("  the slowest", f"{result['start worst']:.1f} ms", "", None),
        ("anonymous memory, idle", f"{idle['anonymous']:.2f} MB", "3 MB", idle["anonymous"] <= 3),
        ("resident memory, idle", f"{idle['resident']:.2f} MB", "12 MB", idle["resident"] <= 12),
        ("threads", f"{idle['threads']}", "2", idle["threads"] <= 2),
        (f"wake-ups, idle, over {IDLE_SECONDS} s", f"{idle['wake-ups']:.1f} /s", "0 /s", idle["wake-ups"] < 0.05),
        ("CPU, idle", f"{idle['cpu']:.0f} µs/s", "", None),
        ("anonymous memory, mSBC call", f"{call['anonymous']:.2f} MB", "", None),
        ("resident memory, mSBC call", f"{call['resident']:.2f} MB", "16 MB", call["resident"] <= 16),
        (f"CPU, mSBC call, over {CALL_SECONDS} s", f"{call['cpu'] / 1000:.2f} ms/s", "BlueALSA's", None),
    ]
    rows += [(f"  thread {name}", f"{rate[0] / 1000:.2f} ms/s", "", None)
             for name, rate in sorted(call["threads by name"].items())]
    rows += [
        ("wake-ups, mSBC call", f"{call['wake-ups']:.0f} /s", "", None),
        ("instructions of its own, mSBC call",
         f"{instructions / 1e6:.1f} M/s" if instructions else "not available", "", None),
        (f"anonymous memory for {REMEMBERED} routing events", f"{result['recorder']:.2f} MB", "", None),
        ("losses of our own in the call", f"{call['lost']}", "0", call["lost"] == 0),
    ]
    if "video" in result:
        video = result["video"]
        rows += [
            ("wake-ups, idle, with btcall-video", f"{video['daemon']['wake-ups']:.1f} /s", "0 /s",
             video["daemon"]["wake-ups"] < 0.05),
            ("wake-ups of btcall-video, idle", f"{video['idle']['wake-ups']:.1f} /s", "0 /s",
             video["idle"]["wake-ups"] < 0.05),
            ("cameras that it holds, idle", f"{video['cameras']}", "0", video["cameras"] == 0),
            ("its wake-ups, call without video", f"{video['call']['wake-ups']:.1f} /s", "0 /s",
             video["call"]["wake-ups"] < 0.5),
            ("its CPU, call without video", f"{video['call']['cpu']:.0f} µs/s", "", None),
        ]
    print(f"{'':41}{'measured':>15}   {'target':12}")
    for name, value, target, passed in rows:
        verdict = "" if passed is None else "ok" if passed else "MISSED"
        print(f"{name:41}{value:>15}   {target:12}{verdict}".rstrip())
    print(f"packets of the link: {call['packets'][1]} to the daemon, {call['packets'][0]} from it")
    if not call["realtime"]:
        print("The audio thread had no real-time priority: run this as root, or with a limit for rtprio of 20.")
    if not instructions:
        print("Instructions are not available: neither `perf` with a counter (virtual machines rarely have one) nor "
              "valgrind.")
    print("The target for CPU is a comparison with BlueALSA side by side: scripts/bench peers.")


def main():
    words = sys.argv[1:]
    report = words.pop(words.index("--json") + 1) if "--json" in words else None
    bench = Bench(*[os.path.abspath(word) for word in words if word != "--json"])
    try:
        result = bench.run()
    except Failure as failure:
        sys.exit(f"measure.py: {failure}")
    finally:
        bench.end()
    shutil.rmtree(bench.folder, ignore_errors=True)
    print_table(result)
    if report:
        with open(report, "w") as file:
            json.dump(result, file, indent=2)


if __name__ == "__main__":
    main()
