"""The AT channel of bluez-alsa as hands-free unit: bluez-alsa makes the connection, and a program of its user makes the calls.

    bluealsa-at.py ADDRESS COMMANDS     sends each line that is written to the FIFO COMMANDS; prints what the gateway says, a line each
"""
import os
import select
import sys

import bus


def main():
    address, commands = sys.argv[1:]
    path = f"/org/bluealsa/hci0/dev_{address.replace(':', '_')}/rfcomm"
    _, (channel,) = bus.Bus().call("org.bluealsa", path, "org.bluealsa.RFCOMM1", "Open")
    if not os.path.exists(commands):
        os.mkfifo(commands)
    fifo = os.open(commands, os.O_RDWR)                # never at its end
    print("open", flush=True)
    while True:
        ready, _, _ = select.select([channel, fifo], [], [])
        if channel in ready:
            said = os.read(channel, 4096)
            if not said:
                sys.exit("the connection has ended")
            for line in said.decode(errors="replace").replace("\r", "\n").split("\n"):
                if line:
                    print(line, flush=True)
        if fifo in ready:
            for line in os.read(fifo, 4096).decode().splitlines():
                os.write(channel, line.encode() + b"\r")


main()
