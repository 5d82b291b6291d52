"""Walks a whole call with each program of Examples, and tries the door station's (see run). Arguments: the folder of btcalld and
btcall, Examples."""

import asyncio
import os
import subprocess
import sys
import tempfile

import boxes
import door
from client import NUMBER, PATIENCE, Box, Client, NotSo, Steps, check


async def said(process, *wanted):
    """The next lines of the program, in any order: its signals and requests arrive on two paths."""
    lines = []
    for _ in wanted:
        line = await asyncio.wait_for(process.stdout.readline(), PATIENCE)
        lines.append(line.decode().strip())
    check("it said", sorted(lines), sorted(wanted))


async def heard(client, steps):
    """Sends each received block back to the application."""
    counted = []
    for _ in range(PATIENCE * 10):
        statistics, = await client.ask(
            "org.btcall", "/org/btcall/audio", "org.freedesktop.DBus.Properties", "Get", "ss", "org.btcall.Audio1", "Statistics")
        counted = statistics.value["calls"].value
        if any(call["blocksIn"].value > 20 for call in counted):
            return steps.done("blocks of audio come back from it")
        await asyncio.sleep(0.1)
    raise NotSo(f"no audio comes back: {counted}")


async def walk(client, process, steps, has_audio, is_whole):
    """One call from its report to its end: the client's view, and the requests to the application.

    has_audio: the program says the call's path and its rate. is_whole: it can hold, and send tones.
    """
    added, call, properties = await client.next()
    check("the signal", added, "CallAdded")
    # A signal goes to everybody, without the other party's identity; permitted programs ask for it.
    check("its number in the signal", properties.get("Number"), None)
    check("its number", (await client.call_property(call, "Number")).value, NUMBER)
    check("its direction", properties["Direction"].value, "incoming")
    check("its state", properties["State"].value, "ringing")
    await said(process, f"ringing: {call if has_audio else call.rsplit('/', 1)[1].replace('_', '-')}")
    steps.done("an incoming call rings, with its number")

    await client.call(call, "Answer", "a{sv}", {})
    check("the signal", await client.next(), (call, "active", ""))
    check("its state", await client.state(call), "active")
    await said(process, "asked: answer", "state: active", *(["audio: 16000"] if has_audio and is_whole else []))
    if has_audio:
        await heard(client, steps)
    steps.done("a client answers it: the application is asked, and the call is active")
    if is_whole:
        await tones_and_hold(client, process, steps, call, has_audio)
    await end(client, process, steps, call)


async def tones_and_hold(client, process, steps, call, has_audio):
    await client.call(call, "SendDTMF", "s", "12#")
    await said(process, "asked: dtmf 12#")
    steps.done("tones reach the application")

    await client.call(call, "SetHeld", "b", True)
    check("the signal", await client.next(), (call, "held", ""))
    check("its state", await client.state(call), "held")
    await said(process, "asked: hold", "state: held")
    steps.done("it is held")

    await client.call(call, "SetHeld", "b", False)
    check("the signal", await client.next(), (call, "active", ""))
    await said(process, "asked: resume", "state: active", *(["audio: 16000"] if has_audio else []))
    steps.done("it is resumed")


async def end(client, process, steps, call):
    await client.call(call, "End")
    check("the signal", await client.next(), (call, "ended", "localHangUp"))
    check("the signal", await client.next(), ("CallRemoved", call, "localHangUp"))
    await said(process, "asked: end", "state: ended")
    check("its exit code", await asyncio.wait_for(process.wait(), PATIENCE), 0)
    check("what it says besides", await process.stdout.read(), b"")
    steps.done("a client ends it, and the application ends with it")


async def example(address, name, words, has_audio, is_whole):
    """Walks with the program of that command line; returns the numbers of passed and failed steps."""
    steps = Steps(name)
    process = None
    try:
        client = await Client.connect(address)
        await client.until_there()
        process = await asyncio.create_subprocess_exec(
            *words, NUMBER, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
            env=dict(os.environ, BTCALL_BUS=address, DBUS_SYSTEM_BUS_ADDRESS=address))
        await walk(client, process, steps, has_audio, is_whole)
        client.bus.disconnect()
        return steps.passed, 0
    except (NotSo, asyncio.TimeoutError) as error:
        print(f"not ok - {name}: {error or 'nothing came in time'}", flush=True)
        return steps.passed, 1
    finally:
        if process and process.returncode is None:
            process.kill()
            await process.wait()


def programs(folder, place):
    """Each program of Examples: its name, its command line, whether it carries audio, and whether it can hold."""
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libsystemd"], stdout=subprocess.PIPE, text=True, check=True).stdout
    subprocess.run(["gcc", "-Wall", "-Werror", f"{folder}/answer.c", "-o", f"{place}/answer", *flags.split()], check=True)
    # Debian's own Python, which python3-dbus belongs to.
    return [
        ("shell-provider.sh", [f"{folder}/shell-provider.sh"], False, True),
        ("provider.py", [sys.executable, f"{folder}/provider.py"], True, True),
        ("answer.py", ["/usr/bin/python3", f"{folder}/answer.py"], True, False),
        ("answer.c", [f"{place}/answer"], True, False),
    ]


async def main(binaries, folder):
    os.environ["PATH"] = binaries + ":" + os.environ["PATH"]
    passed, failed = door.check(folder)
    with tempfile.TemporaryDirectory() as place, Box(binaries, place, "one") as box:
        for name, words, has_audio, is_whole in programs(folder, place):
            result = await example(box.address, name, words, has_audio, is_whole)
            passed, failed = passed + result[0], failed + result[1]
        with Box(binaries, place, "two") as other:
            result = await boxes.example(folder, (box.address, other.address))
            passed, failed = passed + result[0], failed + result[1]
            if failed:
                sys.stderr.write(box.log() + other.log())
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2])))
