"""Resources that one client can take from all: pending calls, registrations, holders, objects."""
import os
import time

from bus import AUDIO, CALLS, NAME, ROOT, ROUTER, SESSION, Client, Refused, call_message, serials
from jeepney.low_level import MessageType
from judge import Attack
from users import MEMBER

FAR = "/limits/provider"


def register(client, path=FAR, **options):
    client.call(NAME, CALLS, "org.btcall.Calls1", "RegisterProvider", "oa{sv}", (path, options))


class Limits(Attack):
    def test_1024_calls_of_one_client_that_wait_do_not_keep_others_from_being_served(self):
        """Its own application never answers, so that each of its requests waits; requests of others are carried out."""
        def attack(path):
            client = Client(path)
            register(client, capabilities=("as", ["hold", "dtmf", "mute"]))
            call = client.call(NAME, CALLS, "org.btcall.Calls1", "ReportOutgoing", "osa{sv}",
                               (FAR, "1", {"state": ("s", "active")}))[0]
            end = time.monotonic() + 2
            while time.monotonic() < end:
                one = call_message(NAME, call, "org.btcall.Call1", "SendDTMF", "s", ("1",), False).serialise(1)
                client.socket.sendall(serials((len(one), bytearray(one * 1100)), 5000))
                client.read(0.2)
            return True
        with self.watched(audio=False) as there:
            path = there.provider.ask("call")[0]
            other = there.client()
            work = there.attack(attack, MEMBER)
            time.sleep(0.8)
            for _ in range(10):
                # A refusal means that the watched call is held meanwhile: that is an answer, too.
                try:
                    other.call(NAME, path, "org.btcall.Call1", "SendDTMF", "s", ("5",), timeout=3)
                except Refused as refusal:
                    self.assertTrue(refusal.name.startswith("org.btcall.Error."), str(refusal))
                    self.assertNotIn(refusal.name, ("org.btcall.Error.TimedOut", "org.btcall.Error.ProviderFailed"), str(refusal))
                time.sleep(0.1)
            work.result()
            other.close()

    def test_registrations_without_end_are_refused_and_leave_nothing_behind(self):
        def attack(path):
            client, taken, begin = Client(path), 0, time.monotonic()
            for number in range(self.count(1000)):
                try:
                    register(client, FAR + str(number), name=("s", "x" * 100))
                    taken += 1
                except Refused:
                    if number - taken > 100:
                        break
                if time.monotonic() - begin > 20:
                    break
            for number in range(200):
                try:
                    client.call(NAME, CALLS, "org.btcall.Calls1", "RegisterContactResolver", "o", ("/r%d" % number,))
                except Refused:
                    break
            client.close()
            return taken
        with self.watched() as there:
            taken = there.attack(attack, MEMBER).result()
            print("# %d applications" % taken, flush=True)
            self.assertLessEqual(taken, 8, "so many applications of one client are registered")

    def test_calls_without_end_are_refused_and_leave_nothing_behind(self):
        def attack(path):
            client, taken = Client(path), 0
            register(client, callState=("b", False))
            end = time.monotonic() + self.seconds(2)
            while time.monotonic() < end:
                try:
                    call = client.call(NAME, CALLS, "org.btcall.Calls1", "ReportOutgoing", "osa{sv}", (FAR, "1", {}))[0]
                    taken += 1
                    if taken % 3:
                        client.call(NAME, call, "org.btcall.Call1", "Update", "sa{sv}", ("ended", {}))
                except Refused:
                    register(client, callState=("b", False))
                    client.call(NAME, CALLS, "org.btcall.Calls1", "UnregisterProvider", "o", (FAR,))
                    register(client, callState=("b", False))
                client.inbox = []
            return taken
        with self.watched(audio=False) as there:
            print("# %d calls" % there.attack(attack, MEMBER).result(), flush=True)

    def test_one_client_with_all_that_it_can_get_leaves_room_for_another_one(self):
        requests = {
            "log": (NAME, ROOT, "org.btcall.Manager1", "SubscribeLog"),
            "session": (NAME, SESSION, "org.btcall.Session1", "Activate", "a{sv}", ({},)),
            "selection": (NAME, ROUTER, "org.btcall.Router1", "AcquireSelection", "sa{sv}", ("earpiece", {})),
            "manual": (NAME, AUDIO, "org.btcall.Audio1", "AcquireManual", "a{sv}", ({},)),
            "injection": (NAME, AUDIO, "org.btcall.Audio1", "OpenInjection", "a{sv}", ({},)),
            "playback": (NAME, AUDIO, "org.btcall.Audio1", "OpenPlayback", "a{sv}", ({"to": ("s", "page")},)),
            "resolver": (NAME, CALLS, "org.btcall.Calls1", "RegisterContactResolver", "o"),
            "provider": (NAME, CALLS, "org.btcall.Calls1", "RegisterProvider", "oa{sv}")}

        def ask(client, name, number):
            body = {"resolver": ("/r%d" % number,), "provider": ("/p%d" % number, {})}.get(name)
            client.call(*requests[name], *([body] if body else []))

        def take(path):
            client, taken = Client(path), {}
            for name in requests:
                for number in range(70):
                    try:
                        ask(client, name, number)
                        taken[name] = number + 1
                    except Refused:
                        break
            print("# one client took %s" % taken, flush=True)
            os.write(done, b"x")
            while True:
                client.read(1)

        def another(path):
            client, refused = Client(path), []
            for name in requests:
                try:
                    ask(client, name, 0)
                except Refused as refusal:
                    refused.append("%s: %s" % (name, refusal))
            return refused
        with self.watched() as there:
            told, done = os.pipe()
            first = there.attack(take, MEMBER)
            os.read(told, 1)
            refused = there.attack(another, MEMBER).result()
            first.end()
            os.close(told)
            os.close(done)
            self.assertEqual(refused, [], "another client gets nothing")

    def test_a_configurator_that_excludes_250000_devices_keeps_nobody_waiting(self):
        """The daemon asks it before it opens a card of the board: at the next call."""
        words = ["bluetooth:%02X:%02X:%02X:00:00:00" % (number >> 16, number >> 8 & 255, number & 255) for number in range(250000)]

        def attack(path):
            client, asked = Client(path, timeout=60), 0
            client.call(NAME, SESSION, "org.btcall.Session1", "RegisterConfigurator", "o", ("/c",))
            client.call(NAME, ROUTER, "org.btcall.Router1", "Refresh")
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                for content in client.inbox + client.read(0.2):
                    if content.header.message_type is MessageType.method_call:
                        asked += 1
                        client.reply(content, "a{sv}", ({"exclude": ("as", words)},))
                client.inbox = []
            return asked
        # It is asked once for each opened device: reading a single answer may be slow, but must not take seconds.
        with self.watched(audio=False, latency=False) as there:
            work = there.attack(attack, MEMBER)
            time.sleep(0.3)
            # Closes the call's path and opens it again, with the configurator's answer.
            client = there.client()
            handle = client.call(NAME, ROUTER, "org.btcall.Router1", "Interrupt", "sa{sv}", ("attack", {}))[0]
            os.close(handle)
            client.close()
            print("# asked %d times" % work.result(), flush=True)

    def test_an_application_that_never_answers_delays_only_itself(self):
        def attack(path):
            client = Client(path)
            register(client, schemes=("as", ["silent"]), capabilities=("as", ["dial"]))
            for _ in range(20):
                client.post(NAME, CALLS, "org.btcall.Calls1", "Place", "sa{sv}", ("silent:1", {}))
            end = time.monotonic() + self.seconds(2)
            while time.monotonic() < end:
                client.read(0.1)
            return True
        with self.watched(audio=False) as there:
            there.attack(attack, MEMBER).result()
