#!/usr/bin/env python3
"""The bell and the lock of a door station.

    door.py [--config FILE]         runs them (/etc/door-station/door.conf)
    door.py [--config FILE] open    asks the running one to open the door: for a button of a headset

It stands between btcall-baresip and baresip's ctrl_tcp, which accepts one program only: it passes everything on, and
opens the door at a tone code of the far end, in calls that this box has made.
"""
import asyncio
import configparser
import json
import os
import shlex
import signal
import socket
import stat
import sys

MOST_BYTES = 1 << 20


class Netstrings:
    """Takes the messages of ctrl_tcp apart: LENGTH:MESSAGE and a comma."""

    def __init__(self):
        self.rest = b""

    def read(self, data):
        self.rest += data
        while b":" in self.rest[:8]:
            length, _, rest = self.rest.partition(b":")
            if not length.isdigit() or int(length) > MOST_BYTES:
                raise ValueError("this is not baresip's ctrl_tcp")
            if len(rest) <= int(length):
                return
            yield rest[:int(length)]
            self.rest = rest[int(length) + 1:]
        if len(self.rest) > 8 and b":" not in self.rest[:8]:
            raise ValueError("this is not baresip's ctrl_tcp")


class Door:
    def __init__(self, settings):
        self.relay = shlex.split(settings["door"]["relay"])
        self.code = settings["door"].get("code", "")
        self.bell = shlex.split(settings["bell"].get("command", ""))
        self.dial = settings["bell"].get("dial", "")
        self.listen = settings["baresip"].get("listen", "127.0.0.1:4445").rsplit(":", 1)
        self.control = settings["baresip"].get("control", "127.0.0.1:4444").rsplit(":", 1)
        self.is_opening = False
        # The last tones of each call of baresip, by its id.
        self.calls = {}

    # --- the lock
    async def open(self, why):
        if self.is_opening:
            return
        self.is_opening = True
        print(f"the door is opened: {why}", flush=True)
        try:
            await run(self.relay)
        finally:
            self.is_opening = False

    def follow(self, message):
        """Reads an event of baresip; returns whether the code is complete."""
        try:
            event = json.loads(message)
        except ValueError:
            return False
        if not isinstance(event, dict) or not isinstance(event.get("id"), str):
            return False
        call, kind, tone = event["id"], event.get("type"), event.get("param")
        if kind == "CALL_CLOSED":
            self.calls.pop(call, None)
            return False
        tones = self.calls.setdefault(call, "")
        if kind != "CALL_DTMF_START" or not isinstance(tone, str) or event.get("direction") != "outgoing":
            return False
        self.calls[call] = (tones + tone)[-len(self.code):] if self.code else ""
        return bool(self.code) and self.calls[call] == self.code

    # --- between btcall-baresip and baresip
    async def serve(self, reader, writer):
        try:
            from_baresip, to_baresip = await asyncio.open_connection(*self.control)
        except OSError as error:
            print(f"baresip cannot be reached: {error}", flush=True)
            writer.close()
            return
        self.calls = {}
        messages = Netstrings()

        async def down():
            while data := await from_baresip.read(65536):
                writer.write(data)
                await writer.drain()
                for message in messages.read(data):
                    if self.follow(message):
                        asyncio.ensure_future(self.open("by the code of the far end"))

        async def up():
            while data := await reader.read(65536):
                to_baresip.write(data)
                await to_baresip.drain()

        tasks = [asyncio.ensure_future(down()), asyncio.ensure_future(up())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            for result in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(result, Exception):
                    print(f"the connection is closed: {result}", flush=True)
            self.calls = {}
            writer.close()
            to_baresip.close()

    # --- the bell
    async def ring(self):
        while True:
            if not await run(self.bell, limit=None):
                await asyncio.sleep(5)
            elif not self.calls:
                await run(["btcall", "dial", self.dial])
                await asyncio.sleep(2)


async def run(words, limit=30):
    """Runs a command, which is ended after a time; returns whether it has succeeded."""
    try:
        process = await asyncio.create_subprocess_exec(*words, stdin=asyncio.subprocess.DEVNULL)
    except OSError as error:
        print(f"{words[0]} cannot be run: {error}", flush=True)
        return False
    try:
        status = await asyncio.wait_for(process.wait(), limit)
    except asyncio.TimeoutError:
        status = f"none after {limit} s"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if status != 0:
        print(f"{words[0]} failed: status {status}", flush=True)
    return status == 0


def listener(path):
    """The socket for `door.py open`: for this user and group."""
    if os.path.exists(path) and stat.S_ISSOCK(os.stat(path).st_mode):
        os.unlink(path)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    made.bind(path)
    os.chmod(path, 0o660)
    return made


async def station(settings, path):
    door, loop = Door(settings), asyncio.get_running_loop()
    button = listener(path)
    loop.add_reader(button, lambda: button.recv(16) == b"open" and asyncio.ensure_future(door.open("by a button")))
    server = await asyncio.start_server(door.serve, *door.listen)
    print(f"the door is served: btcall-baresip may connect to {':'.join(door.listen)}", flush=True)
    tasks = [asyncio.ensure_future(server.serve_forever())]
    if door.bell:
        tasks.append(asyncio.ensure_future(door.ring()))
    end = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end.set)
    tasks.append(asyncio.ensure_future(end.wait()))
    done, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in rest:
        task.cancel()
    for task in done:
        task.result()


def main(words):
    file = "/etc/door-station/door.conf"
    if words[:1] == ["--config"] and len(words) > 1:
        file, words = words[1], words[2:]
    if words not in ([], ["open"]):
        sys.exit(__doc__)
    settings = configparser.ConfigParser(interpolation=None)
    with open(file, encoding="utf-8") as opened:
        settings.read_file(opened)
    for section, key in (("door", "relay"), ("door", "socket")):
        if not settings.get(section, key, fallback=""):
            sys.exit(f"{file}: [{section}] {key} is missing")
    for section in ("bell", "baresip"):
        settings.has_section(section) or settings.add_section(section)
    if not words:
        return asyncio.run(station(settings, settings["door"]["socket"]))
    try:
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"open", settings["door"]["socket"])
    except OSError as error:
        sys.exit(f"the door's program does not run: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
