"""The gateway of Examples/talk: two boxes, one floor."""

import asyncio
import contextlib
import importlib.util
import io
import os
import socket
import subprocess
import sys

from client import PATIENCE, Client, NotSo, Steps, check

PLACES = ("127.0.0.1", "127.0.0.2")


class Side:
    """One box: its gateway, the client that presses its talk key, and its call."""

    client = process = None

    async def start(self, program, address, here, there):
        self.client = await Client.connect(address)
        await self.client.until_there()
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, program, here, there, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
            env=dict(os.environ, BTCALL_BUS=address))
        await self.says("connected")
        added, self.call, _ = await self.client.next()
        check("the signal", added, "CallAdded")

    async def says(self, wanted):
        line = await asyncio.wait_for(self.process.stdout.readline(), PATIENCE)
        check("it said", line.decode().strip(), wanted)

    async def talk(self, pressed):
        """Returns the refusal; None when the key may talk."""
        try:
            await self.client.ask("org.btcall", "/org/btcall/calls", "org.btcall.Calls1", "SetTalk", "ba{sv}", pressed, {})
            return None
        except NotSo as error:
            return str(error)

    async def reaches(self, state):
        found = None
        for _ in range(PATIENCE * 20):
            found = (await self.client.call_property(self.call, "TalkState")).value
            if found == state:
                return
            await asyncio.sleep(0.05)
        raise NotSo(f"the state of talking is {found} instead of {state}")

    async def stop(self):
        if self.process and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        if self.client:
            self.client.bus.disconnect()


async def walk(first, second, steps):
    check("the mode", (await first.client.call_property(first.call, "TalkMode")).value, "push")
    await first.reaches("listening")
    await second.reaches("listening")
    steps.done("both boxes listen")

    check("the refusal", await first.talk(True), None)
    await first.says("floor: ours")
    await second.says("floor: theirs")
    await first.reaches("talking")
    steps.done("one box talks")

    refusal = await second.talk(True)
    check("the refusal", "the other box talks" in (refusal or ""), True)
    await second.reaches("listening")
    steps.done("the other one may not meanwhile, and is told why")

    await first.talk(False)
    await first.says("floor: free")
    await second.says("floor: free")
    await first.reaches("listening")
    check("the refusal", await second.talk(True), None)
    await second.says("floor: ours")
    await first.says("floor: theirs")
    await second.talk(False)
    await second.says("floor: free")
    await first.says("floor: free")
    steps.done("it may when the first one has finished")

    refusals = await asyncio.gather(first.talk(True), second.talk(True))
    check("the refusals", [refusal is None for refusal in refusals].count(True), 1)
    winner, loser = (first, second) if refusals[0] is None else (second, first)
    await winner.says("floor: ours")
    await loser.says("floor: theirs")
    await winner.talk(False)
    steps.done("of two that press at the same time one talks")

    first.process.kill()
    await first.process.wait()
    await second.says("floor: free")
    refusal = await second.talk(True)
    check("the refusal", "does not answer" in (refusal or ""), True)
    steps.done("without the other box nobody talks")


async def sound(program):
    """Two gateways without btcalld: blocks of a call reach the other one while the first has the floor."""
    spec = importlib.util.spec_from_file_location("gateway", program)
    gateway = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gateway)
    sides = []
    for here, there in (PLACES, PLACES[::-1]):
        network = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        network.bind((here, gateway.PORT))
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        side = gateway.Gateway(network, there)
        side.AudioReady("/call", theirs.detach(), {})
        ours.settimeout(PATIENCE)
        sides.append((side, ours, network))
    (first, near, _), (second, far, _) = sides

    async def exchange(line, block):
        loop = asyncio.get_running_loop()
        line.send(block)
        return await loop.run_in_executor(None, line.recv, 2048)
    silence = bytes(320)
    await exchange(near, b"n" * 320)
    check("before the press", await exchange(far, silence), silence)
    await first.talk(True)
    check("the floor", (first.floor, second.floor), ("ours", "theirs"))
    await exchange(near, b"w" * 320)
    heard = [await exchange(far, silence) for _ in range(3)]
    check("the word", heard.count(b"w" * 320), 1)
    await first.talk(False)
    for side, line, network in sides:
        line.close()
        asyncio.get_running_loop().remove_reader(network)
        network.close()


async def example(folder, addresses):
    """Returns the numbers of passed and failed steps."""
    program, steps, sides = f"{folder}/talk/gateway.py", Steps("talk/gateway.py"), []
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            await sound(program)
        steps.done("blocks pass while a box has the floor, and not before")
        for address, here, there in zip(addresses, PLACES, PLACES[::-1]):
            sides.append(Side())
            await sides[-1].start(program, address, here, there)
        await walk(*sides, steps)
        return steps.passed, 0
    except (NotSo, asyncio.TimeoutError) as error:
        print(f"not ok - {steps.program}: {error or 'nothing came in time'}", flush=True)
        return steps.passed, 1
    finally:
        for side in sides:
            await side.stop()
