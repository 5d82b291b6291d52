"""The power of a simulated device: switched off in order, or gone from one packet to the next."""
import asyncio

import events
from clock import lab_time


class Powered(events.Log):
    """A device that `power_on` of its class switches on: `device` is its host stack, `port` its way to the controller."""

    def __init__(self, lab, name):
        super().__init__(lab, name)
        self.device = self.port = self.connection = None

    def gone(self):
        """Forgets what existed while it was on."""
        self.device = self.port = self.connection = None

    async def power_off(self):
        if self.device:
            if self.connection:                         # an orderly switch-off
                await asyncio.wait_for(self.connection.disconnect(0x15), 3)
            await asyncio.sleep(0.1)
            self.port.controller.cut()
            self.gone()
            self.note("power", "off")

    def vanish(self, lsto):
        """An empty battery, or out of reach: not a packet from now on. Returns when the last ones have passed."""
        if self.device:
            self.port.controller.host_alive = False
            self.port.controller.cut(lsto)
            self.gone()
            self.note("power", f"lost lsto={lsto}")
        return {"time": lab_time()}
