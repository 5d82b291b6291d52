"""The gateway of Examples/talk: two boxes, one floor."""

import asyncio
import contextlib
import importlib.util
import io
import os
import random
import socket
import subprocess
import sys
import time

from dbus_next import DBusError

from client import PATIENCE, Client, NotSo, Steps, check

# The gateway's port is fixed: addresses that no other run of the tests on this machine has.
PLACES = tuple("127.%d.%d.%d" % (random.randrange(1, 255), random.randrange(256), last) for last in (1, 2))
# The gateway waits 0.4 s for the other one: after a stall of so many seconds the machine is to blame.
STALL = 0.2


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
        # The call of an earlier gateway may still be ending.
        signal = await self.client.next()
        while signal[0] != "CallAdded":
            signal = await self.client.next()
        self.call = signal[1]

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
    # Both hear of it after the tail.
    await first.says("floor: free")
    await second.says("floor: free")
    steps.done("of two that press at the same time one talks")

    first.process.kill()
    await first.process.wait()
    refusal = await second.talk(True)
    check("the refusal", "does not answer" in (refusal or ""), True)
    steps.done("without the other box nobody talks")


async def sound(program):
    """Two gateways without btcalld: blocks of a call reach the other one while the first has the floor."""
    spec = importlib.util.spec_from_file_location("gateway", program)
    gateway = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gateway)
    sides = []
    try:
        for here, there in (PLACES, PLACES[::-1]):
            network = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            network.bind((here, gateway.PORT))
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            side = gateway.Gateway(network, there)
            side.AudioReady("/call", theirs.detach(), {})
            ours.settimeout(PATIENCE)
            sides.append((side, ours, network))
        await speak(sides)
    finally:
        for _, line, network in sides:
            line.close()
            asyncio.get_running_loop().remove_reader(network)
            network.close()


async def speak(sides):
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


async def attempt(program, addresses, steps):
    """Why it failed; None: it did not."""
    sides = []
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            await sound(program)
        steps.done("blocks pass while a box has the floor, and not before")
        for address, here, there in zip(addresses, PLACES, PLACES[::-1]):
            sides.append(Side())
            await sides[-1].start(program, address, here, there)
        await walk(*sides, steps)
        return None
    except (NotSo, DBusError, asyncio.TimeoutError) as error:
        return str(error) or "nothing came in time"
    finally:
        for side in sides:
            await side.stop()


async def longest_stall(worst):
    """Notes in `worst` the longest time in seconds for which this program did not run, until it is cancelled."""
    while True:
        before = time.monotonic()
        await asyncio.sleep(0.02)
        worst[0] = max(worst[0], time.monotonic() - before - 0.02)


async def example(folder, addresses):
    """Returns the numbers of passed and failed steps; tries once more after a failure of a machine that stood still."""
    for is_last in (False, True):
        steps, worst = Steps("talk/gateway.py"), [0]
        watch = asyncio.create_task(longest_stall(worst))
        problem = await attempt(f"{folder}/talk/gateway.py", addresses, steps)
        watch.cancel()
        if not problem:
            return steps.passed, 0
        if is_last or worst[0] < STALL:
            print(f"not ok - {steps.program}: {problem}", flush=True)
            return steps.passed, 1
        print(f"# {steps.program}: the machine stood still for {worst[0]:.1f} s; once more after: {problem}", flush=True)
