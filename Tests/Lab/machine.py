"""The machine that the guest runs in: QEMU, through its control socket (QMP)."""
import asyncio
import json

from clock import lab_time


class Machine:
    def __init__(self, path):
        self.path = path
        self.lock = asyncio.Lock()                      # one command at a time
        self.reader = self.writer = None

    async def command(self, name, arguments):
        """Sends one command, with the lab time before and after it: its effect on the machine lies between."""
        async with self.lock:
            if not self.writer:
                self.reader, self.writer = await asyncio.open_unix_connection(self.path)
                await self.reader.readline()            # QEMU introduces itself
                await self.exchange("qmp_capabilities", {})
            begin = lab_time()
            answer = await self.exchange(name, arguments)
            return {"begin": begin, "end": lab_time(), "answer": answer}

    async def exchange(self, name, arguments):
        self.writer.write(json.dumps({"execute": name, "arguments": arguments}).encode() + b"\n")
        while line := await self.reader.readline():
            message = json.loads(line)
            if "error" in message:
                raise RuntimeError("QEMU: " + message["error"]["desc"])
            if "return" in message:                     # everything else is an event
                return message["return"]
        self.writer.close()
        self.writer = None
        raise RuntimeError("QEMU has closed its control socket")
