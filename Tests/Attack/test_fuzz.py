"""Every member of every interface with every type of argument, as everybody and as a member of the group."""
import os
import random
import time

from bluez import HEADSETS
from bus import AUDIO, CALLS, NAME, OBJECTS, PAIRING, PEER, PROPERTIES, ROOT, ROUTER, SESSION, Client, Refused, call_message
from bus import sender
from jeepney.low_level import MessageType
from judge import Attack, Plan
from users import MEMBER, STRANGER
from values import STANDARD, Values, derived_times, interfaces, split
from world import World

# Replies that the fuzzer awaits at once.
WINDOW = 48
PROVIDER = "/fuzz/provider"
PLACES = {"Manager1": [ROOT], "Calls1": [CALLS], "Router1": [ROUTER], "Audio1": [AUDIO], "Session1": [SESSION], "Pairing1": [PAIRING]}
# They end everything under attack: one in a hundred is enough.
LAST = {"Deactivate", "Logout", "End", "UnregisterProvider", "Stop", "Disconnect"}


class Fuzzer:
    """One client that makes random calls, and answers calls at random."""

    def __init__(self, path, seed, user):
        self.random, self.client, self.user = random.Random(seed), Client(path), user
        self.interfaces = interfaces()
        words = ["speakerphone", "earpiece", "wiredHeadset", "bluetooth", "none", *HEADSETS, *("bluetooth:" + it for it in HEADSETS)]
        words += [interface.name for interface in self.interfaces] + [PROPERTIES, OBJECTS, "pcm", "attacked", "fuzz"]
        words += [name for interface in self.interfaces for name, _, _ in interface.properties]
        settings = self.client.settings()
        words += list(settings) * 2 + [setting["value"] for setting in settings.values()]
        words += [word for setting in settings.values() for word in setting["accepted"].replace(",", " ").replace(":", " ").split()]
        self.settings = sorted(settings)
        self.values = Values(self.random, words, [ROOT, CALLS, ROUTER, AUDIO, SESSION, PAIRING, PROVIDER, "/"])
        self.objects, self.sent, self.waiting, self.refused = {}, 0, 0, 0
        self.look()

    def look(self):
        """The daemon's present objects."""
        try:
            tree = self.client.call(NAME, ROOT, OBJECTS, "GetManagedObjects")[0]
        except Refused:
            # Too many of its calls are pending.
            return
        self.objects = {}
        for path, has in tree.items():
            for name in has:
                self.objects.setdefault(name, []).append(path)
        calls = [path for path in tree if path.startswith(CALLS + "/")]
        self.values.paths += calls + [path for path in tree if path not in self.values.paths]
        self.values.words += [path.rsplit("/", 1)[1].replace("_", "-") for path in calls]

    def register(self):
        self.client.call(NAME, CALLS, "org.btcall.Calls1", "RegisterProvider", "oa{sv}",
                         (PROVIDER, {"name": ("s", "fuzz"), "capabilities": ("as", ["dial", "hold", "video", "dtmf", "swap"])}))

    def members(self):
        """A random member: path, interface, name, signature, options."""
        draw = self.random
        if draw.random() < (0.8 if self.user == STRANGER else 0.15):
            interface, name, signature = draw.choice(STANDARD + [("org.btcall.Router1", "Explain", "a{sv}"),
                                                                 ("org.btcall.Manager1", "ListSettings", "")])
            options = [("time", "x")]
        else:
            found = draw.choice(self.interfaces)
            if draw.random() < 0.25 and found.properties:
                return self.property(found)
            if not found.methods:
                return None
            interface, options = found.name, found.options
            name, signature = draw.choice(found.methods)
            if name in LAST and draw.random() > 0.01:
                return None
        word = interface.rsplit(".", 1)[1]
        places = PLACES.get(word) or self.objects.get(interface) or self.values.paths
        return draw.choice(places if draw.random() < 0.95 else self.values.paths), interface, name, signature, options

    def property(self, found):
        name, signature, access = self.random.choice(found.properties)
        place = self.random.choice(PLACES.get(found.name.rsplit(".", 1)[1]) or self.objects.get(found.name) or self.values.paths)
        if "write" in access and self.user == MEMBER and self.random.random() < 0.7:
            # Mostly with the correct type.
            kind = signature if self.random.random() < 0.8 else self.random.choice(["s", "i", "d", "a{sv}"])
            return place, PROPERTIES, "Set", "ssv", (found.name, name, (kind, self.values.value(kind, found.options)))
        return place, PROPERTIES, "Get", "ss", (found.name, name)

    def step(self):
        drawn = self.members()
        if drawn is None:
            return
        path, interface, name, signature, options = drawn
        if isinstance(options, tuple):
            body = options
        else:
            if self.random.random() < 0.05:
                signature = "".join(self.random.choice(["s", "u", "a{sv}", "o", "x", "v"]) for _ in range(self.random.randrange(4)))
            body = tuple(self.values.value(part, options) for part in split(signature))
            if name in ("SetSetting", "ResetSetting") and signature.startswith("s") and self.random.random() < 0.9:
                body = (self.random.choice(self.settings), *body[1:])
            elif name in ("ReportIncoming", "ReportOutgoing", "RegisterProvider") and signature.startswith("o"):
                body = (PROVIDER, *body[1:])
        try:
            self.client.send(call_message(NAME, path, interface, name, signature, body))
        except (UnicodeEncodeError, ValueError):
            return
        self.sent, self.waiting = self.sent + 1, self.waiting + 1
        while self.waiting >= WINDOW:
            self.read(5)

    def read(self, timeout):
        contents = self.client.inbox + self.client.read(timeout)
        self.client.inbox = []
        if not contents and timeout:
            # The remaining calls wait for a provider that never answers; the bus allows 128 pending calls per client.
            self.waiting = WINDOW // 2
        for content in contents:
            kind = content.header.message_type
            if kind is MessageType.method_call:
                self.answer(content)
            elif kind is not MessageType.signal:
                self.waiting = max(0, self.waiting - 1)
                self.refused += kind is MessageType.error
                for value in content.body:
                    if isinstance(value, int) and "h" in str(content.header.fields.get(8, "")):
                        os.close(value)

    def answer(self, content):
        """Answers PerformStart and similar calls: yes, no, nonsense, or not at all."""
        for value, part in zip(content.body, str(content.header.fields.get(8, ""))):
            if part == "h":
                os.close(value)
        kind = self.random.randrange(5)
        if kind < 2:
            self.client.reply(content)
        elif kind == 2:
            self.client.refuse(content, "org.btcall.Error.NotSupported", self.values.text())
        elif kind == 3:
            self.client.reply(content, "sv", (self.values.text(), self.values.value("v")))

    def go(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for _ in range(200):
                self.step()
                if time.monotonic() > end:
                    break
            self.read(0)
            self.look()
        return self.sent, self.refused


def fuzz(path, seed, user, seconds):
    fuzzer = Fuzzer(path, seed, user)
    if user == MEMBER:
        fuzzer.register()
    return fuzzer.go(seconds)


class Fuzzing(Attack):
    def fuzz(self, user, seconds, **judged):
        with self.watched(**judged) as there:
            seed = "%d %s" % (Plan.seed, user)
            sent, refused = there.attack(lambda path: fuzz(path, seed, user, seconds), user).result(seconds + 60)
            print("# %d calls, %d of them refused" % (sent, refused), flush=True)
            self.assertGreater(sent, 100)

    def test_calls_at_random_by_everybody_hurt_nobody(self):
        self.fuzz(STRANGER, self.seconds(3))

    def test_calls_at_random_by_a_member_of_the_group_leave_the_daemon_running(self):
        # The member may change call, headset and settings: a new world follows.
        try:
            self.fuzz(MEMBER, self.seconds(6), audio=False, headset=False)
        finally:
            World.discard()

    def test_explain_answers_for_every_time_that_follows_from_the_clocks(self):
        def ask(path):
            client, sent = Client(path), 0
            for number in derived_times():
                client.send(call_message(NAME, ROUTER, "org.btcall.Router1", "Explain", "a{sv}", ({"time": ("x", number)},)))
                sent += 1
                while sent > WINDOW:
                    sent -= len(client.read(5)) or sent
            client.call(NAME, ROOT, PEER, "Ping", timeout=10)
            return True
        with self.watched(latency=False) as there:
            there.attack(ask, STRANGER).result()

    def test_reports_of_calls_at_every_time_that_follows_from_the_clocks_are_answered(self):
        def report(path):
            client, sent = Client(path), 0
            client.call(NAME, CALLS, "org.btcall.Calls1", "RegisterProvider", "oa{sv}", (PROVIDER, {"callState": ("b", False)}))
            for number in derived_times(64, False)[::7]:
                client.send(call_message(NAME, CALLS, "org.btcall.Calls1", "ReportOutgoing", "osa{sv}",
                                         (PROVIDER, "1", {"state": ("s", "active"), "time": ("t", number)})))
                sent += 1
                while sent > WINDOW:
                    sent -= len([content for content in client.read(5) if sender(content)]) or sent
            client.call(NAME, ROOT, PEER, "Ping", timeout=10)
            return True
        with self.watched(latency=False, audio=False) as there:
            there.attack(report, MEMBER).result()
