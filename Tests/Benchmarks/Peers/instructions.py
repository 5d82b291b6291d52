"""Instructions that btcalld, BlueALSA and PipeWire take for a second of the same call, on this machine.

Usage: instructions.py BTCALLD BTCALL SCO-REDIRECT PROGRAMS [--json FILE]

PROGRAMS is the folder of peer-alsa, peer-pipewire and hci-redirect.so. Each daemon runs under callgrind, with the headset
and the link of ../headset.py: packets of 60 bytes, a call that is heard and spoken in both directions. What is counted are
the daemons' processes (PipeWire's are two: the graph and the session manager, which has the Bluetooth nodes), not the
programs at the call, and not the kernel.
"""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import time
import wave

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import measure

SECONDS = 8
SETTLE = 6
CALLS = [("btcall", "cvsd"), ("bluealsa", "cvsd"), ("pipewire", "cvsd"), ("btcall", "msbc"), ("pipewire", "msbc")]
RATES = {"cvsd": 8000, "msbc": 16000}
HERE = os.path.dirname(os.path.abspath(__file__))


class PeerBench(measure.Bench):
    """One call of one daemon; `counted` are the processes whose instructions count."""

    def __init__(self, programs, peer, codec, *arguments):
        super().__init__(*arguments)
        self.programs, self.peer, self.codec, self.counted = programs, peer, codec, []
        self.rate = RATES[codec]
        with open(self.configuration, "a") as file:
            file.write(f"[bluetooth]\ncodecs = {codec}\n" if codec == "cvsd" else "")
        self.far_end = f"{self.folder}/far.wav"
        with wave.open(self.far_end, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(self.rate)
            file.writeframes(b"".join(
                struct.pack("<h", 9000 if at * 880 // self.rate % 2 else -9000) for at in range(self.rate)))

    def start_headset(self):
        super().start_headset(*(["cvsd"] if self.codec == "cvsd" else []))

    def environment(self):
        return dict(
            os.environ, DBUS_SYSTEM_BUS_ADDRESS=self.address, DBUS_SESSION_BUS_ADDRESS=self.address,
            BTCALL_BENCH_SCO=self.sco, XDG_RUNTIME_DIR=self.folder, XDG_STATE_HOME=self.folder,
            XDG_CONFIG_HOME=f"{self.folder}/etc")

    def start(self, *words, counts=False):
        environment = self.environment()
        if counts:
            environment["LD_PRELOAD"] = f"{self.programs}/hci-redirect.so {self.redirect}"
            log = f"{self.folder}/{os.path.basename(words[0])}.callgrind"
            words = [shutil.which("valgrind"), "--tool=callgrind", "--instr-atstart=no", f"--log-file={log}",
                     f"--callgrind-out-file={log}.out", *words]
        with open(f"{self.folder}/{self.peer}.log", "a") as output:
            process = subprocess.Popen(words, env=environment, stdout=output, stderr=output)
        self.started.append(process)
        if counts:
            self.counted.append((process, log))
        return process

    def begin_bluealsa(self):
        self.start("/usr/bin/bluealsa", "-p", "hfp-ag", counts=True)
        self.expect("profile")
        self.connect_headset()
        time.sleep(SETTLE)
        pcm = "bluealsa:DEV=00:00:5E:00:53:01,PROFILE=sco"
        self.program = self.start(f"{self.programs}/peer-alsa", pcm, pcm, "null", str(self.rate), self.far_end,
                                  f"{self.folder}/program")

    def begin_pipewire(self):
        for name, place in (("pipewire.conf", "pipewire/pipewire.conf.d/peers.conf"),
                            ("bluetooth.lua", "wireplumber/bluetooth.lua.d/60-peers.lua")):
            os.makedirs(os.path.dirname(f"{self.folder}/etc/{place}"))
            with open(f"{HERE}/{name}") as source, open(f"{self.folder}/etc/{place}", "w") as target:
                # There is no sound card here.
                text = source.read()
                target.write(text.split("context.objects")[0] if name == "pipewire.conf" else text)
        self.start("/usr/bin/pipewire", counts=True)
        deadline = time.monotonic() + 30
        while not os.path.exists(f"{self.folder}/pipewire-0") and time.monotonic() < deadline:
            time.sleep(0.1)
        self.start("/usr/bin/wireplumber", counts=True)
        self.expect("profile")
        self.connect_headset()
        time.sleep(SETTLE)
        self.program = self.start(
            f"{self.programs}/peer-pipewire", str(self.rate), self.far_end, f"{self.folder}/program")

    def count(self):
        """Millions of instructions in a second of the call, by process."""
        self.start_bus()
        self.start_headset()
        if self.peer == "btcall":
            return {"btcalld": self.count_instructions() / 1e6}
        getattr(self, f"begin_{self.peer}")()
        self.expect("link")
        time.sleep(SETTLE)
        times = []
        for switch in ("on", "off"):
            for process, _ in self.counted:
                subprocess.run(["callgrind_control", "-i", switch, str(process.pid)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, check=True)
            times.append(time.monotonic())
            if switch == "on":
                time.sleep(SECONDS)
        self.program.terminate()
        self.program.wait()
        result = {}
        for process, log in reversed(self.counted):
            process.terminate()
            process.wait()
            with open(log) as file:
                collected = re.findall(r"Collected : (\d+)", file.read())
            if not collected:
                raise measure.Failure(f"callgrind has not counted: see {self.folder}")
            result[os.path.basename(log).split(".")[0]] = int(collected[-1]) / (times[1] - times[0]) / 1e6
        _, received, sent = self.expect("closed")
        seconds = os.path.getsize(f"{self.folder}/program-heard.wav") / 2 / self.rate
        if int(received) < 500 or int(sent) < 500 or seconds < SECONDS:
            raise measure.Failure(
                f"no whole call: {received} packets received, {sent} sent, {seconds:.1f} s heard; see {self.folder}")
        return result


def main():
    words = sys.argv[1:]
    report = words.pop(words.index("--json") + 1) if "--json" in words else None
    daemon, command, redirect, programs, *only = [
        os.path.abspath(word) if number < 4 else word for number, word in enumerate(w for w in words if w != "--json")]
    results = {}
    for peer, codec in CALLS:
        if only and f"{peer}-{codec}" not in only:
            continue
        bench = PeerBench(programs, peer, codec, daemon, command, redirect)
        try:
            results[f"{peer} {codec}"] = bench.count()
        except measure.Failure as failure:
            sys.exit(f"instructions.py: {peer}, {codec}: {failure}")
        finally:
            bench.end()
        shutil.rmtree(bench.folder, ignore_errors=True)
    print("instructions of the daemon in a second of the call, under callgrind (millions)")
    for codec in RATES:
        ours = sum(results.get(f"btcall {codec}", {}).values())
        for peer in ("btcall", "bluealsa", "pipewire"):
            if parts := results.get(f"{peer} {codec}"):
                total = sum(parts.values())
                ratio = f"{total / ours:6.2f}x" if ours else ""
                detail = ", ".join(f"{name} {value:.2f}" for name, value in parts.items())
                print(f"{codec:6}{peer:12}{total:8.1f}{ratio}   {detail}")
    if report:
        with open(report, "w") as file:
            json.dump(results, file, indent=2)


main()
