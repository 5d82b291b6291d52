"""The program of Examples/door-station without a door: what it reads from baresip, and when it opens."""

import importlib.util
import json
import os
import socket
import subprocess
import tempfile


def event(kind, call="a", direction="outgoing", tone=""):
    return json.dumps({"event": True, "type": kind, "direction": direction, "id": call, "param": tone}).encode()


def dialled(tones, call="a", direction="outgoing"):
    return [event("CALL_DTMF_START", call, direction, tone) for tone in tones]


def netstring(message):
    return b"%d:%s," % (len(message), message)


# Events, and how often the code 5# opens the door.
COURSES = [
    ("the code in a call that was made here", dialled("5#"), 1),
    ("the code after other tones", dialled("155#"), 1),
    ("the code twice", dialled("5#5#"), 2),
    ("a tone between", dialled("51#"), 0),
    ("the code in a call from outside", dialled("5#", direction="incoming"), 0),
    ("half of it in each of two calls", dialled("5", "a") + dialled("#", "b"), 0),
    ("half of it before the call is over", dialled("5") + [event("CALL_CLOSED")] + dialled("#"), 0),
    ("the end of a tone", [event("CALL_DTMF_START", tone="5"), event("CALL_DTMF_END", tone="#")], 0),
    ("what is no event", [b"{", b"[]", b'"5#"', b"\xff", b'{"type":"CALL_DTMF_START","id":1,"param":"5"}'], 0),
]
STRANGE = [b"SSH-2.0-x\r\n", b"12x:", b"9999999:", b"-1:,", b":"]


def checks(path):
    """Each check's name and whether it holds."""
    spec = importlib.util.spec_from_file_location("door", path)
    door = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(door)
    settings = {"door": {"relay": "true", "code": "5#"}, "bell": {}, "baresip": {}}
    for name, messages, wanted in COURSES:
        lock = door.Door(settings)
        yield f"{name}: {wanted}", sum(lock.follow(message) for message in messages) == wanted
    without = door.Door({**settings, "door": {"relay": "true"}})
    yield "without a code no tone opens it", not any(without.follow(message) for message in dialled("5#0123"))

    stream = b"".join(netstring(message) for message in (b"{}", b"", b"1:2,3:"))
    pieces = {tuple(message for cut in (stream[:at], stream[at:]) for message in reader.read(cut))
              for at in range(len(stream) + 1) for reader in [door.Netstrings()]}
    yield "messages are read, wherever the stream is cut", pieces == {(b"{}", b"", b"1:2,3:")}
    for strange in STRANGE:
        reader = door.Netstrings()
        try:
            found = list(reader.read(strange)) + list(reader.read(b"x" * 16))
        except ValueError:
            found = None
        yield f"{strange!r} is refused", found is None

    with tempfile.TemporaryDirectory() as place:
        with open(f"{place}/door.conf", "w") as file:
            file.write(f"[door]\nrelay = true\nsocket = {place}/open\n")
        pressed = [path, "--config", f"{place}/door.conf", "open"]
        said = subprocess.run(pressed, capture_output=True, text=True, check=False)
        yield "a button without the program says so", said.returncode == 1 and "does not run" in said.stderr
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as station:
            station.bind(f"{place}/open")
            said = subprocess.run(pressed, capture_output=True, text=True, check=False)
            yield "a button asks the program", (said.returncode, station.recv(16)) == (0, b"open")
        with open(f"{place}/door.conf", "w") as file:
            file.write("[door]\nrelay =\n")
        said = subprocess.run(pressed, capture_output=True, text=True, check=False)
        yield "a configuration without a relay is refused", said.returncode == 1 and "[door] relay is missing" in said.stderr


def check(folder):
    """Prints a line for each check; returns the numbers of passed and failed ones."""
    passed = failed = 0
    for name, holds in checks(os.path.join(folder, "door-station/door.py")):
        print(f"{'ok' if holds else 'not ok'} - door-station/door.py: {name}", flush=True)
        passed, failed = passed + holds, failed + (not holds)
    return passed, failed
