"""A bluetoothd without a radio: one adapter and two paired headsets, whose control connections are pairs of sockets."""
import os
import socket

from bus import DRIVER, PROPERTIES, Client, Gone, member, signal_message
from jeepney.low_level import HeaderFields, MessageType
from users import Process, serve

ADAPTER, DEVICE = "/org/bluez/hci0", "/org/bluez/hci0/dev_%s"
HEADSETS = ("00:1B:66:A1:B2:01", "00:1B:66:A1:B2:02")
GATEWAY = "0000111f-0000-1000-8000-00805f9b34fb"
SERVICES = ["0000111e-0000-1000-8000-00805f9b34fb", "0000110b-0000-1000-8000-00805f9b34fb"]


def device_path(address):
    return DEVICE % address.replace(":", "_")


def objects():
    adapter = {"Address": ("s", "00:1A:7D:00:00:01"), "Name": ("s", "btcall"), "Alias": ("s", "btcall"), "Class": ("u", 0x400000),
               "Powered": ("b", True), "Discoverable": ("b", False), "DiscoverableTimeout": ("u", 180), "Pairable": ("b", False),
               "Discovering": ("b", False), "UUIDs": ("as", [])}
    tree = {"/org/bluez": {"org.bluez.ProfileManager1": {}, "org.bluez.AgentManager1": {}},
            ADAPTER: {"org.bluez.Adapter1": adapter, "org.bluez.Media1": {}}}
    for address in HEADSETS:
        name = "Headset %s" % address[-2:]
        tree[device_path(address)] = {"org.bluez.Device1": {
            "Address": ("s", address), "Adapter": ("o", ADAPTER), "Name": ("s", name), "Alias": ("s", name),
            "Class": ("u", 0x240404), "Icon": ("s", "audio-headset"), "Paired": ("b", True), "Trusted": ("b", True),
            "Blocked": ("b", False), "Connected": ("b", False), "ServicesResolved": ("b", True), "UUIDs": ("as", SERVICES)}}
    return tree


class BlueZ:
    """Answers btcalld like bluetoothd, and carries out the attack's actions."""

    def __init__(self, path):
        self.bus = Client(path)
        self.bus.call(*DRIVER, "RequestName", "su", ("org.bluez", 4))
        self.objects, self.profiles, self.headsets = objects(), {}, {}

    def serve(self, channel):
        serve(channel, {"ready": self.ready, "connect": self.connect, "cut": self.cut, "name": self.rename, "hand": self.hand,
                        "forget": self.profiles.clear},
              lambda: [(self.bus, self.read)])

    def ready(self):
        self.read()
        return sorted(self.profiles)

    def read(self):
        for content in self.bus.inbox + self.bus.read():
            self.take(content)
        self.bus.inbox = []

    def take(self, content):
        if content.header.message_type is not MessageType.method_call:
            return
        word, body = member(content), content.body
        try:
            if word == "GetManagedObjects":
                self.bus.reply(content, "a{oa{sa{sv}}}", (self.objects,))
            elif word == "RegisterProfile":
                self.profiles[body[1]] = (content.header.fields[HeaderFields.sender], body[0])
                self.bus.reply(content)
            elif word in ("Connect", "ConnectProfile", "Pair", "Acquire", "TryAcquire"):
                self.bus.refuse(content, "org.bluez.Error.Failed", "br-connection-page-timeout")
            elif word == "Get" and content.header.fields[HeaderFields.interface] == PROPERTIES:
                path = content.header.fields[HeaderFields.path]
                self.bus.reply(content, "v", (self.objects.get(path, {}).get(body[0], {}).get(body[1], ("s", "")),))
            else:
                self.bus.reply(content)
        except Gone:
            # The caller has left.
            pass

    def changed(self, path, name, value):
        self.objects[path]["org.bluez.Device1"][name] = value
        self.bus.send(signal_message(path, PROPERTIES, "PropertiesChanged", "sa{sv}as",
                                     ("org.bluez.Device1", {name: value}, [])))

    def connect(self, address):
        """Connects a headset; returns its end of the connection."""
        self.cut(address)
        gateway, headset = socket.socketpair()
        gateway.setblocking(False)
        self.changed(device_path(address), "Connected", ("b", True))
        owner, path = self.profiles[GATEWAY]
        self.bus.call(owner, path, "org.bluez.Profile1", "NewConnection", "oha{sv}",
                      (device_path(address), gateway, {"Version": ("q", 0x0107), "Features": ("q", 0)}))
        gateway.close()
        # Used to cut both ends off.
        self.headsets[address] = headset.dup()
        return "", [headset.detach()]

    def cut(self, address):
        headset = self.headsets.pop(address, None)
        if headset:
            try:
                headset.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            headset.close()
            self.changed(device_path(address), "Connected", ("b", False))

    def rename(self, address, text):
        """Sets a headset's name, as anybody with a radio could."""
        for name in ("Name", "Alias"):
            self.changed(device_path(address), name, ("s", text))

    def hand(self, address, descriptors=()):
        """Calls NewConnection with that descriptor, like a broken bluetoothd; returns the outcome."""
        owner, path = self.profiles[GATEWAY]
        try:
            self.bus.call(owner, path, "org.bluez.Profile1", "NewConnection", "oha{sv}",
                          (device_path(address), descriptors[0], {}), timeout=5)
            return "accepted"
        except Exception as refusal:
            return str(refusal)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)


def start(path):
    bluez = Process(lambda channel: BlueZ(path).serve(channel))
    bluez.ask("ready")
    return bluez
