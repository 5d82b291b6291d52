"""Talk buttons without sound: one with a serial port (RFCOMM), one of Bluetooth Low Energy (a GATT characteristic that notifies).

    b1  00:1B:DC:08:00:21   B02PTT   serial port: sends +PTT=P and +PTT=R
    b2  00:1B:DC:08:00:22   PTT-Z    Low Energy: characteristic FFE1 of service FFE0 notifies 01 and 00

Names and messages are those of devices in etc/talk-keys.conf.
"""

from bumble import core, gatt, hci, rfcomm, sdp
from bumble.device import Device, DeviceConfiguration
from bumble.keys import MemoryKeyStore, PairingKeys
from bumble.pairing import PairingConfig, PairingDelegate

import power
import radio
import talk

SERVICE, CHARACTERISTIC = 0xFFE0, 0xFFE1
SERIAL_PORT = 0x1101
FULL = "{:08x}-0000-1000-8000-00805f9b34fb"
ADVERTISING_MS = 100                                    # of a button that was just pressed; at rest they take a second or more


class Button(power.Powered):
    """What both kinds have: power, the bond, and one talk key."""
    SAYS = None                                         # the name that others see

    def __init__(self, lab, name, address, guest, port):
        super().__init__(lab, name)
        self.address, self.guest, self.make_port = address, guest, port
        self.keystore = MemoryKeyStore()
        self.key = talk.Key(self, "button", lambda: self.send(self.words[0]), lambda: self.send(self.words[1]))

    def configuration(self):
        raise NotImplementedError

    async def start(self):
        """Offers the button's service; the device is powered."""
        raise NotImplementedError

    async def send(self, word):
        raise NotImplementedError

    def parse(self, word):
        raise NotImplementedError

    async def power_on(self):
        if self.device:
            return
        self.port = self.make_port(self.lab.air, self.address)
        d = self.device = Device.from_config_with_hci(self.configuration(), self.port, self.port)
        d.pairing_config_factory = lambda c: PairingConfig(
            sc=True, mitm=False, bonding=True,
            delegate=PairingDelegate(PairingDelegate.IoCapability.NO_OUTPUT_NO_INPUT))
        self.offer()
        await d.power_on()
        d.keystore = self.keystore                      # bonds survive power cycles
        d.on("connection", self.on_connection)
        await self.start()
        self.note("power", "on")

    def offer(self):
        """Before the device is powered."""

    def on_connection(self, c):
        self.connection = c
        self.note("acl", str(c.peer_address))
        c.on("disconnection", self.on_disconnection)
        c.on("connection_encryption_change", lambda: self.note("encryption", str(c.encryption)))

    def on_disconnection(self, reason):
        self.connection = None
        self.note("acl-lost", reason)

    def link_key(self):
        return self.lab.air.key(radio.addr_bytes(self.guest), radio.addr_bytes(self.address))

    def peer(self):
        return str(hci.Address(self.guest, hci.Address.PUBLIC_DEVICE_ADDRESS))

    def status(self):
        return {"on": bool(self.device), "acl": bool(self.connection), "words": [str(w) for w in self.words]}

    async def command(self, verb, a):
        if verb in self.COMMON:
            return await self.common_command(verb, a)
        match verb, a:
            case "power", ["on"]:
                await self.power_on()
            case "power", ["off"]:
                await self.power_off()
            case "power", ["lost", *seconds]:
                return self.vanish(float(seconds[0]) if seconds else 0.0)
            case "bond", []:
                return await self.bond()
            case "talk", _:
                return await self.key.command(a)
            case "words", [pressed, released]:
                self.words = (self.parse(pressed), self.parse(released))
            case "say", [word]:
                await self.send(self.parse(word))
            case "flood", [count, word]:                # the same word this many times at once
                for _ in range(int(count)):
                    await self.send(self.parse(word))
            case "status", []:
                return self.status()
            case _:
                raise ValueError(f"unknown command {verb} {' '.join(a)}")
        return None


