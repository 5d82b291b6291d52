"""Foreign texts in the log and on the terminal, and access to them."""
import time

from bluez import HEADSETS
from bus import CALLS, DRIVER, NAME, OBJECTS, PROPERTIES, ROOT, Client, Gone, Refused
from jeepney.low_level import MessageType
from judge import Attack
from provider import NUMBER, PERSON
from users import MEMBER, STRANGER
from world import FORGED

EVIL = ["\n" + FORGED, "\x1b[31mred", "\x9b31mred", "\r" + FORGED, "\x7f\x08", "\u202etxet", "\u2028" + FORGED, "a\x1b]0;title\x07",
        "\x01\x02"]
CONTROLS = [character for number in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
            for character in [chr(number)] if character not in "\n"]
FAR = "/text/provider"


def report(path, text):
    """A member's application and call with that text everywhere; they stay until the answer arrives."""
    client = Client(path)
    for request in (("RegisterProvider", "oa{sv}", (FAR, {"name": ("s", text), "callState": ("b", True)})),
                    ("ReportIncoming", "osa{sv}", (FAR, text, {"name": ("s", text), "remoteAddress": ("s", text)})),
                    ("ReportIncoming", "osa{sv}", (FAR, "1", {"name": ("s", text)}))):
        try:
            client.call(NAME, CALLS, "org.btcall.Calls1", *request)
        except Refused:
            # Refused texts do no harm.
            if request[0] == "RegisterProvider":
                client.call(NAME, CALLS, "org.btcall.Calls1", "RegisterProvider", "oa{sv}", (FAR, {}))
    return client


class Text(Attack):
    def test_texts_of_others_are_shown_without_control_characters(self):
        """Names of headsets, callers and applications: on the terminal of any user, and in the log."""
        with self.watched(audio=False, latency=False) as there:
            for text in self.random.sample(EVIL, min(len(EVIL), self.count(3))):
                there.bluez.ask("name", HEADSETS[1], "n" + text)
                client = report(there.bus_path, "c" + text)
                for words in (("status",), ("devices",), ("calls",), ("why",), ("log",)):
                    shown = there.run(*words)
                    for output in (shown.stdout, shown.stderr):
                        self.judge_output(words[0], output.decode(errors="replace"))
                client.close()
            there.bluez.ask("name", HEADSETS[1], "Headset")

    def judge_output(self, verb, text):
        wrong = sorted({"%r" % character for character in text if character in CONTROLS})
        self.assertEqual(wrong, [], "`btcall %s` prints control characters: %.300r" % (verb, text))
        self.assertFalse(any(line.startswith(FORGED) for line in text.splitlines()), "`btcall %s`: a forged line: %.300r" % (verb, text))

    def test_texts_of_20_mebibytes_are_refused_or_cut_and_the_log_of_calls_answers(self):
        def attack(path):
            client, big = Client(path, timeout=60), "x" * (20 << 20)
            for member, signature, body in (
                    ("RegisterProvider", "oa{sv}", (FAR, {"name": ("s", big)})),
                    ("RegisterProvider", "oa{sv}", (FAR, {"capabilities": ("as", ["dtmf"])})),
                    ("ReportIncoming", "osa{sv}", (FAR, big, {})),
                    ("ReportIncoming", "osa{sv}", (FAR, "1", {"name": ("s", big)})),
                    ("ReportIncoming", "osa{sv}", (FAR, "1", {"remoteAddress": ("s", big)})),
                    ("Place", "sa{sv}", (big, {}))):
                try:
                    client.call(NAME, CALLS, "org.btcall.Calls1", member, signature, body)
                except (Refused, Gone):
                    pass
            client.close()
            return True
        with self.watched(audio=False, latency=False) as there:
            before = there.daemon.logged()
            there.attack(attack, MEMBER).result()
            other = there.client()
            entries = other.call(NAME, CALLS, "org.btcall.Calls1", "Log", "u", (0,))[0]
            longest = max((len(value[1]) for entry in entries for value in entry.values() if isinstance(value[1], str)), default=0)
            self.assertLessEqual(longest, 4096, "a text of the log of calls is as long as that")
            self.assertLess(there.daemon.logged() - before, 4 << 20, "the daemon's log has such a text as a whole")
            other.close()

    def test_a_stranger_does_not_learn_with_whom_a_call_is(self):
        def look(path):
            client, seen = Client(path), []
            client.call(*DRIVER, "AddMatch", "s", ("sender='%s'" % NAME,))
            tree = client.call(NAME, ROOT, OBJECTS, "GetManagedObjects")[0]
            seen.append(str(tree))
            for place in tree:
                for interface in tree[place]:
                    seen.append(str(client.call(NAME, place, PROPERTIES, "GetAll", "s", (interface,))))
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                seen += [str(content.body) for content in client.inbox + client.read(0.1)
                         if content.header.message_type is MessageType.signal]
                client.inbox = []
            text = "\n".join(seen)
            return [word for word in (NUMBER, PERSON, "0309999999", "Bob Other") if word in text]
        with self.watched(audio=False) as there:
            stranger = there.attack(look, STRANGER)
            time.sleep(0.5)
            client = there.client()
            client.call(NAME, CALLS, "org.btcall.Calls1", "RegisterProvider", "oa{sv}", (FAR, {}))
            client.call(NAME, CALLS, "org.btcall.Calls1", "ReportIncoming", "osa{sv}",
                        (FAR, "0309999999", {"name": ("s", "Bob Other")}))
            self.assertEqual(stranger.result(), [], "a stranger has read that")
            client.close()
