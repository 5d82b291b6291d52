"""Files on the disk: deliberately damaged state files, and files of others that settings name."""
import os
import pwd
import shutil
import time

from bluez import HEADSETS
from bus import AUDIO, CALLS, NAME, OBJECTS, ROOT, Client, Refused
from judge import Attack
from users import DAEMON, MEMBER
from world import Box, wrong_lines

FAR = "/state/provider"
NUMBERS = [b"-9223372036854775808", b"9223372036854775807", b"9223372036854775808", b"18446744073709551615", b"-1", b"0", b"1e400",
           b"nan", b"-inf", b"%00", b"4611686018427387904", b"70368744177664"]


def report(client, number, name):
    """An unanswered incoming call: a line of the log of calls."""
    client.call(NAME, CALLS, "org.btcall.Calls1", "RegisterProvider", "oa{sv}", (FAR, {"name": ("s", "state")}))
    call = client.call(NAME, CALLS, "org.btcall.Calls1", "ReportIncoming", "osa{sv}", (FAR, number, {"name": ("s", name)}))[0]
    client.call(NAME, call, "org.btcall.Call1", "Update", "sa{sv}", ("ended", {}))


def set_value(client, key, value):
    client.call(NAME, ROOT, "org.btcall.Manager1", "SetSetting", "ss", (key, value))


def rare_files():
    """In the daemon's own format, for the present boot of this machine."""
    with open("/proc/sys/kernel/random/boot_id") as boot:
        start = boot.read().strip()
    return {"codecs.conf": "[learnt with]\nkernel = %s\ncodecs = msbc, cvsd\n[00:1A:7D:00:00:01 %s]\noffered = msbc, cvsd\nlacking = msbc\n"
                           "ceiling = cvsd\nfailures = 1\nunanswered = 1\n" % (os.uname().release, HEADSETS[0]),
            "reconnect.conf": "[start of the board]\nid = %s\n[%s]\nused = 3\nleft = byHand\nquarantine = 1000\n" % (start, HEADSETS[0]),
            "volumes.conf": "[%s]\nspeaker = 9\nmicrophone = 9\n" % HEADSETS[0]}


