"""Unit tests of the connection to QEMU. Run in the lab's Python environment: python3 -m unittest."""
import asyncio
import json
import os
import tempfile
import unittest

from machine import Machine


class Control(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.asked, self.answers, self.ended = [], [], asyncio.Event()
        path = os.path.join(self.directory.name, "qemu")
        self.server = await asyncio.start_unix_server(self.answer, path)
        self.machine = Machine(path)

    async def asyncTearDown(self):
        if self.machine.writer:
            self.machine.writer.close()
        await self.ended.wait()
        self.server.close()
        self.directory.cleanup()

    async def answer(self, reader, writer):
        """Acts like QEMU: a greeting, then an answer for each command, with events in between."""
        writer.write(b'{"QMP": {"version": {}}}\n')
        while line := await reader.readline():
            asked = json.loads(line)
            self.asked.append((asked["execute"], asked["arguments"]))
            answer = {"return": {}} if asked["execute"] == "qmp_capabilities" else self.answers.pop(0)
            if answer is None:
                break
            writer.write(json.dumps({"event": "DEVICE_DELETED"}).encode() + b"\n" + json.dumps(answer).encode() + b"\n")
        writer.close()
        self.ended.set()

    async def test_a_command_is_timed_and_answered(self):
        self.answers = [{"return": {"status": "running"}}, {"return": {}}]
        result = await self.machine.command("query-status", {})
        self.assertEqual(result["answer"], {"status": "running"})
        self.assertLessEqual(result["begin"], result["end"])
        await self.machine.command("device_del", {"id": "card"})
        self.assertEqual(self.asked, [("qmp_capabilities", {}), ("query-status", {}), ("device_del", {"id": "card"})])

    async def test_an_error_is_told_and_the_next_command_works(self):
        self.answers = [{"error": {"class": "DeviceNotFound", "desc": "Device 'card' not found"}}, {"return": {}}]
        with self.assertRaisesRegex(RuntimeError, "Device 'card' not found"):
            await self.machine.command("device_del", {"id": "card"})
        self.assertEqual((await self.machine.command("device_del", {"id": "card2"}))["answer"], {})

    async def test_a_machine_that_has_ended_is_told(self):
        self.answers = [None]
        with self.assertRaisesRegex(RuntimeError, "closed its control socket"):
            await self.machine.command("quit", {})


if __name__ == "__main__":
    unittest.main()
