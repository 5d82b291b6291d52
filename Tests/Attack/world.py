"""The world under attack: a bus with the shipped policy, bluetoothd, btcalld, an application with a call, and the watch."""
import os
import pwd
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time

import bluez
import provider
import watch
from bus import AUDIO, NAME, PEER, ROOT, Client
from users import DAEMON, MEMBER, STRANGER, Process, become, end_with_parent, eventually

REPOSITORY = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
PROGRAMS = os.environ.get("BTCALL_BIN", os.path.join(REPOSITORY, ".build", "debug"))
POLICY = os.path.join(REPOSITORY, "dbus", "org.btcall.conf")
RULES = "/usr/share/dbus-1/system.conf"
# Seconds for the daemon to start, and to end.
PATIENCE = 30
# A line of its log: level, module, message.
LINE = re.compile(r"(trace|debug|info|notice|warning|error|critical) [A-Za-z0-9_.-]+: ")
# Makes glibc return free memory, so that resident memory shows what the daemon keeps.
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}
# The text after a line feed in the attack's texts: a log line that begins with it is forged.
FORGED = "error btcalld: forged"
# Metrics of the audio that the call lost on its way to the earpiece.
LOSSES = {"seconds are dropped": "btcall_audio_dropped_seconds_total", "xruns": "btcall_audio_xruns_total",
          "times the audio thread came late": "btcall_audio_late_wakeups_total"}
CRASH = re.compile(r"Fault|Fatal|fatal error|Crash|crashed|overflow|gave a wrong answer|Thread \d+ .*:")

CONFIGURATION = """[daemon]
stateDirectory = {work}/state
[routing]
exclude = bluetooth
[bluetooth]
profileCheckSeconds = 0
reconnect = no
[audio]
pcmSocket = {work}/run/pcm.sock
[calls]
record = {work}/state/record
recordNumbers = yes
[privacy]
recording = allow
[quirks]
database = {quirks}
[device earpiece]
playback = null
"""


class Broken(Exception):
    """The world cannot be created, or has ended."""


def niceness():
    """The scheduling priority that the unit gives btcalld."""
    with open(os.path.join(REPOSITORY, "dbus", "btcalld.service")) as unit:
        return int(next(line for line in unit if line.startswith("Nice=")).split("=")[1])


