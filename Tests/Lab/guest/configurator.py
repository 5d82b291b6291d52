"""A program that decides how the board's devices are opened (org.btcall.AudioConfigurator1): it asks for one period.

    configurator.py MILLISECONDS     prints "registered", then each device that is about to be opened, until it is killed
"""
import struct
import sys

import bus


def main():
    entry = bus.padded(bus.text("period") + b"\1u\0", 4) + struct.pack("<I", int(sys.argv[1]))
    settings = struct.pack("<II", len(entry), 0) + entry                # an array of one entry, which begins at a multiple of 8
    system = bus.Bus()
    system.call("org.btcall", "/org/btcall/session", "org.btcall.Session1", "RegisterConfigurator", "o", bus.text("/configurator"))
    print("registered", flush=True)
    while True:
        kind, fields, body, _ = system.receive()
        if kind == bus.CALL and fields.get(bus.MEMBER) == "Configure":
            system.answer(fields, "a{sv}", settings)
            size, = struct.unpack_from("<I", body)
            print("asked for " + body[4:4 + size].decode(), flush=True)


main()
