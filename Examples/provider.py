#!/usr/bin/env python3
"""A telephony application in Python, without btcall: one incoming call whose far end says what it hears.

    pip install -r Examples/requirements.txt
    Examples/provider.py NUMBER

Set BTCALL_BUS for a btcalld that is not on the system bus. Prints what happens, and ends with the call.
"""

import asyncio
import os
import socket
import sys

from dbus_next import BusType, DBusError, Message, MessageType, Variant
from dbus_next.aio import MessageBus
from dbus_next.service import ServiceInterface, method

PATH = "/phone"


def say(text):
    print(text, flush=True)


class Provider(ServiceInterface):
    """The methods that btcalld calls. Returning confirms a request; raising DBusError refuses it."""

    def __init__(self):
        super().__init__("org.btcall.CallProvider1")
        self.audio = None

    @method()
    def PerformStart(self, call: "o", number: "s", options: "a{sv}"):
        raise DBusError("org.btcall.Error.NotSupported", "this application does not dial")

    @method()
    def PerformAnswer(self, call: "o", options: "a{sv}"):
        say("asked: answer")

    @method()
    def PerformEnd(self, call: "o", reason: "s"):
        say("asked: end")

    @method()
    def PerformSetHeld(self, call: "o", held: "b"):
        say("asked: hold" if held else "asked: resume")

    @method()
    def PerformDTMF(self, call: "o", tones: "s"):
        say(f"asked: dtmf {tones}")

    @method()
    def AudioReady(self, call: "o", audio: "h", format: "a{sv}"):
        """A packet socket: send one block for each block of 10 ms received. This example sends the same block back."""
        self.close_audio()
        self.audio = socket.socket(fileno=audio)
        self.audio.setblocking(False)
        asyncio.get_running_loop().add_reader(self.audio, self.exchange)
        say(f"audio: {format['rate'].value}")

    @method()
    def Released(self):
        say("released")

    def exchange(self):
        try:
            block = self.audio.recv(65536)
            if block:
                self.audio.send(block)
            else:
                self.close_audio()
        except BlockingIOError:
            pass
        except OSError:
            self.close_audio()

    def close_audio(self):
        if self.audio:
            asyncio.get_running_loop().remove_reader(self.audio)
            self.audio.close()
            self.audio = None


async def request(bus, destination, path, interface, member, signature, *body):
    reply = await bus.call(Message(destination, path, interface, member, signature=signature, body=list(body)))
    if reply.message_type == MessageType.ERROR:
        sys.exit(f"{member}: {reply.error_name}: {reply.body[0] if reply.body else ''}")
    return reply.body


async def main(number):
    address = os.environ.get("BTCALL_BUS", "system")
    where = {"system": {"bus_type": BusType.SYSTEM}, "session": {"bus_type": BusType.SESSION}}
    bus = await MessageBus(negotiate_unix_fd=True, **where.get(address, {"bus_address": address})).connect()
    bus.export(PATH, Provider())
    ended, call = asyncio.Event(), []

    def signal(message):
        if message.message_type == MessageType.SIGNAL and message.member == "StateChanged" and message.path in call:
            say(f"state: {message.body[0]}")
            if message.body[0] == "ended":
                ended.set()

    bus.add_message_handler(signal)
    match = "type='signal',sender='org.btcall',interface='org.btcall.Call1'"
    await request(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch", "s", match)

    async def calls(member, signature, *body):
        return await request(bus, "org.btcall", "/org/btcall/calls", "org.btcall.Calls1", member, signature, *body)

    options = {"name": Variant("s", "python"), "capabilities": Variant("as", ["hold", "dtmf"])}
    await calls("RegisterProvider", "oa{sv}", PATH, options)
    call += await calls("ReportIncoming", "osa{sv}", PATH, number, {"name": Variant("s", "Example")})
    say(f"ringing: {call[0]}")
    await ended.wait()
    bus.disconnect()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "5550100"))