class Daemon:
    """btcalld as its unit runs it: its user, its limits, its priority, its log in a file."""

    def __init__(self, work, configuration, prepare=None, error=None):
        """- Parameters:
          - prepare: is called in the process before the program is started there.
          - error: what gets its standard error; None: the file `log`.
        """
        self.work, self.log, self.prepare = work, os.path.join(work, "log"), prepare
        command = [os.path.join(programs(), "btcalld"), "--bus", "unix:path=" + os.path.join(work, "bus"), "--config",
                   configuration, "--foreground"]
        log = open(self.log, "ab") if error is None else None
        self.program = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=log or error, preexec_fn=self.begin, cwd="/", close_fds=True,
                                        env=dict(os.environ, **ALLOCATOR))
        if log:
            log.close()
        self.process = self.program.pid

    def begin(self):
        end_with_parent()
        os.umask(0o077)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            os.setpriority(os.PRIO_PROCESS, 0, niceness())
        except PermissionError:
            # Root without CAP_SYS_NICE: the daemon has to share the processors with its attackers.
            pass
        for limit, value in ((resource.RLIMIT_RTPRIO, 20), (resource.RLIMIT_MEMLOCK, resource.RLIM_INFINITY)):
            try:
                resource.setrlimit(limit, (value, value))
            except (OSError, ValueError):
                # Root without CAP_SYS_RESOURCE: see `hurry`.
                pass
        become(DAEMON)
        if self.prepare:
            self.prepare()

    def hurry(self):
        """Gives the audio thread its priority where the daemon may not take it: in a container, or a class of
        processes that the kernel lets only root leave."""
        for thread in os.listdir("/proc/%d/task" % self.process):
            with open("/proc/%d/task/%s/comm" % (self.process, thread)) as name:
                if name.read() == "btcall-rt\n" and os.sched_getscheduler(int(thread)) != os.SCHED_FIFO:
                    try:
                        os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(10))
                    except OSError:
                        pass

    def is_running(self):
        return self.program.poll() is None

    def memory(self):
        """Resident memory in KiB."""
        with open("/proc/%d/status" % self.process) as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))

    def scheduled(self, thread=None):
        """Running time and waiting time for a processor of its control loop, or of the given thread; nanoseconds."""
        try:
            with open("/proc/%d/task/%d/schedstat" % (self.process, thread or self.process)) as times:
                ran, waited, _ = times.read().split()
        except FileNotFoundError:
            # The kernel does not count it, or the daemon has ended.
            return 0, 0
        return int(ran), int(waited)

    def audio_waited(self):
        """Waiting time of its audio thread for a processor; nanoseconds."""
        for thread in os.listdir("/proc/%d/task" % self.process):
            try:
                with open("/proc/%d/task/%s/comm" % (self.process, thread)) as name:
                    if name.read().strip() == "btcall-rt":
                        return self.scheduled(int(thread))[1]
            except FileNotFoundError:
                pass
        return 0

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.process))

    def lines(self, since=0):
        """Its log from that byte on, unchanged."""
        with open(self.log, "rb") as log:
            log.seek(since)
            return log.read().decode(errors="replace").split("\n")[:-1]

    def logged(self):
        return os.path.getsize(self.log)

    def signal(self, number):
        self.program.send_signal(number)

    def end(self, limit=PATIENCE):
        """Ends it by SIGTERM; returns its exit status, None when it had to be killed."""
        if self.is_running():
            self.signal(signal.SIGTERM)
        try:
            return self.program.wait(limit)
        except subprocess.TimeoutExpired:
            self.program.kill()
            self.program.wait()
            return None


