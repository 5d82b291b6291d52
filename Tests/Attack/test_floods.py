"""Floods by one client: messages, signals, answers that quote, connections. All other clients are still answered."""
import os
import threading
import time
from socket import MSG_DONTWAIT

from bus import AUDIO, CALLS, INTROSPECTABLE, NAME, OBJECTS, PEER, PROPERTIES, ROOT, ROUTER, SESSION, Client, Gone
from bus import Refused, call_message, serial_answered, serials, signal_message
from judge import PING, Attack
from users import MEMBER, STRANGER

# Longest message that the system bus accepts.
LONGEST = 32 << 20
CHUNK = 500
# Bytes of one client that the bus keeps in front of all other messages.
QUEUE = 127 << 20


def discard(socket):
    """Discards received data unread."""
    try:
        while socket.recv(1 << 20, MSG_DONTWAIT):
            pass
    except BlockingIOError:
        pass


def flood(path, seconds, count, reply, *question):
    """Sends the request over and over, as fast as the bus accepts it, without reading answers; returns how often."""
    client = Client(path, timeout=30)
    one = call_message(*question, reply=reply).serialise(1)
    several = max(1, min(CHUNK, (1 << 20) // len(one)))
    content, sent, end = bytearray(one * several), 0, time.monotonic() + seconds
    try:
        while sent < count and time.monotonic() < end:
            client.socket.sendall(serials((len(one), content), 1000 + sent))
            sent += several
            if reply:
                discard(client.socket)
    except (Gone, OSError):
        # The bus has disconnected it.
        pass
    # Messages queued in the bus disappear with the connection.
    time.sleep(min(0.5, seconds / 2))
    return sent


def queue_time(path, text):
    """Seconds in which the bus brings a full queue of such messages from one program to another, which only receives."""
    sender, receiver = Client(path, timeout=30), Client(path, timeout=30)
    one = call_message(receiver.name, "/", "org.example.Sink", "Take", "s", (text,), reply=False).serialise(1)
    several = (1 << 20) // len(one)
    count = QUEUE // len(one) // several
    thread = threading.Thread(target=lambda: [sender.socket.sendall(one * several) for _ in range(count)])
    begin, expected = time.monotonic(), count * several * len(one)
    thread.start()
    while expected > 0:
        expected -= len(receiver.socket.recv(1 << 20))
    took = time.monotonic() - begin
    thread.join()
    sender.close()
    receiver.close()
    return took


def broadcast(path, seconds, entries):
    """Broadcast signals that look like a player's."""
    client, sent = Client(path, timeout=30), 0
    changed = {"Key%d" % number: ("u", number) for number in range(entries)}
    one = signal_message("/org/mpris/MediaPlayer2", PROPERTIES, "PropertiesChanged", "sa{sv}as",
                         ("org.mpris.MediaPlayer2.Player", changed, [])).serialise(1)
    content, end = bytearray(one) if entries else bytearray(one * CHUNK), time.monotonic() + seconds
    while time.monotonic() < end:
        client.socket.sendall(serials((len(one), content), 1000))
        sent += len(content) // len(one)
    return sent


def owner(client):
    return client.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetNameOwner", "s", (NAME,))[0]


class Floods(Attack):
    def flood(self, user, seconds, count, reply, *question, **judged):
        """One client floods; nothing is lost or late for the others."""
        with self.watched(**judged) as there:
            sent = there.attack(lambda path: flood(path, seconds, count, reply, *question), user).result(seconds + 60)
            print("# %d messages" % sent, flush=True)
            self.assertGreater(sent, 0)

    def test_300000_questions_for_all_objects_without_an_answer_keep_nobody_waiting(self):
        self.flood(STRANGER, max(5.0, self.seconds(5)), 300000, False, NAME, ROOT, OBJECTS, "GetManagedObjects")

    def test_a_flood_of_explain_without_an_answer_keeps_nobody_waiting(self):
        self.flood(STRANGER, self.seconds(1), 300000, False, NAME, ROUTER, "org.btcall.Router1", "Explain", "a{sv}",
                   ({"time": ("x", int(time.time() * 1000) - 1000)},))

    def test_a_flood_of_introspect_without_an_answer_keeps_nobody_waiting(self):
        self.flood(STRANGER, self.seconds(1), 300000, False, NAME, ROOT, INTROSPECTABLE, "Introspect")

    def test_a_flood_of_log_without_an_answer_keeps_nobody_waiting(self):
        self.flood(MEMBER, self.seconds(1), 300000, False, NAME, CALLS, "org.btcall.Calls1", "Log", "u", (0,))

    def test_a_flood_of_pings_without_an_answer_keeps_nobody_waiting(self):
        self.flood(STRANGER, self.seconds(1), 300000, False, NAME, ROOT, PEER, "Ping")

    def test_questions_for_all_objects_whose_answers_nobody_reads_keep_nobody_waiting(self):
        self.flood(STRANGER, self.seconds(2), 300000, True, NAME, ROOT, OBJECTS, "GetManagedObjects")

    def test_levels_and_statistics_asked_without_end_keep_nobody_waiting(self):
        self.flood(MEMBER, self.seconds(1), 300000, False, NAME, AUDIO, PROPERTIES, "GetAll", "s", ("org.btcall.Audio1",))

    def test_writes_of_a_setting_without_end_keep_nobody_waiting(self):
        self.flood(MEMBER, self.seconds(1), 300000, False, NAME, AUDIO, PROPERTIES, "Set", "ssv",
                   ("org.btcall.Audio1", "MicVolume", ("d", 1.0)))

    def test_texts_of_64_kibibytes_keep_nobody_waiting(self):
        # The bus queues messages of one client ahead of all others, and takes as much of that client as it hands on: once
        # the queue is full, it stays full. libdbus reads and checks all of it before anybody sees the sender.
        text = "x" * (64 << 10)
        queue = queue_time(self.world().bus_path, text)
        print("# the bus alone takes %.0f ms for a full queue" % (1000 * queue), flush=True)
        self.flood(STRANGER, self.seconds(1), 300000, False, NAME, ROUTER, "org.btcall.Router1", "Explain", "a{sv}",
                   ({"time": ("x", 0), "a": ("s", text)},), ping=PING + 2 * queue)

    def test_a_call_that_is_as_long_as_the_bus_allows_does_not_throw_the_daemon_off_the_bus(self):
        with self.watched(latency=False) as there:
            watcher = there.client(STRANGER)
            before = owner(watcher)
            for work in (self.quoted_path, self.quoted_interface, self.quoted_member):
                there.attack(work, STRANGER).result()
            self.assertEqual(owner(watcher), before, "the bus has disconnected btcalld")
            watcher.close()

    @staticmethod
    def longest(make):
        """A message of the greatest length that the bus accepts, filled by a text: an answer that quotes it is longer."""
        room = LONGEST - len(make("/").serialise(1)) - 16
        while len(make("/" + "a" * (room + 1)).serialise(1)) <= LONGEST:
            room += 1
        return make("/" + "a" * room)

    def say(self, path, content):
        client = Client(path, timeout=30)
        try:
            serial, end = client.send(content), time.monotonic() + 5
            while time.monotonic() < end and not any(serial_answered(answer) == serial for answer in client.read(1)):
                pass
        except Gone:
            pass
        client.close()
        return True

    def quoted_path(self, path):
        return self.say(path, self.longest(lambda text: call_message(NAME, text, PROPERTIES, "Get")))

    def quoted_interface(self, path):
        return self.say(path, self.longest(lambda text: call_message(NAME, ROOT, PROPERTIES, "Get", "ss", ("", text))))

    def quoted_member(self, path):
        return self.say(path, self.longest(lambda text: call_message(NAME, ROOT, PROPERTIES, "GetAll", "s", (text,))))

    def broadcast(self, user, seconds, entries):
        """The policy keeps a stranger's signals from the daemon; a member's come through."""
        with self.watched() as there:
            print("# %d signals" % there.attack(lambda path: broadcast(path, seconds, entries), user).result(), flush=True)

    def test_signals_with_60000_entries_by_everybody_keep_nobody_waiting(self):
        self.broadcast(STRANGER, self.seconds(1), 60000)

    def test_signals_with_60000_entries_by_a_member_keep_nobody_waiting(self):
        self.broadcast(MEMBER, self.seconds(2), 60000)

    def test_signals_without_end_by_a_member_keep_nobody_waiting(self):
        self.broadcast(MEMBER, self.seconds(1), 0)

    def test_clients_that_connect_and_leave_leave_nothing_behind(self):
        def visit(path):
            end, visits = time.monotonic() + self.seconds(2), 0
            while time.monotonic() < end:
                client = Client(path)
                client.post(NAME, ROOT, OBJECTS, "GetManagedObjects")
                client.send(call_message(NAME, ROUTER, "org.btcall.Router1", "Explain", "a{sv}", ({},)))
                client.close()
                visits += 1
            return visits
        with self.watched() as there:
            print("# %d clients" % there.attack(visit, STRANGER).result(), flush=True)

    def test_members_that_hold_things_and_leave_leave_nothing_behind(self):
        def visit(path):
            end, visits = time.monotonic() + self.seconds(2), 0
            while time.monotonic() < end:
                client, held = Client(path), []
                for request in ((NAME, SESSION, "org.btcall.Session1", "Activate", "a{sv}", ({},)),
                                (NAME, ROOT, "org.btcall.Manager1", "SubscribeLog"),
                                (NAME, AUDIO, "org.btcall.Audio1", "OpenInjection", "a{sv}", ({},)),
                                (NAME, CALLS, "org.btcall.Calls1", "RegisterContactResolver", "o", ("/r",))):
                    try:
                        held += [value for value in client.call(*request) if isinstance(value, int)]
                    except Refused:
                        # Its limit is reached; the next visit finds room.
                        pass
                # Some close their holds first, some the connection.
                if visits % 2:
                    client.close()
                for descriptor in held:
                    os.close(descriptor)
                client.close()
                visits += 1
            return visits
        with self.watched() as there:
            print("# %d visits" % there.attack(visit, MEMBER).result(), flush=True)
