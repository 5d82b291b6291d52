#!/usr/bin/env python3
"""Host side of the lab: a radio, a controller for the guest, and the headsets, in one process.

    lab.py --hci-socket PATH --ctl-socket PATH [--ctl-socket PATH2] [--qemu-socket PATH] --dir DIR [--headsets 2]
        [--unit-hci-socket PATH --unit-ctl-socket PATH --unit-shell-socket PATH]

The guest's host stack is whoever connects to --hci-socket and speaks H4; that of the unit, a second guest, connects to
--unit-hci-socket. Control is one line in, one line out ("OK {json}" / "ERR text") on each control socket:
h1|h2|b1|b2|unit|lab COMMAND [ARGUMENTS]   (see README.md).
"""
import argparse
import asyncio
import functools
import gc
import json
import logging
import os
import shlex
import struct
import sys
import time

import clock
import counted

clock.log_to(os.dup(1))                                # RootCanal prints a line for every packet: keep it separate from our output
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

import button
import radio
from clock import lab_time, say
from headset import GUEST, Headset, Port
from machine import Machine
from unit import Unit

UNIT = "00:1B:DC:07:00:02"
HERE = os.path.dirname(os.path.abspath(__file__))


class Lab:
    def __init__(self, args):
        self.dir, self.sco_mtu = args.dir, args.sco_mtu
        self.air = radio.Radio()
        self.guest = None
        self.machine = Machine(args.qemu_socket)
        self.voice = radio.VoiceRouting(int(args.voice == "host")) if args.voice else None
        self.headsets = {}
        self.unit = Unit()
        self.patience = float(os.environ.get("LAB_PATIENCE") or 3)       # as in lib.sh: waits are said in seconds of a quick machine
        self.snoop = open(args.snoop, "wb", buffering=0) if args.snoop else None
        if self.snoop:
            self.snoop.write(b"btsnoop\0" + struct.pack(">II", 1, 1002))

    def btsnoop(self, packet, from_controller):
        if self.snoop:
            flags = (1 if from_controller else 0) | (2 if packet[0] in (radio.CMD, radio.EVT) else 0)
            microseconds = int(time.time() * 1e6) + 0x00DCDDB30F2F8000       # since the year 0
            self.snoop.write(struct.pack(">IIIIq", len(packet), len(packet), flags, 0, microseconds) + packet)

    async def guest_hci(self, reader, writer):
        """The guest's HCI byte stream (H4). Its controller exists from its first connection on."""
        def to_guest(packet):
            self.btsnoop(packet, True)
            writer.write(packet)
        self.guest = self.air.add(GUEST, to_guest, self.sco_mtu)
        if self.voice is not None:
            self.guest.voice = self.voice

        def from_guest(packet):
            self.btsnoop(packet, False)
            self.guest.from_host(packet)
        await self.serve("guest", self.guest, from_guest, reader)

    async def unit_hci(self, reader, writer):
        """The same for the second guest."""
        controller = self.air.add(UNIT, writer.write, self.sco_mtu)
        await self.serve("unit", controller, controller.from_host, reader)

    @staticmethod
    async def serve(name, controller, from_host, reader):
        say(name, "hci connected")
        stream = radio.H4Stream()
        while data := await reader.read(65536):
            for packet in stream.feed(data):
                from_host(packet)
        say(name, "hci gone; lost sync bytes:", stream.lost_sync)
        controller.alive = False

    async def control(self, reader, writer, watch=clock.watch):
        watching = False
        while line := await reader.readline():
            try:
                words = shlex.split(line.decode(errors="replace"))
                if not words:
                    continue
                if words == ["lab", "watch"]:
                    if not watching:
                        watching = True
                        watch.began()
                    watch.asked()
                    result = lab_time()
                elif words[0] == "lab":
                    result = await self.command(words[1], words[2:])
                elif words[0] == "unit":
                    result = await self.unit.command(words[1], words[2:])
                elif words[0] in self.headsets:
                    result = await self.headsets[words[0]].command(words[1], words[2:])
                else:
                    raise ValueError("lab|unit|" + "|".join(self.headsets))
                reply = "OK " + json.dumps(result, default=str)
            # Bumble cancels what waits for a connection when that ends: an answer like any other, unless we are to end ourselves.
            except (Exception, asyncio.CancelledError) as e:
                if asyncio.current_task().cancelling():
                    raise
                reply = "ERR " + (str(e) or repr(e)).replace("\n", " ")
                say("control:", line.decode(errors="replace").strip(), "->", reply)
            writer.write((reply + "\n").encode())

    async def command(self, verb, args):
        match verb:
            case "time":
                return lab_time()
            case "stalls":
                return await self.analyse(["stalls", *(["--limit", args[0]] if args else [])])
            case "patience":
                self.patience = float(args[0]) / 100
                return self.patience
            case "say":
                return say("guest:", *args)
            case "air":
                return {"ll_packets": self.air.packets, "guest_sco_from_host": self.guest.sco_in,
                        "guest_sco_to_host": self.guest.sco_out, "faults": self.air.links.faults, "cpu_s": round(time.process_time(), 2)}
            case "voice":
                if self.voice is None:
                    raise ValueError("the guest's controller is not a Broadcom: --voice pcm")
                return self.voice.status()
            case "analyse":
                return await self.analyse(args)
            case "qemu":
                return await self.machine.command(args[0], dict(word.split("=", 1) for word in args[1:]))
        raise ValueError("lab time|say|air|voice|stalls|patience|analyse|qemu")

    async def analyse(self, args):
        """Runs another process at low priority: the headsets must keep their pace."""
        process = await asyncio.create_subprocess_exec(
            "nice", "-n", "19", sys.executable, os.path.join(HERE, "analyse.py"), *args, cwd=self.dir,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env=dict(os.environ, OPENBLAS_NUM_THREADS="1"))
        out, error = await process.communicate()
        if process.returncode:
            raise RuntimeError("analyse: " + error.decode(errors="replace").strip().splitlines()[-1])
        return json.loads(out)