class State(Attack):
    """A box without a headset: its daemon is restarted again and again with the files in its state directory."""

    def box(self):
        """A box whose state directory has a file of each kind, written by the daemon itself."""
        box = Box()
        self.addCleanup(box.end)
        client = box.client()
        for number in range(3):
            report(client, "030%d" % number, "Caller %d" % number)
        set_value(client, "calls.doNotDisturb", "no")
        set_value(client, "ring.volume", "60")
        client.set(AUDIO, "org.btcall.Audio1", "MicVolume", "d", 0.5)
        client.close()
        self.stop(box)
        os.makedirs(box.path("state", "incidents"), exist_ok=True)
        # Files that rarely occur.
        for name, content in rare_files().items():
            with open(box.path("state", name), "w") as file:
                file.write(content)
        self.own(box)
        shutil.copytree(box.path("state"), box.path("kept"))
        return box

    def own(self, box):
        user, group = pwd.getpwnam(DAEMON)[2:4]
        for directory, names, files in os.walk(box.path("state")):
            for name in [directory] + [os.path.join(directory, file) for file in files]:
                os.chown(name, user, group, follow_symlinks=False)

    def stop(self, box):
        self.assertEqual(box.daemon.end(10), 0, "btcalld does not end by SIGTERM with exit status 0")

    def restore(self, box):
        shutil.rmtree(box.path("state"))
        shutil.copytree(box.path("kept"), box.path("state"))

    def judge_start(self, box, what, broken=()):
        """It starts, answers, and names the unusable files."""
        self.own(box)
        logged, begin = box.daemon.logged(), time.monotonic()
        box.start()
        took = time.monotonic() - begin
        client = box.client()
        try:
            for request in ((CALLS, "org.btcall.Calls1", "Log", "u", (0,)), (ROOT, "org.btcall.Manager1", "ListSettings"),
                            (ROOT, OBJECTS, "GetManagedObjects")):
                client.call(NAME, *request, timeout=5)
            # Each file is rewritten, or a message says that it cannot be.
            report(client, "1", "After")
            set_value(client, "ring.volume", "61")
            client.call(NAME, CALLS, "org.btcall.Calls1", "Log", "u", (0,), timeout=5)
        except Exception as failure:
            raise self.failureException("%s: %s" % (what, failure)) from None
        finally:
            client.close()
        lines = box.daemon.lines(logged)
        self.assertEqual(wrong_lines(lines), [], what)
        self.assertLess(took, 10, "%s: the start took so many seconds" % what)
        said = "\n".join(lines + [str(problem) for problem in box.asked("Problems")])
        unsaid = [name for name in broken if name not in said]
        self.assertEqual(unsaid, [], "%s: nothing is said of it:\n%.2000s" % (what, said))
        self.stop(box)

    def files(self, box):
        return sorted(name for name in os.listdir(box.path("kept")) if os.path.isfile(box.path("kept", name)) and name != "record")

    def test_the_daemon_starts_with_whatever_its_state_files_are(self):
        """Each file is a FIFO, a directory, a link, a device or a gigabyte; unread ones are reported."""
        box = self.box()
        kinds = {"a FIFO": lambda path: os.mkfifo(path), "a directory": lambda path: os.mkdir(path),
                 "a link to a device": lambda path: os.symlink("/dev/zero", path),
                 "a link to a file of others": lambda path: os.symlink("/etc/passwd", path),
                 "a gigabyte": lambda path: os.truncate(os.open(path, os.O_WRONLY | os.O_CREAT), 1 << 30)}
        names = self.files(box)
        for what, make in kinds.items():
            self.restore(box)
            for name in names:
                os.unlink(box.path("state", name))
                make(box.path("state", name))
            # In a file of others with lines, each line is refused by its own name.
            broken = ("calls.log",) if "of others" in what else ("preferences.conf", "calls.log")
            self.judge_start(box, "all of %s are %s" % (", ".join(names), what), broken)
            with open("/etc/passwd") as file:
                self.assertIn("root:", file.readline(), "what a link pointed to was overwritten")

    def test_the_daemon_starts_with_state_files_that_are_damaged(self):
        box, draw = self.box(), self.random
        for turn in range(self.count(20)):
            self.restore(box)
            for name in self.files(box):
                with open(box.path("state", name), "rb") as file:
                    content = file.read()
                with open(box.path("state", name), "wb") as file:
                    file.write(self.damaged(content, draw))
            self.judge_start(box, "damaged files, turn %d" % turn)

    def damaged(self, content, draw):
        lines = content.split(b"\n")
        for _ in range(draw.randrange(1, 6)):
            at, kind = draw.randrange(len(lines)), draw.randrange(7)
            fields = lines[at].split(b"\t") if b"\t" in lines[at] else lines[at].split(b" ")
            field = draw.randrange(len(fields))
            if kind < 3:
                fields[field] = draw.choice(NUMBERS)
            elif kind == 3:
                fields[field] = fields[field] + draw.choice([b"%", b"%0", b"%00", b"%FF", b"\x00", b"\xff\xfe",
                                                              b"%0Aerror btcalld: forged"])
            elif kind == 4:
                fields[field] = b"x" * draw.choice([199, 4096, 1 << 20])
            elif kind == 5:
                fields = fields * draw.choice([2, 1000])
            else:
                fields = [draw.randbytes(draw.randrange(200))]
            lines[at] = (b"\t" if b"\t" in lines[at] else b" ").join(fields)
        return b"\n".join(lines)

    def test_numbers_at_the_end_of_their_range_in_the_log_of_calls_are_answered_or_dropped(self):
        box = self.box()
        with open(box.path("kept", "calls.log"), "rb") as file:
            fields = file.readline().rstrip(b"\n").split(b"\t")
        lines = []
        for column in range(len(fields)):
            for number in NUMBERS:
                changed = list(fields)
                changed[column] = number
                lines.append(b"\t".join(changed))
        # At most a hundred are kept.
        for begin in range(0, len(lines), 90):
            with open(box.path("state", "calls.log"), "wb") as file:
                file.write(b"\n".join(lines[begin:begin + 90]) + b"\n")
            self.judge_start(box, "calls.log with numbers at the end of their range")

    def test_a_long_setting_does_not_lose_the_others(self):
        box = self.box()
        box.start()
        client = box.client()
        set_value(client, "calls.doNotDisturb", "yes")
        for key, value in (("ring.file", "/" + 300 * "a"), ("ring.playback", "x" * 300), ("identity.displayName", "y" * 300)):
            try:
                set_value(client, key, value)
            except Refused:
                pass
        client.close()
        # It may be written slightly later.
        time.sleep(0.2)
        self.stop(box)
        box.start()
        client = box.client()
        self.assertEqual(client.settings()["calls.doNotDisturb"]["value"], "yes", "a setting was lost with one that is too long")
        client.close()
        self.stop(box)

    def test_a_ring_tone_that_is_no_regular_file_keeps_nobody_waiting(self):
        """Set while it runs, and kept over a restart; then calls come in."""
        box = self.box()
        os.mkfifo(box.path("fifo"))
        os.chmod(box.path("fifo"), 0o666)
        box.start()
        for turn in range(2):
            client = Client(box.bus_path, MEMBER)
            for place in (box.path("fifo"), "/dev/zero", "/proc/kmsg", box.work):
                for key in ("ring.file", "identity.ringtoneSound") if turn == 0 else ():
                    try:
                        set_value(client, key, place)
                    except Refused:
                        pass
                try:
                    report(client, "030", "Ring")
                except Refused:
                    pass
                self.assertTrue(box.pings(), "no answer while a call comes in with %s" % place)
            client.close()
            self.stop(box)
            if turn == 0:
                box.start()
