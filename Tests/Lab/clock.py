"""Lab time: one clock for all logs of the headset process. Seconds like Unix time, but never adjusted."""
import asyncio
import os
import sys
import time

_offset = time.time() - time.monotonic()
_output = sys.stdout.fileno() if sys.stdout else 1
_begin = time.monotonic()
STALL_TICK = 0.005
STALL_LOGGED = 0.020
WATCH_PERIOD = 0.020
ONGOING_MOST = 5.0


def lab_time():
    return time.monotonic() + _offset


def log_to(descriptor):
    global _output
    _output = descriptor


def say(*words):
    os.write(_output, (f"[{time.monotonic() - _begin:8.3f}] " + " ".join(str(w) for w in words) + "\n").encode())


async def watch_stalls(path):
    """Logs when this process did not run for 20 ms or more: lines "start end headset" in lab time."""
    with open(path, "a", buffering=1) as log:
        due = lab_time() + STALL_TICK
        while True:
            await asyncio.sleep(max(0, due - lab_time()))
            now = lab_time()
            if now - due > STALL_LOGGED:
                log.write(f"{due:.6f} {now:.6f} headset\n")
            due = max(due + STALL_TICK, now)


class Watch:
    """How long the lab has stood still. lab-watch in the guest asks every 20 ms; whatever is late, the guest, the way or this process,
    makes its question late."""

    def __init__(self, now=time.monotonic):
        self.now, self.last, self.total = now, None, 0.0

    def began(self):
        """Another guest sends requests, or the same one after a power cut: the time between is not a stall."""
        self.total, self.last = self.stalled(), None

    def asked(self):
        self.total, self.last = self.stalled(), self.now()

    def stalled(self):
        """Stalled seconds so far, including at most 5 s of a present stall, so that a dead guest ends every wait."""
        late = 0.0 if self.last is None else self.now() - self.last - WATCH_PERIOD
        return self.total + (min(late, ONGOING_MOST) if late > STALL_LOGGED else 0.0)


watch = Watch()
