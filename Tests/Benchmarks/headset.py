"""The far side of the benchmarks: an org.bluez with paired mSBC headsets, one unless told otherwise, on a private bus.

Usage: headset.py BUS-ADDRESS SCO-SOCKET [cvsd] [headsets=N]

With "cvsd" they have that codec only, and ask for nothing after the service level connection, which some daemons refuse.
Commands on standard input, one a line, with headsets numbered from 1 on:
    connect N                hands a connection to the program that registered the Hands-Free Audio Gateway
    ask N COUNT INTERVAL     sends AT+CIND? COUNT times, one each INTERVAL milliseconds
Standard output tells "ready", "profile", "connected" (service level connection), "link" (first audio packet), "closed RECEIVED
SENT" (packets of the link), "asked T..." (microseconds from each command until its OK).
"""

import ctypes
import math
import os
import queue
import socket
import sys
import threading
import time

import dbus
import dbus.lowlevel
import dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

ADAPTER = "/org/bluez/hci0"
PERIOD = 0.0075
# Longest time until an answer, in seconds.
ANSWER = 5


def tell(*words):
    print(*words, flush=True)


def address(number):
    return f"00:00:5E:00:53:{number:02X}"


def device(number):
    return f"{ADAPTER}/dev_{address(number).replace(':', '_')}"


def hurry(thread=0):
    """Real-time priority for a thread; without the right to it times are less even, which costs the daemon no less."""
    try:
        os.sched_setscheduler(thread, os.SCHED_RR, os.sched_param(10))
    except PermissionError:
        pass


class SBC(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_ulong), ("parameters", ctypes.c_uint8 * 7),
                ("private", ctypes.c_void_p), ("base", ctypes.c_void_p)]


