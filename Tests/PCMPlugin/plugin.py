"""Shared by the tests of the ALSA plug-in: the built plug-in, programs that use it, and a scripted daemon."""
import array
import contextlib
import ctypes
import errno
import fcntl
import functools
import mmap
import os
import selectors
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BUILT = os.environ["BTCALL_PLUGIN"]
EXERCISE = os.environ["BTCALL_EXERCISE"]

MAGIC, VERSION = 0x4D435042, 1
HELLO = struct.Struct("=IIBBBBIII32s")
ANSWER = struct.Struct("=IIiII112s")
MESSAGE = struct.Struct("=IIi")
CALL, RING, PAGE, CONTROL = range(4)
PLAYBACK, CAPTURE = range(2)
START, STOP, VALUE = 1, 2, 3
SAMPLES = 4096
TICK = 0.01
# Seconds; valgrind on a busy machine is the slowest.
LIMIT = 120

VALGRIND = ["valgrind", "--quiet", "--error-exitcode=99", "--leak-check=full", "--show-leak-kinds=definite,indirect",
            "--errors-for-leak-kinds=definite,indirect", "--track-fds=no"]


class Ring(ctypes.Structure):
    _fields_ = [("hardware", ctypes.c_uint64), ("application", ctypes.c_uint64), ("engagement", ctypes.c_uint32),
                ("latency", ctypes.c_uint32), ("missing", ctypes.c_uint64)]


