#!/usr/bin/env python3
"""A half-duplex gateway between two boxes: run it on both, as gateway.py HERE THERE, each an address; README.md explains it."""
import asyncio
import collections
import os
import socket
import sys
import time

from dbus_next import BusType, DBusError, Message, MessageType, Variant
from dbus_next.aio import MessageBus
from dbus_next.service import ServiceInterface, method

PORT, NO = 5004, "org.btcall.Error.ProviderFailed"


class Gateway(ServiceInterface):
    def __init__(self, network, there):
        super().__init__("org.btcall.CallProvider1")
        self.network, self.there, self.floor, self.asked, self.last = network, (there, PORT), "free", None, 0
        self.sound, self.ended, self.loop = collections.deque(maxlen=8), asyncio.Event(), asyncio.get_running_loop()
        self.loop.add_reader(network, self.received)

    def give(self, floor):
        self.floor, self.last = floor, time.monotonic()
        print("floor:", floor, flush=True)

    def send(self, data):
        self.network.sendto(data, self.there)

    def received(self):  # r NUMBER: may I talk? y: yes. n: no. f: I have finished. s SOUND. Of two requests the lower number wins
        data, sender = self.network.recvfrom(2048)
        kind, rest = data[:1], data[1:]
        if sender != self.there:
            return
        if kind == b"r":
            busy = self.floor == "ours" or self.asked and self.asked[0] < rest
            self.send(b"n" if busy else b"y")
            busy or self.give("theirs")
        elif kind in b"yn" and self.asked and not self.asked[1].done():
            self.asked[1].set_result(kind == b"y")
        elif kind == b"f" and self.floor == "theirs":
            self.give("free")
        elif kind == b"s" and self.floor == "theirs":
            self.last = time.monotonic()
            self.sound.append(rest)

    async def talk(self, pressed):
        if not pressed:
            self.asked = None
            self.send(b"f")
            return self.give("free") if self.floor == "ours" else None
        # Its end was lost if there is no sound for a second.
        if self.floor == "theirs" and time.monotonic() < self.last + 1:
            raise DBusError(NO, "the other box talks")
        asked = self.asked = os.urandom(8), self.loop.create_future()
        self.send(b"r" + asked[0])
        done, _ = await asyncio.wait([asked[1]], timeout=0.4)  # btcalld waits for 0.5 s
        if self.asked is not asked:
            raise DBusError(NO, "released")
        self.asked = None
        if not done or not asked[1].result():
            raise DBusError(NO, "the other box talks" if done else "the other box does not answer")
        self.give("ours")

    @method()
    async def PerformTalk(self, call: "o", pressed: "b"):
        await self.talk(pressed)

    @method()
    def PerformEnd(self, call: "o", reason: "s"):
        self.ended.set()

    @method()
    def AudioReady(self, call: "o", audio: "h", format: "a{sv}"):
        line = socket.socket(fileno=audio)
        self.loop.add_reader(line, self.exchange, line)

    def exchange(self, line):  # one block for each block of 10 ms
        try:
            if block := line.recv(2048):
                if self.floor == "ours":
                    self.send(b"s" + block)
                return line.send(self.sound.popleft() if self.sound else bytes(len(block)))
        except BrokenPipeError:
            pass  # the call has ended
        self.loop.remove_reader(line)
        line.close()


async def main(here, there):
    network = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    network.bind((here, PORT))
    bus = await MessageBus(os.environ.get("BTCALL_BUS"), BusType.SYSTEM, negotiate_unix_fd=True).connect()
    gateway = Gateway(network, there)
    bus.export("/gateway", gateway)
    talk = {"name": Variant("s", "gateway"), "capabilities": Variant("as", ["talk"]), "talk": Variant("s", "push")}
    for member, signature, *body in (("RegisterProvider", "oa{sv}", "/gateway", talk),
                                     ("ReportOutgoing", "osa{sv}", "/gateway", "", {"state": Variant("s", "active")})):
        reply = await bus.call(Message("org.btcall", "/org/btcall/calls", "org.btcall.Calls1", member,
                                       signature=signature, body=body))
        if reply.message_type == MessageType.ERROR:
            sys.exit(f"{member}: {reply.error_name}: {reply.body}")
    print("connected", flush=True)
    await gateway.ended.wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