def speech_packets(seconds):
    """mSBC packets with header H2 of a speech-like signal: a glide with a syllable's rise and fall."""
    library = ctypes.CDLL("libsbc.so.1")
    codec = SBC()
    library.sbc_init_msbc(ctypes.byref(codec), ctypes.c_ulong(0))
    library.sbc_encode.restype = ctypes.c_ssize_t
    packets, phase, count = [], 0.0, 0
    for number in range(int(seconds / PERIOD) // 4 * 4):
        frame = (ctypes.c_int16 * 120)()
        for index in range(120):
            at = count / 16000
            phase += 2 * math.pi * (300 + 2200 * (at % 1)) / 16000
            frame[index] = int(9000 * abs(math.sin(2 * math.pi * at)) * math.sin(phase))
            count += 1
        output, written = (ctypes.c_uint8 * 57)(), ctypes.c_ssize_t()
        library.sbc_encode(ctypes.byref(codec), frame, ctypes.c_size_t(240), output, ctypes.c_size_t(57),
                           ctypes.byref(written))
        packets.append(bytes([0x01, (0x08, 0x38, 0xC8, 0xF8)[number % 4]]) + bytes(output) + b"\0")
    return packets


def cvsd_packets(seconds):
    """The same as a controller delivers it with CVSD: 60 samples at 8 kHz per 7.5 ms."""
    packets, phase, count = [], 0.0, 0
    for _ in range(int(seconds / PERIOD)):
        frame = (ctypes.c_int16 * 60)()
        for index in range(60):
            at = count / 8000
            phase += 2 * math.pi * (300 + 2200 * (at % 1)) / 8000
            frame[index] = int(9000 * abs(math.sin(2 * math.pi * at)) * math.sin(phase))
            count += 1
        packets.append(bytes(frame))
    return packets


class Link(threading.Thread):
    """Accepts audio connections; sends a packet every 7.5 ms and counts the received ones."""

    def __init__(self, path, packets):
        super().__init__(daemon=True)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        self.listener.listen(1)
        self.packets = packets

    def run(self):
        hurry()
        while True:
            connection, _ = self.listener.accept()
            tell("link")
            tell("closed", *self.serve(connection))
            connection.close()

    def serve(self, connection):
        connection.setblocking(False)
        sent = received = 0
        due = time.monotonic()
        while True:
            try:
                connection.send(self.packets[sent % len(self.packets)])
                sent += 1
                while connection.recv(256):
                    received += 1
                return received, sent
            except BlockingIOError:
                pass
            except OSError:
                return received, sent
            due += PERIOD
            time.sleep(max(0, due - time.monotonic()))


class HandsFree(threading.Thread):
    """The headset's AT side: establishes the service level connection and accepts every codec."""

    def __init__(self, stream, is_narrow):
        super().__init__(daemon=True)
        self.stream = stream
        self.is_narrow = is_narrow
        # When the answers came, after the service level connection.
        self.answers = queue.SimpleQueue()

    def run(self):
        setup = ["AT+CIND=?", "AT+CIND?", "AT+CMER=3,0,0,1"]
        commands = ["AT+BRSF=20", *setup] if self.is_narrow else ["AT+BRSF=148", "AT+BAC=1,2", *setup, "AT+CLIP=1"]
        self.send(commands.pop(0))
        buffer = b""
        while data := self.stream.recv(4096):
            *lines, buffer = (buffer + data).split(b"\r\n")
            for line in lines:
                if line == b"OK" and commands is None:
                    self.answers.put(time.monotonic())
                elif line == b"OK":
                    if commands:
                        self.send(commands.pop(0))
                    else:
                        commands = None
                        tell("connected")
                elif line.startswith(b"+BCS:"):
                    self.send("AT+BCS=" + line[5:].decode().strip())
                elif line == b"ERROR":
                    tell("refused")

    def send(self, command):
        self.stream.sendall(command.encode() + b"\r")

    def ask(self, count, interval):
        """On a thread of its own."""
        hurry()
        hurry(self.native_id)
        while not self.answers.empty():
            self.answers.get()
        times, due = [], time.monotonic()
        for _ in range(count):
            due += interval
            time.sleep(max(0, due - time.monotonic()))
            began = time.monotonic()
            self.send("AT+CIND?")
            try:
                times.append(round(1e6 * (self.answers.get(timeout=ANSWER) - began)))
            except queue.Empty:
                tell("refused", "no answer to AT+CIND?")
                return
        tell("asked", *times)


class Root(dbus.service.Object):
    headsets = 1

    @dbus.service.method("org.freedesktop.DBus.ObjectManager", out_signature="a{oa{sa{sv}}}")
    def GetManagedObjects(self):
        return {
            "/org/bluez": {"org.bluez.ProfileManager1": {}},
            ADAPTER: {"org.bluez.Adapter1": {
                "Address": "00:00:5E:00:53:00", "Name": "bench", "Alias": "bench", "Powered": True,
                "Class": dbus.UInt32(0x400000)}},
        } | {device(number): self.headset(number) for number in range(1, self.headsets + 1)}

    @staticmethod
    def headset(number):
        """The first one is in reach from the start; the others are when they connect."""
        name = "bench headset" if number == 1 else f"bench headset {number}"
        return {"org.bluez.Device1": {
            "Address": address(number), "Adapter": dbus.ObjectPath(ADAPTER), "Name": name, "Alias": name,
            "Class": dbus.UInt32(0x240404), "Paired": True, "Trusted": True, "Connected": number == 1,
            "ServicesResolved": True, "UUIDs": dbus.Array(["0000111e-0000-1000-8000-00805f9b34fb"], signature="s")}}


class ProfileManager(dbus.service.Object):
    profile = None
    is_narrow = False

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.connected = {}

    @dbus.service.method("org.bluez.ProfileManager1", in_signature="osa{sv}", sender_keyword="sender")
    def RegisterProfile(self, path, uuid, options, sender=None):
        self.profile = (sender, path)
        tell("profile")

    @dbus.service.method("org.bluez.ProfileManager1", in_signature="o")
    def UnregisterProfile(self, path):
        self.profile = None

    def connect(self, bus, number):
        if number > 1:
            changed = dbus.lowlevel.SignalMessage(
                device(number), "org.freedesktop.DBus.Properties", "PropertiesChanged")
            changed.append("org.bluez.Device1", {"Connected": True}, [], signature="sa{sv}as")
            bus.send_message(changed)
        ours, theirs = socket.socketpair()
        self.connected[number] = HandsFree(ours, self.is_narrow)
        self.connected[number].start()
        owner, path = self.profile
        bus.call_async(owner, path, "org.bluez.Profile1", "NewConnection", "oha{sv}",
                       (dbus.ObjectPath(device(number)), dbus.types.UnixFd(theirs), dbus.Dictionary({}, signature="sv")),
                       lambda *_: theirs.close(), lambda error: tell("refused", error))


def main():
    DBusGMainLoop(set_as_default=True)
    bus = dbus.bus.BusConnection(sys.argv[1])
    root = Root(bus, "/")
    manager = ProfileManager(bus, "/org/bluez")
    for word in sys.argv[3:]:
        if word == "cvsd":
            manager.is_narrow = True
        elif word.startswith("headsets="):
            root.headsets = int(word.removeprefix("headsets="))
        else:
            sys.exit(__doc__)
    Link(sys.argv[2], cvsd_packets(10) if manager.is_narrow else speech_packets(10)).start()
    bus.request_name("org.bluez")

    def command(source, _):
        words = source.readline().split()
        if words[:1] == ["connect"]:
            manager.connect(bus, int(words[1]))
        elif words[:1] == ["ask"]:
            number, count, interval = map(int, words[1:])
            threading.Thread(target=manager.connected[number].ask, args=(count, interval / 1000), daemon=True).start()
        if not words:
            loop.quit()
        return bool(words)

    loop = GLib.MainLoop()
    GLib.io_add_watch(sys.stdin, GLib.IO_IN | GLib.IO_HUP, command)
    tell("ready")
    loop.run()


main()
