"""The unit: a second guest, whose Bluetooth stack is somebody else's hands-free unit. Commands to its shell (guest/unit-shell.sh)."""
import asyncio


class Unit:
    def __init__(self):
        self.lock = asyncio.Lock()                      # one command at a time
        self.there = asyncio.Event()
        self.reader = self.writer = None

    async def connected(self, reader, writer):
        """QEMU connects before the unit has started: what is sent until then waits in its socket."""
        self.reader, self.writer = reader, writer
        self.there.set()

    async def command(self, verb, args):
        """sh COMMAND: one line for the unit's shell. Returns what it printed; fails with that if its status is not 0."""
        if verb != "sh" or len(args) != 1 or "\n" in args[0]:
            raise ValueError("unit sh COMMAND (one line)")
        async with self.lock:
            await self.there.wait()
            self.writer.write(args[0].encode() + b"\n")
            head = await self.reader.readline()
            if not head.endswith(b"\n"):
                raise RuntimeError("the unit has ended")
            status, size = (int(word) for word in head.split())
            said = (await self.reader.readexactly(size)).decode(errors="replace")
        if status:
            raise RuntimeError(f"unit: status {status}: {said}")
        return said