class Follower:
    """btcall-baresip, connected to a local port, as a user of the group; its log in a file."""

    def __init__(self, work, port):
        program, self.log = os.path.join(programs(), "btcall-baresip"), os.path.join(work, "follower.log")
        if not os.path.exists(program):
            shutil.copy(os.path.join(PROGRAMS, "btcall-baresip"), program)
        with open(self.log, "ab") as log:
            self.program = subprocess.Popen(
                [program, "--bus", "unix:path=" + os.path.join(work, "bus"), "--config",
                 os.path.join(REPOSITORY, "etc", "baresip.conf"), "--control", "127.0.0.1:%d" % port, "--foreground"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, preexec_fn=self.begin, cwd="/")

    @staticmethod
    def begin():
        end_with_parent()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        become(MEMBER)

    def is_running(self):
        return self.program.poll() is None

    def lines(self):
        with open(self.log, "rb") as log:
            return log.read().decode(errors="replace").split("\n")[:-1]

    def end(self, limit=PATIENCE):
        """Ends it by SIGTERM; returns its exit status, None when it had to be killed."""
        self.program.terminate()
        try:
            return self.program.wait(limit)
        except subprocess.TimeoutExpired:
            self.program.kill()
            self.program.wait()
            return None


def wrong_lines(lines):
    """Log lines that report a crash, or that the daemon has not written."""
    return ["%.300r" % line for line in lines
            if line.startswith(FORGED) or CRASH.search(line) or not LINE.match(line)
            or any(ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 for character in line)]


def programs(copied={}):
    """A directory with copies of the programs that every user can run, and that do not change when others are built."""
    if "directory" not in copied:
        directory = os.path.join(os.environ["ATTACK_WORK"], "bin")
        os.makedirs(directory, exist_ok=True)
        for name in ("btcalld", "btcall"):
            shutil.copy(os.path.join(PROGRAMS, name), os.path.join(directory, name))
        answer = subprocess.run([os.path.join(directory, "btcalld"), "--version"], preexec_fn=lambda: become(DAEMON),
                                capture_output=True, text=True)
        if answer.returncode != 0:
            raise Broken("btcalld does not run as another user: %s" % (answer.stderr or answer.returncode))
        copied["directory"] = directory
    return copied["directory"]


class Box:
    """A bus, bluetoothd and btcalld in a directory of their own."""

    # Number of consecutive failures to start, and the limit for waiting.
    failures, PATIENT = 0, 3

    def __init__(self, configuration=CONFIGURATION, prepare=None, error=None, start=True):
        if Box.failures >= self.PATIENT:
            raise Broken("no world starts, as before")
        self.work = tempfile.mkdtemp(prefix="world-", dir=os.environ["ATTACK_WORK"])
        os.chmod(self.work, 0o755)
        self.bus_path, self.daemon, self.bluez, self.bus = os.path.join(self.work, "bus"), None, None, None
        for name in ("state", "run"):
            os.mkdir(os.path.join(self.work, name), 0o755)
            os.chown(os.path.join(self.work, name), *pwd.getpwnam(DAEMON)[2:4])
        with open(os.path.join(self.work, "btcalld.conf"), "w") as file:
            file.write(configuration.format(work=self.work, quirks=os.path.join(REPOSITORY, "etc", "quirks.conf")))
        try:
            self.start_bus()
            self.bluez = bluez.start(self.bus_path)
            self.open(start, prepare, error)
            Box.failures = 0
        except BaseException:
            Box.failures += 1
            self.end()
            raise

    def open(self, start, prepare, error):
        if start:
            self.start(prepare, error)

    def path(self, *names):
        return os.path.join(self.work, *names)

    def start_bus(self):
        with open(RULES) as file:
            rules = re.sub(r"<!--.*?-->", "", file.read(), flags=re.S)
        policies = "\n".join(re.findall(r"<policy.*?</policy>", rules, flags=re.S))
        user = re.search(r"<user>(\w+)</user>", rules)
        with open(self.path("bus.conf"), "w") as file:
            file.write('<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"\n'
                       ' "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">\n<busconfig><type>system</type>\n'
                       "%s<listen>unix:path=%s</listen><auth>EXTERNAL</auth>\n%s\n<include>%s</include>\n"
                       '<policy user="root"><allow own="org.bluez"/><allow send_destination="*"/></policy></busconfig>\n'
                       % (user.group(0) if user else "", self.bus_path, policies, POLICY))
        with open(self.path("bus.log"), "w") as log:
            self.bus = subprocess.Popen(["dbus-daemon", "--config-file=" + self.path("bus.conf"), "--nofork", "--nopidfile",
                                         "--print-address=1"], stdout=subprocess.PIPE, stderr=log, preexec_fn=end_with_parent)
        if not self.bus.stdout.readline():
            raise Broken("dbus-daemon does not start with the shipped policy")

    def start(self, prepare=None, error=None):
        """Starts btcalld, and waits until it is active and headsets can connect."""
        self.bluez.ask("forget")
        self.daemon = Daemon(self.work, self.path("btcalld.conf"), prepare, error)
        if not eventually(self.is_active, PATIENCE):
            raise Broken("btcalld is not active after %d s, and says: %s" % (PATIENCE, "\n".join(self.daemon.lines()[-20:])))
        if not eventually(lambda: bluez.GATEWAY in self.bluez.ask("ready")[0], PATIENCE):
            raise Broken("btcalld does not register its profile")
        self.daemon.hurry()

    def is_active(self):
        if not self.daemon.is_running():
            raise Broken("btcalld ended with %s: %s" % (self.daemon.program.returncode, "\n".join(self.daemon.lines()[-20:])))
        try:
            return self.asked("State", 2) == "active"
        except Exception:
            return False

    def asked(self, name, timeout=5):
        """A property of Manager1, read by a client of its own."""
        client = self.client(MEMBER)
        try:
            return client.get(ROOT, "org.btcall.Manager1", name, timeout)
        finally:
            client.close()

    def client(self, user=MEMBER):
        return Client(self.bus_path, user)

    def pings(self):
        """Whether a stranger's ping is answered within 5 s."""
        try:
            client = self.client(STRANGER)
            client.call(NAME, ROOT, PEER, "Ping", timeout=5)
            client.close()
            return True
        except Exception:
            return False

    def run(self, *words, user=MEMBER, timeout=30):
        """`btcall WORDS` as that user."""
        return subprocess.run([os.path.join(programs(), "btcall"), *words, "--bus", "unix:path=" + self.bus_path],
                              preexec_fn=lambda: become(user), capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL)

    def end(self):
        if self.daemon and self.daemon.is_running():
            self.daemon.program.kill()
            self.daemon.program.wait()
        if self.bluez:
            self.bluez.end()
        if self.bus:
            self.bus.kill()
            self.bus.wait()
            self.bus.stdout.close()
        shutil.rmtree(self.work, ignore_errors=True)


class World(Box):
    """A box with a connected headset, a call with audio on the earpiece, and the watch."""

    current = None

    def open(self, start, prepare, error):
        self.provider = self.watch = None
        super().open(True, prepare, error)
        self.provider = provider.start(self.bus_path)
        self.watch = watch.start(self.bus_path)
        self.mend()

    @classmethod
    def there(cls):
        """The present call, or a new one."""
        if cls.current and not cls.current.is_well():
            cls.discard()
        if not cls.current:
            cls.current = cls()
        return cls.current

    @classmethod
    def discard(cls):
        if cls.current:
            cls.current.end()
        cls.current = None

    def is_well(self):
        try:
            self.mend()
            return self.daemon.is_running() and self.pings()
        except Exception as problem:
            print("# another world, because of this one: %.200s" % problem, flush=True)
            return False

    def mend(self):
        """Restores call and headset, where an attack was entitled to end them."""
        if not self.watch.ask("headset is set up")[0]:
            _, descriptors = self.bluez.ask("connect", bluez.HEADSETS[0])
            self.watch.ask("headset", descriptors=descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
            if not eventually(lambda: self.watch.ask("headset is set up")[0]):
                raise Broken("the headset's connection is not set up")
        counts = self.provider.ask("counts")[0]
        if counts["path"] and counts["audio"] and counts["age"] < 0.05:
            return
        path = self.provider.ask("call")[0]
        self.provider.ask("begin")
        if not eventually(lambda: self.has_audio(path), 2):
            path = self.provider.ask("again")[0]
            if not eventually(lambda: self.has_audio(path)):
                raise Broken("the call has no audio: %s" % self.provider.ask("counts")[0])
        # Its first blocks fill the pipe.
        time.sleep(0.3)

    def has_audio(self, path):
        return self.provider.ask("counts")[0]["blocks"] > 20 and self.counted(path)

    def counted(self, path):
        """Losses of the call's audio by the daemon's counters and their names; None when there is no audio."""
        client = self.client()
        try:
            missing = provider.counted(client.get(AUDIO, "org.btcall.Audio1", "Statistics"), path)
            if missing is None:
                return None
            metrics = client.metrics()
            losses = {words: sum(value for name, value in metrics.items() if name.startswith(start)) for words, start in LOSSES.items()}
            return {"blocks are missing": missing[0], "blocks are dropped": missing[1], **losses}
        finally:
            client.close()

    def end(self):
        for process in (self.watch, self.provider):
            if process:
                process.end()
        super().end()

    def attack(self, work, user, descriptors=1024):
        """A process of that user that attacks: `work` receives the path of the bus."""
        return Process(lambda channel: work(self.bus_path), user, descriptors=descriptors)
