"""What happens to a device of the lab: noted with the time, waited for by a script."""
import asyncio

import clock
from clock import lab_time, say


class Log:
    """A device with events. Its commands are those of every device: wait, mark, events."""

    def __init__(self, lab, name):
        self.lab, self.name = lab, name
        self.events, self.cursor, self.wake = [], 0, asyncio.Event()

    def note(self, kind, value):
        self.events.append((lab_time(), kind, value))
        say(f"{self.name}: {kind} {value}")
        self.wake.set()

    async def wait(self, kind, timeout, value=None):
        """Next event of a kind after the cursor, which moves behind it. Stalled time of the lab does not count."""
        def found():
            for i in range(self.cursor, len(self.events)):
                t, k, v = self.events[i]
                if k == kind and (value is None or value in str(v)):
                    self.cursor = i + 1
                    return {"t": t, "event": k, "value": v}
            return None
        return await self.until(found, timeout, f"no {kind} {value or ''}")

    async def until(self, condition, timeout, failure):
        """Waits until the condition holds, which only changes with an event; returns its value."""
        end = lab_time() - clock.watch.stalled() + timeout
        while not (result := condition()):
            self.wake.clear()
            left = end + clock.watch.stalled() - lab_time()
            if left <= 0:
                raise TimeoutError(f"{failure} in {timeout} s")
            try:
                await asyncio.wait_for(self.wake.wait(), left)
            except asyncio.TimeoutError:
                pass
        return result

    COMMON = ("wait", "mark", "events")

    async def common_command(self, verb, a):
        if verb == "wait":
            return await self.wait(a[0], self.lab.patience * float(a[1]), a[2] if len(a) > 2 else None)
        if verb == "mark":                                # wait only sees later events
            self.cursor = len(self.events)
            return None
        since = int(a[0]) if a else 0
        return [[round(t, 3), k, v] for t, k, v in self.events[since:]]
