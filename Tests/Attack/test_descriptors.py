"""Descriptors in bus messages, and on sockets from the daemon."""
import os
import select
import socket
import time

import descriptors
from bus import AUDIO, CALLS, NAME, PROPERTIES, ROOT, Client, Gone, call_message
from judge import Attack
from users import MEMBER, STRANGER


def handed(client, path, interface, name, signature="", body=()):
    """The descriptors returned by a method."""
    return [socket.socket(fileno=value) for value in client.call(NAME, path, interface, name, signature, body)]


def give(connection, lingering, content=b"\0"):
    """Sends a descriptor whose last close takes seconds, and closes this end's: any process that closes it waits."""
    sending, receiving = lingering
    try:
        connection.setblocking(False)
        socket.send_fds(connection, [content], [sending.fileno()])
    except OSError:
        # The daemon does not accept descriptors on this socket.
        pass
    sending.close()
    return receiving


class Descriptors(Attack):
    def test_a_socket_that_lingers_in_a_refused_call_keeps_nobody_waiting(self):
        def attack(path):
            client, kept = Client(path), []
            for _ in range(2):
                sending, receiving = descriptors.lingering()
                kept.append(receiving)
                content = call_message(NAME, ROOT, PROPERTIES, "Get", "ssh", ("a", "b", sending))
                try:
                    client.send(content)
                except Gone:
                    pass
                # The daemon must hold the last reference.
                sending.close()
                time.sleep(0.3)
            time.sleep(0.7)
            return True
        with self.watched(settles=30) as there:
            there.attack(attack, STRANGER).result()

    def test_many_descriptors_in_calls_leave_none_open(self):
        def attack(path):
            client, end = Client(path), time.monotonic() + self.seconds(1)
            null = os.open("/dev/null", os.O_RDWR)
            signature = "h" * 16
            while time.monotonic() < end:
                for name in ("Get", "GetAll", "Nonsense"):
                    try:
                        client.send(call_message(NAME, ROOT, PROPERTIES, name, signature, (null,) * 16, False))
                    except Gone:
                        client = Client(path)
                client.read()
            return True
        with self.watched() as there:
            there.attack(attack, STRANGER).result()

    def test_a_socket_that_lingers_over_audio_sockets_interrupts_no_call(self):
        """Injection, playback, tap: the sockets for a member of the group."""
        def attack(path):
            client, kept = Client(path), []
            call = client.get(CALLS, "org.btcall.Calls1", "Calls")[0]
            sockets = handed(client, AUDIO, "org.btcall.Audio1", "OpenInjection", "a{sv}", ({},))
            sockets += handed(client, AUDIO, "org.btcall.Audio1", "OpenPlayback", "a{sv}", ({"to": ("s", "page")},))
            sockets += handed(client, AUDIO, "org.btcall.Audio1", "OpenTap", "oa{sv}", (call, {}))
            sockets += handed(client, ROOT, "org.btcall.Manager1", "SubscribeLog")
            for audio in sockets:
                kept.append(give(audio, descriptors.lingering(), bytes(320)))
                time.sleep(0.15)
            time.sleep(0.6)
            return True
        with self.watched(settles=30) as there:
            there.attack(attack, MEMBER).result()

    def test_audio_sockets_that_are_flooded_and_not_read_interrupt_no_call(self):
        def attack(path):
            # One client has at most four of each.
            clients, sockets = [Client(path), Client(path)], []
            call = clients[0].get(CALLS, "org.btcall.Calls1", "Calls")[0]
            for client in clients * 4:
                sockets += handed(client, AUDIO, "org.btcall.Audio1", "OpenInjection", "a{sv}", ({},))
                sockets += handed(client, AUDIO, "org.btcall.Audio1", "OpenTap", "oa{sv}", (call, {}))
            end, sizes = time.monotonic() + self.seconds(1.5), [0, 1, 319, 320, 321, 4096, 65536]
            for audio in sockets:
                audio.setblocking(False)
                for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                    audio.setsockopt(socket.SOL_SOCKET, option, 1 << 22)
            while time.monotonic() < end:
                for audio in sockets:
                    try:
                        audio.send(bytes(self.random.choice(sizes)))
                    except OSError:
                        pass
                select.select([], [], [], 0.001)
            return True
        with self.watched() as there:
            there.attack(attack, MEMBER).result()

    def test_thousands_of_watches_on_a_taps_socket_interrupt_no_call(self):
        """Each send by the audio thread wakes them all."""
        def attack(path):
            client, watches = Client(path), select.epoll()
            call = client.get(CALLS, "org.btcall.Calls1", "Calls")[0]
            audio = handed(client, AUDIO, "org.btcall.Audio1", "OpenTap", "oa{sv}", (call, {}))[0]
            copies = []
            try:
                while len(copies) < 20000:
                    copies.append(os.dup(audio.fileno()))
                    watches.register(copies[-1], select.EPOLLIN | select.EPOLLET)
            except OSError:
                pass
            end = time.monotonic() + self.seconds(2)
            while time.monotonic() < end:
                try:
                    audio.recv(8192, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    time.sleep(0.01)
                except OSError:
                    break
            return len(copies)
        with self.watched() as there:
            print("# %d watches" % there.attack(attack, MEMBER, 4000).result(), flush=True)
