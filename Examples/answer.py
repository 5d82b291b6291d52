#!/usr/bin/env python3
"""One incoming call whose far end hears itself: apt-get install python3-dbus python3-gi; Examples/answer.py NUMBER"""
import socket
import sys

import dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

PROVIDER = "org.btcall.CallProvider1"


class Phone(dbus.service.Object):
    @dbus.service.method(PROVIDER, "oa{sv}")
    def PerformAnswer(self, call, options):
        print("asked: answer", flush=True)

    @dbus.service.method(PROVIDER, "os")
    def PerformEnd(self, call, reason):
        print("asked: end", flush=True)

    @dbus.service.method(PROVIDER, "oha{sv}")
    def AudioReady(self, call, audio, format):
        line = socket.socket(fileno=audio.take())
        GLib.io_add_watch(line.fileno(), GLib.IO_IN, exchange, line)


def exchange(descriptor, condition, line):  # one block back for each block of 10 ms received
    block = line.recv(65536)
    return bool(block) and line.send(block) > 0


def changed(state, reason, path):
    if path == call:
        print("state:", state, flush=True)
        if state == "ended":
            loop.quit()


bus, loop = dbus.SystemBus(mainloop=DBusGMainLoop()), GLib.MainLoop()
phone = Phone(bus, "/phone")
calls = dbus.Interface(bus.get_object("org.btcall", "/org/btcall/calls"), "org.btcall.Calls1")
calls.RegisterProvider("/phone", {"name": "answer.py"}, signature="oa{sv}")
bus.add_signal_receiver(changed, "StateChanged", "org.btcall.Call1", path_keyword="path")
call = calls.ReportIncoming("/phone", sys.argv[1], {}, signature="osa{sv}")
print("ringing:", call, flush=True)
loop.run()