class Stream:
    """One connection, as the daemon sees it."""

    def __init__(self, daemon, connection, hello):
        (_, _, self.role, self.direction, self.format, self.channels, self.rate, self.period, self.buffer,
         program) = hello
        self.program = program.rstrip(b"\0").decode()
        self.daemon, self.connection, self.running = daemon, connection, False
        self.frame = self.channels * (2 if self.format == 0 else 4)
        self.quantum = self.rate // 100
        self.size = SAMPLES + self.buffer * self.frame
        self.memory = os.memfd_create("pcm", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.memory, self.size)
        fcntl.fcntl(self.memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        self.wakeup, self.wakes = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.wakes.setblocking(False)
        self.map = mmap.mmap(self.memory, self.size)
        self.ring = Ring.from_buffer(self.map)
        self.played = bytearray()
        self.spoken = 0

    def step(self):
        """One 10 ms step of the daemon's audio thread. Unlike a daemon on a fast machine it never outruns the program."""
        ring, count = self.ring, self.quantum
        if self.direction == PLAYBACK:
            if ring.application - ring.hardware < 2 * count:
                return
            for frame in range(ring.hardware, ring.hardware + count):
                at = SAMPLES + frame % self.buffer * self.frame
                self.played += self.map[at:at + self.frame]
        else:
            if ring.hardware + 2 * count > ring.application + self.buffer:
                return
            for frame in range(ring.hardware, ring.hardware + count):
                at = SAMPLES + frame % self.buffer * self.frame
                self.spoken = self.spoken % 32767 + 1
                self.map[at:at + self.frame] = struct.pack("=h", self.spoken) * (self.frame // 2)
        ring.hardware += count
        self.wake()

    def wake(self):
        """Wakes the program like the daemon, without waiting for one that does not read."""
        try:
            self.wakes.send((1).to_bytes(8, sys.byteorder))
        except (BlockingIOError, BrokenPipeError):
            pass

    def release(self):
        self.ring = None
        self.map.close()
        os.close(self.memory)
        self.wakeup.close()
        self.wakes.close()


class Daemon:
    """The daemon's side of pcm_protocol.h, scripted: engages on request, dies and comes back."""

    def __init__(self, path):
        self.path, self.engaged, self.streams, self.finished = path, False, [], []
        self.mixers, self.said = [], []
        self.values = {0: 70, 1: 100, 2: 1}
        self.hellos, self.answer = [], None
        self.lock = threading.RLock()
        self.listener, self.threads = None, []

    def start(self):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(self.path)
        self.listener.listen(64)
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self.accept), threading.Thread(target=self.tick)]
        for thread in self.threads:
            thread.start()
        return self

    def die(self):
        """Ends like a killed process: closes every descriptor at once."""
        if not self.listener:
            return
        self.ended.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()
        self.listener.close()
        self.listener = None
        os.unlink(self.path)
        with self.lock:
            for stream in list(self.streams):
                stream.connection.shutdown(socket.SHUT_RDWR)
            for mixer in self.mixers:
                mixer.shutdown(socket.SHUT_RDWR)

    def wait(self, what, condition):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            with self.lock:
                value = condition()
            if value:
                return value
            time.sleep(0.005)
        raise AssertionError("never: " + what)

    def engage(self, on):
        with self.lock:
            self.engaged = on
            for stream in self.streams:
                self.turn(stream)

    def turn(self, stream):
        if (stream.ring.engagement & 1) != (self.engaged and stream.running):
            stream.ring.engagement += 1
            stream.wake()

    def accept(self):
        while not self.ended.is_set():
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        hello = connection.recv(256)
        if len(hello) != HELLO.size:
            connection.close()
            return
        hello = HELLO.unpack(hello)
        with self.lock:
            self.hellos.append(hello)
        if self.answer:
            self.answer(connection, hello)
        elif hello[2] == CONTROL:
            self.serve_mixer(connection)
        else:
            self.serve_stream(connection, hello)
        connection.close()

    def serve_mixer(self, connection):
        connection.send(ANSWER.pack(MAGIC, VERSION, 0, 0, 0, b""))
        with self.lock:
            self.mixers.append(connection)
            for element, value in self.values.items():
                connection.send(MESSAGE.pack(VALUE, element, value))
        while message := connection.recv(64):
            kind, element, value = MESSAGE.unpack(message)
            with self.lock:
                self.said.append((kind, element, value))
        with self.lock:
            self.mixers.remove(connection)

    def turn_knob(self, element, value):
        with self.lock:
            self.values[element] = value
            for mixer in self.mixers:
                mixer.send(MESSAGE.pack(VALUE, element, value))

    def serve_stream(self, connection, hello):
        stream = Stream(self, connection, hello)
        with self.lock:
            self.streams.append(stream)
        try:
            socket.send_fds(connection, [ANSWER.pack(MAGIC, VERSION, 0, stream.size, SAMPLES, b"")],
                            [stream.memory, stream.wakeup.fileno()])
            while message := connection.recv(64):
                kind, _, _ = MESSAGE.unpack(message)
                with self.lock:
                    stream.running = kind == START
                    self.turn(stream)
        except OSError as error:
            if error.errno not in (errno.ECONNRESET, errno.EPIPE):
                raise
        with self.lock:
            self.streams.remove(stream)
            self.finished.append(stream)
            stream.release()

    def tick(self):
        due = time.monotonic()
        while not self.ended.wait(max(0, due - time.monotonic())):
            due += TICK
            with self.lock:
                for stream in self.streams:
                    if stream.running and stream.ring.engagement & 1:
                        stream.step()


class Stalls:
    """Longest stall of this machine in seconds, measured by a thread that wakes each 10 ms."""

    def __enter__(self):
        self.worst, self.over = 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self):
        before, over = time.monotonic(), False
        while not over:
            over = self.over.wait(0.01)
            now = time.monotonic()
            self.worst, before = max(self.worst, now - before - 0.01), now

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def once_more_after_a_stall(test):
    """Runs a test once more if it failed while the machine stalled for longer than half of the smallest buffer (200 ms),
    because programs and buffers keep time. Other failures count."""
    @functools.wraps(test)
    def run(self):
        try:
            with Stalls() as stalls:
                return test(self)
        except Exception as failure:
            if stalls.worst < 0.1 or isinstance(failure, unittest.SkipTest):
                raise
            print("# %s: the machine stalled for %.0f ms; once more after: %s" %
                  (test.__name__, 1000 * stalls.worst, failure), flush=True)
        self.doCleanups()
        self.setUp()
        return test(self)
    return run


