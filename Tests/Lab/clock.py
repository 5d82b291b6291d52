"""Lab time: one clock for all that the headset process logs. Seconds like Unix time, never set back or forth."""
import asyncio
import os
import sys
import time

_offset = time.time() - time.monotonic()
_output = sys.stdout.fileno() if sys.stdout else 1
_begin = time.monotonic()
STALL_TICK = 0.005
STALL_LOGGED = 0.020


def lab_time():
    return time.monotonic() + _offset


def log_to(descriptor):
    global _output
    _output = descriptor


def say(*words):
    os.write(_output, (f"[{time.monotonic() - _begin:8.3f}] " + " ".join(str(w) for w in words) + "\n").encode())


async def watch_stalls(path):
    """Logs when this process did not run for 20 ms and more: lines "start end headset" in lab time."""
    with open(path, "a", buffering=1) as log:
        due = lab_time() + STALL_TICK
        while True:
            await asyncio.sleep(max(0, due - lab_time()))
            now = lab_time()
            if now - due > STALL_LOGGED:
                log.write(f"{due:.6f} {now:.6f} headset\n")
            due = max(due + STALL_TICK, now)
