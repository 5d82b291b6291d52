"""The plug-in with the real btcalld on a private bus, which is killed and started again under programs that play and record."""
import json
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from plugin import EXERCISE, PluginTest

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
PROGRAMS = os.environ.get("BTCALL_BIN", os.path.join(ROOT, ".build", "debug"))
PATIENCE = 20


class RealDaemon(PluginTest):
    def setUp(self):
        super().setUp()
        self.address = "unix:path=" + self.path("bus")
        with open(self.path("btcalld.conf"), "w") as file:
            file.write("[daemon]\nstateDirectory = %s\n[audio]\npcmSocket = %s\n[device earpiece]\nplayback = null\n"
                       % (self.path("state"), self.socket))
        bus = subprocess.Popen(["dbus-daemon", "--config-file=" + os.path.join(ROOT, "Tests", "private-bus.conf"),
                                "--address=" + self.address, "--nofork", "--print-address=1"], stdout=subprocess.PIPE)
        self.addCleanup(self.end, bus)
        bus.stdout.readline()
        self.btcalld = None
        self.addCleanup(self.kill)
        self.start()

    def start(self):
        with open(self.path("log"), "a") as log:
            self.btcalld = subprocess.Popen(
                [os.path.join(PROGRAMS, "btcalld"), "--bus", self.address, "--config", self.path("btcalld.conf"),
                 "--foreground"], stderr=log)
        self.wait("btcalld to be there", lambda: os.path.exists(self.socket) and self.calls() is not None)

    def kill(self):
        if self.btcalld:
            self.btcalld.kill()
            self.btcalld.wait()

    def wait(self, what, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            with open(self.path("log")) as log:
                self.assertLess(time.monotonic(), end, "timeout waiting for %s; btcalld logged:\n%s" % (what, log.read()))
            time.sleep(0.05)

    def calls(self):
        """The calls that the command line lists; None without a daemon."""
        answer = subprocess.run([os.path.join(PROGRAMS, "btcall"), "calls", "--bus", self.address, "--json"],
                                capture_output=True, text=True)
        return json.loads(answer.stdout) if answer.returncode == 0 else None

    def implied(self):
        return [(call["provider"], call["state"]) for call in self.calls() or []] == [("pcm", "active")]

    def test_players_and_recorders_survive_a_killed_and_restarted_daemon(self):
        sound = ["-q", "-D", "btcall:call", "-f", "S16_LE", "-r", "16000", "-d", "14"]
        play = self.begin("aplay", *sound, "/dev/zero")
        record = self.begin("arecord", *sound, self.path("record.wav"))
        strict = [self.begin(EXERCISE, what, "btcall:call", "14", self.path(what)) for what in ("play", "record")]
        self.wait("the implied call", self.implied)
        time.sleep(1)
        for _ in range(2):
            self.kill()
            time.sleep(0.7)
            self.start()
            self.wait("the implied call again", self.implied)
        for process in [play, record, *strict]:
            self.finish(process)
        # As long as requested: 44 bytes of header.
        self.assertEqual(os.path.getsize(self.path("record.wav")) - 44, 14 * 32000)
        positions = [position for _, position, _ in self.positions()]
        self.assertEqual(positions, sorted(positions))
        self.wait("the call to end with its audio", lambda: self.calls() == [])

    def test_recorded_samples_keep_steady_dates_when_the_clock_changes(self):
        ffmpeg = ["ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "warning"]
        date = self.begin(EXERCISE, "date", "btcall:call", "16")
        record = self.begin(*ffmpeg, "-f", "alsa", "-channels", "1", "-sample_rate", "16000",
                            "-guess_layout_max", "0", "-i", "btcall:call", "-t", "15", self.path("record.wav"))
        time.sleep(1)
        self.begin(*ffmpeg, "-f", "lavfi", "-i", "sine=sample_rate=16000:duration=14", "-f", "alsa", "btcall:call")
        self.wait("the implied call", self.implied)
        time.sleep(1)
        self.kill()
        time.sleep(0.5)
        self.start()
        self.wait("the implied call again", self.implied)
        for process in [record, date]:
            self.finish(process)

    def test_a_recording_keeps_time_across_a_restart(self):
        play = self.begin("aplay", "-q", "-D", "btcall:call", "-f", "S16_LE", "-r", "16000", "-d", "12", "/dev/zero")
        with ThreadPoolExecutor() as pool:
            error = pool.submit(self.clock_error, [self.recorder("9")])
            self.wait("the implied call", self.implied)
            time.sleep(2)
            self.kill()
            time.sleep(0.7)
            self.start()
            # 1 % of the time; two clocks in turn, each of which may start 20 ms late.
            self.assertLess(abs(error.result()[0]), 0.09)
        self.finish(play)

    def test_200_opens_and_closes_leave_no_call(self):
        self.run_program(EXERCISE, "opens", "btcall:call", "200")
        self.wait("no call to be left", lambda: self.calls() == [])