class PluginTest(unittest.TestCase):
    """Each test has a socket path of its own, without a daemon until it starts one. The machine's settings stay unchanged."""

    def __init_subclass__(cls):
        for name, test in list(vars(cls).items()):
            if name.startswith("test_"):
                setattr(cls, name, once_more_after_a_stall(test))

    @contextlib.contextmanager
    def subTest(self, **parameters):
        """Names the part of a test that fails, and ends the test: `once_more_after_a_stall` would not learn of it from
        unittest's own."""
        try:
            yield
        except AssertionError as failure:
            raise self.failureException("%s: %s" % (parameters, failure)) from None

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.socket = self.path("pcm.sock")
        with open(self.path("asound.conf"), "w") as file:
            file.write("</usr/share/alsa/alsa.conf>\n<%s/60-btcall.conf>\n" % BUILT)
            # The PCM itself, without alsa-lib's conversions around it.
            file.write('pcm.bare { @args [ ROLE ] @args.ROLE { type string default call }\n'
                       '  type btcall role $ROLE socket "%s" }\n' % self.socket)
        self.environment = dict(os.environ, ALSA_CONFIG_PATH=self.path("asound.conf"), ALSA_PLUGIN_DIR=BUILT,
                                BTCALL_PCM_SOCKET=self.socket, HOME=self.directory.name, LC_ALL="C")

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def daemon(self):
        daemon = Daemon(self.socket)
        self.addCleanup(daemon.die)
        return daemon.start()

    def begin(self, *command, **environment):
        process = subprocess.Popen(command, env=dict(self.environment, **environment), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        # A hanging program fails the test instead of blocking it.
        guard = threading.Timer(LIMIT, process.kill)
        guard.start()
        self.addCleanup(guard.cancel)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def finish(self, process, silent=True):
        """Returns its output; it must have succeeded without writing to standard error."""
        output, problems = process.communicate(timeout=LIMIT)
        self.assertEqual((process.returncode, problems if silent else ""), (0, ""), problems)
        return output

    def run_program(self, *command, silent=True, **environment):
        return self.finish(self.begin(*command, **environment), silent)

    def positions(self):
        """Time, position and delay from the exerciser that played."""
        with open(self.path("play")) as file:
            return [tuple(map(float, line.split())) for line in file]

    def recorder(self, seconds):
        """An arecord whose output `clock_error` reads."""
        process = subprocess.Popen(
            ["arecord", "-q", "-D", "btcall:call", "-t", "raw", "-f", "S16_LE", "-r", "48000", "-d", seconds],
            env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        return process

    def clock_error(self, recorders):
        """Reads recordings of 9 s to their ends; returns by how many seconds the second half of each took too long."""
        # Received bytes by time, for each of them.
        arrivals = {process.stdout: [(0, 0.0)] for process in recorders}
        with selectors.DefaultSelector() as selector:
            for process in recorders:
                selector.register(process.stdout, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select():
                    data = os.read(key.fd, 1 << 16)
                    if not data:
                        selector.unregister(key.fileobj)
                        continue
                    history = arrivals[key.fileobj]
                    history.append((history[-1][0] + len(data), time.monotonic()))
        errors = []
        for process in recorders:
            _, problems = process.communicate()
            self.assertEqual((process.returncode, problems), (0, b""))
            history = arrivals[process.stdout]
            self.assertEqual(history[-1][0], 9 * 96000)
            # A busy machine is sometimes late, never early: the least lateness counts, early and late in the recording.
            halves = [[at - count / 96000 for count, at in history[1:] if (count > 432000) == late] for late in (False, True)]
            errors.append(min(halves[1]) - min(halves[0]))
        return errors


def samples(data):
    values = array.array("h")
    values.frombytes(bytes(data[:len(data) // 2 * 2]))
    return values
