"""A hostile or broken headset: its control connection, and the source of such connections."""
import os
import re
import select
import socket
import time

import descriptors
from bluez import HEADSETS, device_path
from bus import INTROSPECTABLE, NAME, Client, Refused
from judge import Attack
from users import MEMBER, STRANGER
from watch import SET_UP
from world import REPOSITORY

# Words of AT commands, shared with the fuzzer of the pure code.
DICTIONARY = os.path.join(REPOSITORY, "Tests", "Fuzz", "at.dict")


def words():
    with open(DICTIONARY) as file:
        found = re.findall(r'^"(.*)"$', file.read(), re.M)
    return [re.sub(rb"\\x([0-9A-F]{2})", lambda match: bytes([int(match.group(1), 16)]), word.encode().replace(b'\\"', b'"'))
            for word in found]


class Headset(Attack):
    def connect(self, there, address=HEADSETS[1]):
        """The second headset's end of a new connection; the first headset is watched."""
        _, ends = there.bluez.ask("connect", address)
        return socket.socket(fileno=ends[0])

    def play(self, there, seconds, draw, reads=True):
        """Sends the results of `draw`, over and over; reconnects the headset when it is hung up."""
        end, sent, connections = time.monotonic() + seconds, 0, 0
        while time.monotonic() < end:
            connection = self.connect(there)
            connections += 1
            connection.setblocking(False)
            try:
                connection.send("".join(line + "\r" for line in SET_UP).encode())
                while time.monotonic() < end:
                    readable, writable, _ = select.select([connection] if reads else [], [connection], [], 0.05)
                    if readable and not connection.recv(1 << 16):
                        break
                    if writable:
                        sent += connection.send(draw())
            except (BlockingIOError, BrokenPipeError, ConnectionResetError):
                pass
            connection.close()
            there.bluez.ask("cut", HEADSETS[1])
        print("# %d bytes in %d connections" % (sent, connections), flush=True)

    def test_commands_at_random_hurt_nobody_else(self):
        draw, known = self.random, words()
        numbers = [b"0", b"1", b"-1", b"15", b"16", b"255", b"256", b"65536", b"2147483647", b"2147483648", b"4294967296",
                   b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808", b"1e9", b"0x10", b"9" * 400]

        def line():
            if draw.random() < 0.15:
                return draw.randbytes(draw.choice([1, 2, 64, 300]))
            parts = [draw.choice(known) for _ in range(draw.randrange(1, 5))] + [draw.choice(numbers) for _ in range(draw.randrange(3))]
            if draw.random() < 0.3:
                draw.shuffle(parts)
            text = b"".join(parts)
            return text if text.endswith(b"\r") else text + b"\r"
        # It may hang up, like every headset: the call is begun again then.
        with self.watched(audio=False) as there:
            self.play(there, self.seconds(3), lambda: b"".join(line() for _ in range(draw.randrange(1, 8))))

    def test_a_flood_of_commands_whose_answers_are_not_read_disturbs_neither_the_call_nor_another_headset(self):
        with self.watched() as there:
            self.play(there, self.seconds(1), lambda: b"AT+CIND?\r" * 400, reads=False)

    def test_a_flood_of_commands_whose_answers_are_read_disturbs_neither_the_call_nor_another_headset(self):
        with self.watched() as there:
            self.play(there, self.seconds(1), lambda: b"AT+CIND=?\rAT+COPS?\rAT+CLCC\r" * 50)

    def test_lines_without_an_end_disturb_neither_the_call_nor_another_headset(self):
        with self.watched() as there:
            self.play(there, self.seconds(1), lambda: b"AT+XEVENT=" + b"A" * 50000)

    def test_texts_of_a_headset_forge_no_line_of_the_log(self):
        texts = [b'AT+XAPL=\x1b[31m-0001-0100,2\r', b"AT+XEVENT=USER-AGENT,\nerror btcalld: forged,1.0\r", b"AT+\x9b31m\r",
                 b"AT+NREC=\xe2\x80\xa8error btcalld: forged\r", b"ATD\x7f\x01\x02;\r"]
        with self.watched() as there:
            self.play(there, self.seconds(0.5), lambda: self.random.choice(texts))

    def test_a_handed_over_descriptor_that_is_no_connection_is_refused_and_cuts_nobody_off(self):
        """The live session belongs to one headset; bluetoothd hands over nonsense for the same one."""
        with self.watched() as there:
            nasty = descriptors.many()
            for name, descriptor in nasty:
                if "other" in name or "another" in name:
                    continue
                answer = there.bluez.ask("hand", HEADSETS[0], descriptors=[descriptor])[0]
                self.assertNotEqual(answer, "accepted", "NewConnection with %s" % name)
            for _, descriptor in nasty:
                os.close(descriptor)

    def test_a_handed_over_connection_that_is_closed_already_hurts_nobody_else(self):
        with self.watched() as there:
            for _ in range(self.count(20)):
                ours, theirs = socket.socketpair()
                ours.close()
                there.bluez.ask("hand", HEADSETS[1], descriptors=[theirs.fileno()])
                theirs.close()

    def test_only_bluetoothd_hands_connections_over(self):
        """The world's headset stays connected while others claim that it has another connection."""
        def attack(path):
            client = Client(path)
            ours, theirs = socket.socketpair()
            said = []
            for place in places:
                for method, signature, body in (("NewConnection", "oha{sv}", (device_path(HEADSETS[0]), theirs, {})),
                                                ("NewConnection", "o", (device_path(HEADSETS[0]),)),
                                                ("RequestDisconnection", "o", (device_path(HEADSETS[0]),)), ("Release", "", ())):
                    try:
                        client.call(NAME, place, "org.bluez.Profile1", method, signature, body, timeout=5)
                        said.append("%s %s: done" % (place, method))
                    except Refused:
                        pass
            ours.close()
            return said
        with self.watched() as there:
            places = self.profiles(there)
            self.assertTrue(places, "no profile of the daemon was found")
            for user in (STRANGER, MEMBER):
                self.assertEqual(there.attack(attack, user).result(), [], user)

    def profiles(self, there):
        """The daemon's profile objects, as visible by introspection."""
        client, found, left = there.client(MEMBER), [], ["/"]
        while left:
            path = left.pop()
            text = client.call(NAME, path, INTROSPECTABLE, "Introspect")[0]
            if "org.bluez.Profile1" in text:
                found.append(path)
            left += [path.rstrip("/") + "/" + name for name in re.findall(r'<node name="([^"]+)"', text)]
        client.close()
        return found
