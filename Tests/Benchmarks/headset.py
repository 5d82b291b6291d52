"""The far side of the benchmark: an org.bluez with one paired mSBC headset, on a private bus.

Usage: headset.py BUS-ADDRESS SCO-SOCKET [cvsd]

With "cvsd" it has that codec only, and asks for nothing after the service level connection, which some refuse.
Commands on standard input, one a line: "connect" hands a connection to the program that registered the Hands-Free Audio
Gateway. Standard output tells "ready", "profile", "connected" (service level connection), "link" (first audio packet),
"closed RECEIVED SENT" (packets of the link).
"""

import ctypes
import math
import os
import socket
import sys
import threading
import time

import dbus
import dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

ADAPTER = "/org/bluez/hci0"
ADDRESS = "00:00:5E:00:53:01"
DEVICE = ADAPTER + "/dev_00_00_5E_00_53_01"
PERIOD = 0.0075


def tell(*words):
    print(*words, flush=True)


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
        try:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))
        except PermissionError:
            pass  # Less even, which costs the daemon no less.
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

    def run(self):
        setup = ["AT+CIND=?", "AT+CIND?", "AT+CMER=3,0,0,1"]
        commands = ["AT+BRSF=20", *setup] if self.is_narrow else ["AT+BRSF=148", "AT+BAC=1,2", *setup, "AT+CLIP=1"]
        self.send(commands.pop(0))
        buffer = b""
        while data := self.stream.recv(4096):
            *lines, buffer = (buffer + data).split(b"\r\n")
            for line in lines:
                if line == b"OK" and commands is not None:
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


class Root(dbus.service.Object):
    @dbus.service.method("org.freedesktop.DBus.ObjectManager", out_signature="a{oa{sa{sv}}}")
    def GetManagedObjects(self):
        return {
            "/org/bluez": {"org.bluez.ProfileManager1": {}},
            ADAPTER: {"org.bluez.Adapter1": {
                "Address": "00:00:5E:00:53:00", "Name": "bench", "Alias": "bench", "Powered": True,
                "Class": dbus.UInt32(0x400000)}},
            DEVICE: {"org.bluez.Device1": {
                "Address": ADDRESS, "Adapter": dbus.ObjectPath(ADAPTER), "Name": "bench headset",
                "Alias": "bench headset", "Class": dbus.UInt32(0x240404), "Paired": True, "Trusted": True,
                "Connected": True, "ServicesResolved": True,
                "UUIDs": dbus.Array(["0000111e-0000-1000-8000-00805f9b34fb"], signature="s")}},
        }


class ProfileManager(dbus.service.Object):
    profile = None
    is_narrow = False

    @dbus.service.method("org.bluez.ProfileManager1", in_signature="osa{sv}", sender_keyword="sender")
    def RegisterProfile(self, path, uuid, options, sender=None):
        self.profile = (sender, path)
        tell("profile")

    @dbus.service.method("org.bluez.ProfileManager1", in_signature="o")
    def UnregisterProfile(self, path):
        self.profile = None

    def connect(self, bus):
        ours, theirs = socket.socketpair()
        HandsFree(ours, self.is_narrow).start()
        owner, path = self.profile
        bus.call_async(owner, path, "org.bluez.Profile1", "NewConnection", "oha{sv}",
                       (dbus.ObjectPath(DEVICE), dbus.types.UnixFd(theirs), dbus.Dictionary({}, signature="sv")),
                       lambda *_: theirs.close(), lambda error: tell("refused", error))


def main():
    DBusGMainLoop(set_as_default=True)
    bus = dbus.bus.BusConnection(sys.argv[1])
    Root(bus, "/")
    manager = ProfileManager(bus, "/org/bluez")
    manager.is_narrow = sys.argv[3:] == ["cvsd"]
    Link(sys.argv[2], cvsd_packets(10) if manager.is_narrow else speech_packets(10)).start()
    bus.request_name("org.bluez")

    def command(source, _):
        line = source.readline().strip()
        if line == "connect":
            manager.connect(bus)
        if not line:
            loop.quit()
        return bool(line)

    loop = GLib.MainLoop()
    GLib.io_add_watch(sys.stdin, GLib.IO_IN | GLib.IO_HUP, command)
    tell("ready")
    loop.run()


main()
