"""A talk key of a device of the lab: pressed and released by a script, singly or in a series whose times are written down."""
import asyncio
import os

from clock import lab_time

# Each press begins at another place between two packets (7.5 ms) and in a symbol of the counted signal (20 ms).
STEP_SECONDS = 0.0037


class Key:
    """press and release are coroutine functions; began: when the voice link of the latest press carried its first sample, for a
    key that is the voice link itself."""

    def __init__(self, device, name, press, release, began=None):
        self.device, self.name, self._press, self._release, self.began = device, name, press, release, began

    async def press(self):
        """Returns the time of the press."""
        at = lab_time()
        self.device.note("talk", f"{self.name} press")
        await self._press()
        return at

    async def release(self):
        at = lab_time()
        self.device.note("talk", f"{self.name} release")
        await self._release()
        return at

    async def series(self, count, held, pause, path):
        """Presses and releases COUNT times. A line of the file for each: the times of press, release and, where the key is the
        voice link, its first sample."""
        with open(path, "w") as f:
            for number in range(count):
                pressed = await self.press()
                await asyncio.sleep(max(0.0, pressed + held - lab_time()))
                began = self.began and self.began()
                released = await self.release()
                f.write(f"{pressed:.6f} {released:.6f}" + (f" {began:.6f}" if began else "") + "\n")
                await asyncio.sleep(max(0.0, released + pause + number * STEP_SECONDS % 0.04 - lab_time()))
        return {"presses": count, "file": os.path.basename(path)}

    async def command(self, a):
        """press | release | series COUNT HELD_SECONDS PAUSE_SECONDS FILE"""
        match a:
            case ["press"]:
                return {"time": await self.press()}
            case ["release"]:
                return {"time": await self.release()}
            case ["series", count, held, pause, name]:
                return await self.series(int(count), float(held), float(pause), os.path.join(self.device.lab.dir, name))
        raise ValueError("press | release | series COUNT HELD PAUSE FILE")