class SerialButton(Button):
    SAYS, CHANNEL = "B02PTT", 5

    def __init__(self, *place):
        super().__init__(*place)
        self.words = (b"+PTT=P", b"+PTT=R")
        self.dlc = None

    def parse(self, word):
        return word.encode().decode("unicode_escape").encode("latin-1")

    def configuration(self):
        return DeviceConfiguration(
            name=self.SAYS, address=hci.Address(self.address, hci.Address.PUBLIC_DEVICE_ADDRESS),
            class_of_device=0x001F00, classic_enabled=True, le_enabled=False, classic_sc_enabled=True,
            classic_ssp_enabled=True, classic_smp_enabled=False, connectable=True, discoverable=True)

    def offer(self):
        rfcomm.Server(self.device).listen(self.on_dlc, channel=self.CHANNEL)
        self.device.sdp_service_records = {0x10001: rfcomm.make_service_sdp_records(
            0x10001, self.CHANNEL, core.UUID.from_16_bits(SERIAL_PORT))}

    async def start(self):
        await self.device.set_discoverable(True)
        await self.device.set_connectable(True)

    def on_dlc(self, dlc):
        self.dlc = dlc
        self.note("port", "open")

        def closed():
            self.dlc = None
            self.note("port", "closed")
        dlc.on("close", closed)
        dlc.sink = lambda data: self.note("port-rx", data.decode(errors="replace"))

    def gone(self):
        self.dlc = None
        super().gone()

    async def send(self, word):
        if not self.dlc:
            raise RuntimeError("the serial port is not connected")
        self.dlc.write(word)

    async def bond(self):
        key = self.link_key()
        await self.keystore.update(self.peer(), PairingKeys(link_key=PairingKeys.Key(key), link_key_type=7))
        self.lab.air.keyless.discard(radio.addr_bytes(self.address))
        e, record = sdp.DataElement, self.device.sdp_service_records[0x10001]
        data = bytes(e.sequence([x for a in record for x in (e.unsigned_integer_16(a.id), a.value)]))
        return {"address": self.address, "cache":
                f"[General]\nName={self.SAYS}\n\n[ServiceRecords]\n0x00010001={data.hex().upper()}\n", "info":
                f"[General]\nName={self.SAYS}\nClass=0x001f00\nSupportedTechnologies=BR/EDR;\nTrusted=true\nBlocked=false\n"
                f"Services={FULL.format(SERIAL_PORT)};\n\n[LinkKey]\nKey={key.hex().upper()}\nType=7\nPINLength=0\n"}

    def status(self):
        return dict(super().status(), port=bool(self.dlc))


class LowEnergyButton(Button):
    SAYS = "PTT-Z"

    def __init__(self, *place):
        super().__init__(*place)
        self.words = (b"\x01", b"\x00")
        self.characteristic, self.subscribed = None, False

    def parse(self, word):
        return bytes.fromhex(word)

    def configuration(self):
        return DeviceConfiguration(
            name=self.SAYS, address=hci.Address(self.address, hci.Address.PUBLIC_DEVICE_ADDRESS),
            le_enabled=True, classic_enabled=False, advertising_interval_min=ADVERTISING_MS,
            advertising_interval_max=ADVERTISING_MS, advertising_data=bytes(core.AdvertisingData([
                (core.AdvertisingData.Type.FLAGS, bytes([0x06])),                   # general discoverable, no BR/EDR
                (core.AdvertisingData.Type.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, SERVICE.to_bytes(2, "little")),
                (core.AdvertisingData.Type.COMPLETE_LOCAL_NAME, self.SAYS.encode())])))

    def offer(self):
        self.characteristic = gatt.Characteristic(
            core.UUID.from_16_bits(CHARACTERISTIC), gatt.Characteristic.Properties.READ
            | gatt.Characteristic.Properties.WRITE_WITHOUT_RESPONSE | gatt.Characteristic.Properties.NOTIFY,
            gatt.Characteristic.READABLE | gatt.Characteristic.WRITEABLE, b"\x00")
        self.device.add_service(gatt.Service(core.UUID.from_16_bits(SERVICE), [self.characteristic]))
        self.characteristic.on("subscription", self.on_subscription)

    async def start(self):
        await self.device.start_advertising(own_address_type=hci.OwnAddressType.PUBLIC, auto_restart=True)

    def on_subscription(self, bearer, notify, indicate):
        self.subscribed = notify
        self.note("subscribed", notify)

    def on_disconnection(self, reason):
        self.subscribed = False
        super().on_disconnection(reason)

    def gone(self):
        self.subscribed = False
        super().gone()

    def vanish(self, lsto):
        if self.connection:
            self.lab.air.lose(self.address, self.guest, lsto)
        return super().vanish(lsto)

    async def send(self, word):
        if not self.connection:
            raise RuntimeError("not connected")
        await self.device.notify_subscribers(self.characteristic, word)

    async def bond(self):
        key = self.link_key()                           # of LE Secure Connections: without EDiv and Rand, the same both ways
        await self.keystore.update(self.peer(), PairingKeys(ltk=PairingKeys.Key(key)))
        stored = f"Key={key[::-1].hex().upper()}\nAuthenticated=2\nEncSize=16\nEDiv=0\nRand=0\n"
        return {"address": self.address, "cache": f"[General]\nName={self.SAYS}\n", "info":
                f"[General]\nName={self.SAYS}\nAddressType=public\nSupportedTechnologies=LE;\nTrusted=true\nBlocked=false\n"
                f"Services={FULL.format(SERVICE)};\n\n[LongTermKey]\n{stored}\n[PeripheralLongTermKey]\n{stored}"
                f"\n[SlaveLongTermKey]\n{stored}"}

    def status(self):
        return dict(super().status(), subscribed=self.subscribed)


KINDS = {"serial": ("b1", "00:1B:DC:08:00:21", SerialButton), "le": ("b2", "00:1B:DC:08:00:22", LowEnergyButton)}