async def main():
    p = argparse.ArgumentParser()
    p.add_argument("--hci-socket", required=True)
    p.add_argument("--ctl-socket", action="append", default=[])
    p.add_argument("--qemu-socket", help="QEMU's control socket (QMP)")
    p.add_argument("--unit-hci-socket", help="as --hci-socket, for the unit")
    p.add_argument("--unit-ctl-socket", help="control socket of the unit's lab-watch")
    p.add_argument("--unit-shell-socket", help="the unit's shell connects here")
    p.add_argument("--dir", default=".")
    p.add_argument("--headsets", type=int, default=2)
    p.add_argument("--buttons", help="talk buttons, of serial,le")
    p.add_argument("--codecs", default="cvsd,msbc")
    p.add_argument("--profile", default="1.8")
    p.add_argument("--sco-mtu", type=int, default=120)
    p.add_argument("--voice", choices=["pcm", "host"], help="the guest's controller is a Broadcom, wired for this")
    p.add_argument("--snoop", help="write the guest's HCI traffic here (btsnoop)")
    p.add_argument("--debug", action="store_true")
    args = p.parse_args()
    logging.basicConfig(level=logging.DEBUG if args.debug else logging.ERROR, stream=sys.stderr)
    lab = Lab(args)
    for i in range(args.headsets):
        h = Headset(lab, f"h{i + 1}", f"00:1B:DC:08:00:1{i + 1}", args.codecs.split(","), args.profile)
        lab.headsets[h.name] = h
        await h.power_on()
    for kind in args.buttons.split(",") if args.buttons else []:
        name, address, make = button.KINDS[kind]
        lab.headsets[name] = make(lab, name, address, GUEST, Port)
        await lab.headsets[name].power_on()
    await asyncio.start_unix_server(lab.guest_hci, args.hci_socket)
    if args.unit_hci_socket:
        await asyncio.start_unix_server(lab.unit_hci, args.unit_hci_socket)
        # Waits of the headsets do not depend on how the unit fares.
        await asyncio.start_unix_server(functools.partial(lab.control, watch=clock.Watch()), args.unit_ctl_socket)
        await asyncio.start_unix_server(lab.unit.connected, args.unit_shell_socket)
    for path in args.ctl_socket:
        await asyncio.start_unix_server(lab.control, path)
    for code in range(counted.CODES):
        counted.sequence(code)                          # takes a moment, once
    gc.collect()
    gc.freeze()                                         # the present objects stay: collections need not examine them
    stalls = asyncio.create_task(clock.watch_stalls(os.path.join(args.dir, "headset-stalls.log")))
    say("ready")
    await stalls


if __name__ == "__main__":
    asyncio.run(main())
