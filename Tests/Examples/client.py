"""A program that acts on calls, and what the tests of the examples share."""

import asyncio
import os
import subprocess

from dbus_next import Message, MessageType
from dbus_next.aio import MessageBus

BUS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "private-bus.conf")
# Timeout in seconds for an expected event.
PATIENCE = 30
NUMBER = "5550142"


class NotSo(Exception):
    """A step that failed."""


def check(what, found, wanted):
    if found != wanted:
        raise NotSo(f"{what}: {found!r} instead of {wanted!r}")


class Client:
    """A program that acts on the calls; records the signals of all calls."""

    @classmethod
    async def connect(cls, address):
        self = cls()
        self.bus = await MessageBus(bus_address=address).connect()
        self.signals = asyncio.Queue()
        self.bus.add_message_handler(self.received)
        await self.ask("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch", "s",
                       "type='signal',sender='org.btcall'")
        return self

    def received(self, message):
        if message.message_type == MessageType.SIGNAL:
            if message.member == "StateChanged":
                self.signals.put_nowait((message.path, *message.body))
            elif message.member in ("CallAdded", "CallRemoved"):
                self.signals.put_nowait((message.member, *message.body))

    async def next(self):
        return await asyncio.wait_for(self.signals.get(), PATIENCE)

    async def ask(self, destination, path, interface, member, signature="", *body):
        reply = await self.bus.call(
            Message(destination, path, interface, member, signature=signature, body=list(body)))
        if reply.message_type == MessageType.ERROR:
            raise NotSo(f"{member}: {reply.error_name}: {reply.body}")
        return reply.body

    async def call(self, call, member, signature="", *body):
        return await self.ask("org.btcall", call, "org.btcall.Call1", member, signature, *body)

    async def state(self, call):
        body = await self.call_property(call, "State")
        return body.value

    async def call_property(self, call, name):
        return (await self.ask("org.btcall", call, "org.freedesktop.DBus.Properties", "Get", "ss",
                               "org.btcall.Call1", name))[0]

    async def until_there(self):
        for _ in range(PATIENCE * 20):
            owned = await self.ask("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                   "NameHasOwner", "s", "org.btcall")
            if owned[0]:
                body = await self.ask("org.btcall", "/org/btcall", "org.freedesktop.DBus.Properties", "Get", "ss",
                                      "org.btcall.Manager1", "State")
                if body[0].value == "active":
                    return
            await asyncio.sleep(0.05)
        raise NotSo("btcalld does not become active")


class Steps:
    def __init__(self, program):
        self.program = program
        self.passed = 0

    def done(self, what):
        print(f"ok - {self.program}: {what}", flush=True)
        self.passed += 1


class Box:
    """btcalld on a bus of its own."""

    def __init__(self, binaries, place, name):
        self.binaries, self.base = binaries, f"{place}/{name}"
        self.address = f"unix:path={self.base}.bus"

    def __enter__(self):
        with open(f"{self.base}.conf", "w") as file:
            file.write(f"[daemon]\nstateDirectory = {self.base}.state\n[audio]\npcmSocket = {self.base}.pcm\n")
        self.bus = subprocess.Popen(
            ["dbus-daemon", f"--config-file={BUS}", f"--address={self.address}", "--nofork", "--print-address=1"],
            stdout=subprocess.PIPE)
        self.bus.stdout.readline()
        with open(f"{self.base}.log", "w") as log:
            self.daemon = subprocess.Popen(
                [f"{self.binaries}/btcalld", "--bus", self.address, "--config", f"{self.base}.conf", "--foreground"],
                stderr=log)
        return self

    def __exit__(self, *error):
        for process in (self.daemon, self.bus):
            process.terminate()
            process.wait()

    def log(self):
        with open(f"{self.base}.log") as log:
            return log.read()
