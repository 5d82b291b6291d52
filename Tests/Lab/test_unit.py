"""Unit tests of the way to the unit's shell, of the programs' connection to the bus, and of recordings from a pipe."""
import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import wave

from unit import Unit

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "guest"))
import bus


class Shell(unittest.IsolatedAsyncioTestCase):
    """The shell of the guest, on this machine: its channel is a socket, its files are in a directory."""
    async def asyncSetUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.unit = Unit()
        ours, theirs = socket.socketpair()
        await self.unit.connected(*await asyncio.open_connection(sock=ours))
        with open(os.path.join(HERE, "guest/unit-shell.sh")) as f:
            text = f.read()
        self.assertEqual(text.count("exec 3<>/run/lab/shell\n"), 1)
        # A socket cannot be opened by its name.
        text = text.replace("exec 3<>/run/lab/shell\n", f"exec 3<&{theirs.fileno()}\n").replace("/run/lab", self.directory.name)
        self.process = subprocess.Popen(["bash", "-c", text], pass_fds=[theirs.fileno()], cwd=self.directory.name)
        theirs.close()

    async def asyncTearDown(self):
        self.unit.writer.close()
        self.process.kill()
        self.process.wait()
        self.directory.cleanup()

    async def test_a_command_s_output_is_its_answer_and_its_status_fails(self):
        self.assertEqual(await self.unit.command("sh", ["echo one; echo zwölf"]), "one\nzwölf")
        self.assertEqual(await self.unit.command("sh", ["true"]), "")
        with self.assertRaisesRegex(RuntimeError, "status 3: no"):
            await self.unit.command("sh", ["echo no; (exit 3)"])

    async def test_commands_share_a_shell_and_a_background_program_holds_up_none(self):
        await self.unit.command("sh", ["name=value; sleep 30 & sleeper=$!"])
        self.assertEqual(await self.unit.command("sh", ["echo $name"]), "value")
        self.assertEqual(await self.unit.command("sh", ["kill $sleeper && echo ended"]), "ended")

    async def test_what_is_no_command_is_refused_with_what_would_be_one(self):
        for arguments in ("sh", []), ("sh", ["a", "b"]), ("sh", ["a\nb"]), ("run", ["a"]):
            with self.assertRaisesRegex(ValueError, "unit sh COMMAND"):
                await self.unit.command(*arguments)


class Bus(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.directory.name, "bus")
        self.daemon = subprocess.Popen(["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address=unix:path={self.path}"],
                                       stderr=subprocess.DEVNULL)
        end = time.monotonic() + 10
        while not os.path.exists(self.path) and time.monotonic() < end:
            time.sleep(0.02)

    def tearDown(self):
        self.daemon.kill()
        self.daemon.wait()
        self.directory.cleanup()

    def test_a_call_is_answered_and_passes_between_programs(self):
        there = bus.Bus(self.path)
        there.call("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "RequestName", "su", bus.padded(bus.text("a.b"), 4) + bytes(4))
        server = subprocess.Popen([sys.executable, "-c", f"import sys; sys.path.insert(0, {os.path.join(HERE, 'guest')!r})\n"
                                   f"import bus\nbody, _ = bus.Bus({self.path!r}).call('a.b', '/x', 'a.b', 'Say', 's', bus.text('hello'))\n"
                                   "print(body[4:-1].decode())"], stdout=subprocess.PIPE)
        while True:
            kind, fields, body, _ = there.receive()
            if kind == bus.CALL:
                break
        self.assertEqual((fields[bus.PATH], fields[bus.MEMBER], body[4:-1]), ("/x", "Say", b"hello"))
        there.answer(fields, "s", bus.text("and you"))
        self.assertEqual(server.communicate()[0], b"and you\n")

    def test_a_call_that_fails_names_the_error(self):
        with self.assertRaisesRegex(SystemExit, "a.b.Say: org.freedesktop.DBus.Error.ServiceUnknown"):
            bus.Bus(self.path).call("no.body", "/x", "a.b", "Say")


class Recording(unittest.TestCase):
    def test_what_another_program_writes_is_recorded_with_its_times_to_the_last_whole_sample(self):
        program = os.path.join(os.environ.get("LAB_DIR", "/var/tmp/btcall-lab"), "bin", "lab-pcm")
        samples = bytes(range(256)) * 25                # 3,200 samples: 0.2 s
        with tempfile.TemporaryDirectory() as directory:
            base = os.path.join(directory, "heard")
            subprocess.run([program, "record", "-", base, "16000", "1"], input=samples + b"x", stderr=subprocess.DEVNULL,
                           env={**os.environ, "LAB_CLOCK": "unit"}, check=True)
            with wave.open(base + ".wav") as w:
                self.assertEqual((w.getframerate(), w.getnchannels(), w.readframes(4000)), (16000, 1, samples))
            with open(base + ".times") as f:
                lines = f.read().splitlines()
        self.assertEqual(lines[:2], ["# clock unit", "# mode arrival"])
        self.assertEqual(int(lines[-1].split()[0]), 3200)


if __name__ == "__main__":
    unittest.main()
