"""The socket for programs on the ALSA PCM: hellos, messages, descriptors and shared memory of a hostile client."""
import os
import select
import socket
import struct
import time

import descriptors
from judge import Attack
from pcm import (CALL, CAPTURE, CONTROL, HELLO, MAGIC, MESSAGE, PAGE, PLAYBACK, RATES, RING, START, STOP, VALUE, VERSION,
                 Stream, connect)
from users import MEMBER, STRANGER


class PCM(Attack):
    def pcm(self, there):
        return there.path("run", "pcm.sock")

    def test_a_stranger_is_not_let_in(self):
        with self.watched() as there:
            def attack(_):
                try:
                    connect(self.pcm(there))
                except PermissionError:
                    return True
                return False
            self.assertTrue(there.attack(attack, STRANGER).result(), "everybody can connect")

    def test_hellos_and_messages_at_random_hurt_nobody(self):
        draw = self.random

        def number(bits):
            return draw.choice([0, 1, 2, 3, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1, draw.getrandbits(bits)])

        def hello():
            if draw.random() < 0.2:
                return draw.randbytes(draw.choice([0, 1, 31, 59, 60, 61, 62, 4096]))
            name = draw.choice([b"attack", b"x" * 32, b"\nerror btcalld: forged", b"\x1b[31m", b"\xff" * 32, b""])
            good = draw.random() < 0.5
            return HELLO.pack(*((MAGIC, VERSION) if draw.random() < 0.9 else (number(32), number(32))),
                              draw.randrange(4) if good else number(8), draw.randrange(2) if good else number(8),
                              draw.randrange(2) if good else number(8), draw.choice([1, 2]) if good else number(8),
                              draw.choice(RATES) if good else number(32), draw.choice([80, 160, 480, 24000]) if good else number(32),
                              draw.choice([960, 5760, 48000]) if good else number(32), name)

        def attack(_):
            end, tries, answers = time.monotonic() + self.seconds(2), 0, 0
            nasty = descriptors.many()
            while time.monotonic() < end:
                connection = connect(path)
                tries += 1
                try:
                    socket.send_fds(connection, [hello()], [draw.choice(nasty)[1] for _ in range(draw.choice([0, 0, 1, 30]))])
                    if draw.random() < 0.7:
                        _, handed, _, _ = socket.recv_fds(connection, 256, 4)
                        answers += len(handed) == 2
                        for _ in range(draw.randrange(6)):
                            content = MESSAGE.pack(draw.choice([START, STOP, VALUE, number(32)]), number(32) % (1 << 32),
                                                   draw.choice([0, 1, 50, 100, 101, -1, 2 ** 31 - 1, -2 ** 31]))
                            socket.send_fds(connection, [content[:draw.choice([12, 12, 12, 0, 11])]],
                                            [nasty[0][1]] * draw.randrange(2))
                        for descriptor in handed:
                            os.close(descriptor)
                except (OSError, struct.error):
                    pass
                connection.close()
            return tries, answers
        # It plays announcements and changes the volume: the call's blocks are judged, not their level.
        with self.watched() as there:
            path = self.pcm(there)
            tries, answers = there.attack(attack, MEMBER).result()
            print("# %d connections, %d streams" % (tries, answers), flush=True)
            self.assertGreater(answers, 10)

    def test_a_client_that_makes_its_wake_up_socket_blocking_and_never_reads_it_interrupts_no_call(self):
        def attack(_):
            streams = [Stream(path, PAGE), Stream(path, RING), Stream(path, CALL, CAPTURE)]
            begun = []
            for stream in streams:
                # It would also be the daemon's flag if both shared the file description.
                os.set_blocking(stream.wakes, True)
                begun.append(stream.ring.hardware)
                stream.say(START)
            end = time.monotonic() + max(1.5, self.seconds(1.5))
            while time.monotonic() < end:
                for stream in streams:
                    stream.ring.application = stream.ring.hardware + 1600
                time.sleep(0.02)
            return [stream.ring.hardware - before for stream, before in zip(streams, begun)]
        with self.watched() as there:
            path = self.pcm(there)
            moved = there.attack(attack, MEMBER).result()
            # More than fits: the audio thread has found it full.
            self.assertGreater(max(moved), 160 * 100, "no stream has run: %s" % moved)

    def test_positions_and_engagement_scribbled_over_interrupt_no_call(self):
        draw = self.random

        def attack(_):
            streams = [Stream(path, role, direction) for role, direction in
                       ((PAGE, PLAYBACK), (RING, PLAYBACK), (CALL, CAPTURE), (PAGE, PLAYBACK))]
            for stream in streams:
                stream.say(START)
            end, writes = time.monotonic() + self.seconds(2), 0
            while time.monotonic() < end:
                for stream in streams:
                    ring = stream.ring
                    for _ in range(200):
                        value = draw.choice([0, 1, 160, 1 << 63, (1 << 64) - 1, (1 << 32) - 1, draw.getrandbits(64),
                                             ring.hardware, ring.hardware + 3200, ring.hardware - 1 & (1 << 64) - 1])
                        kind = draw.randrange(5)
                        if kind == 0:
                            ring.hardware = value
                        elif kind < 3:
                            ring.application = value
                        elif kind == 3:
                            ring.engagement = value & 0xFFFFFFFF
                        else:
                            ring.latency, ring.missing = value & 0xFFFFFFFF, value
                        writes += 1
                time.sleep(0.001)
            return writes
        with self.watched() as there:
            path = self.pcm(there)
            print("# %d writes" % there.attack(attack, MEMBER).result(), flush=True)

    def test_the_shared_memory_can_be_neither_cut_nor_grown(self):
        def attack(_):
            stream = Stream(path)
            for length in (0, 1, stream.size - 1, stream.size + 1, 1 << 40):
                try:
                    os.ftruncate(stream.memory, length)
                    return "its length was set to %d" % length
                except PermissionError:
                    pass
            return ""
        with self.watched() as there:
            path = self.pcm(there)
            self.assertEqual(there.attack(attack, MEMBER).result(), "")

    def test_a_socket_that_lingers_with_messages_of_the_pcm_interrupts_nobody(self):
        def attack(_):
            kept = []
            for content in (MESSAGE.pack(START, 0, 0), HELLO.pack(MAGIC, VERSION, PAGE, 0, 0, 1, 16000, 320, 3200, b"x")):
                connection = Stream(path).connection if len(content) == MESSAGE.size else connect(path)
                sending, receiving = descriptors.lingering()
                kept += [receiving, connection]
                try:
                    socket.send_fds(connection, [content], [sending.fileno()])
                except OSError:
                    pass
                sending.close()
                time.sleep(0.2)
            time.sleep(0.8)
            return True
        with self.watched(settles=30) as there:
            path = self.pcm(there)
            there.attack(attack, MEMBER).result()

    def test_one_client_with_all_the_connections_it_can_get_leaves_room_for_another_one(self):
        def take(_):
            connections = []
            for _ in range(60):
                try:
                    connections.append(Stream(path))
                except (ConnectionError, OSError):
                    try:
                        connections.append(connect(path))
                    except OSError:
                        break
            os.write(done, b"x")
            while True:
                time.sleep(1)

        def another(_):
            try:
                Stream(path, program=b"another")
                return ""
            except OSError as problem:
                return str(problem) or type(problem).__name__
        with self.watched() as there:
            path = self.pcm(there)
            told, done = os.pipe()
            first = there.attack(take, MEMBER)
            os.read(told, 1)
            refused = there.attack(another, "root").result()
            first.end()
            os.close(told)
            os.close(done)
            self.assertEqual(refused, "", "a second client gets no stream")

    def test_a_mixer_that_turns_the_volume_without_end_keeps_nobody_waiting(self):
        def attack(_):
            connection = connect(path)
            connection.send(HELLO.pack(MAGIC, VERSION, CONTROL, 0, 0, 0, 0, 0, 0, b"mixer"))
            end, value = time.monotonic() + self.seconds(1.5), 0
            while time.monotonic() < end:
                readable, writable, _ = select.select([connection], [connection], [], 1)
                try:
                    if readable and not connection.recv(4096):
                        break
                    if writable:
                        value += 1
                        connection.send(MESSAGE.pack(VALUE, 1, 99 + value % 2))
                except OSError:
                    break
            return value
        with self.watched() as there:
            path = self.pcm(there)
            print("# %d values" % there.attack(attack, MEMBER).result(), flush=True)
