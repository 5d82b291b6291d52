"""Common programs, and a strict one of our own, without a daemon: everything works, in silence."""
import glob
import os
import re
import subprocess
import threading
import time
import wave

from plugin import BUILT, EXERCISE, VALGRIND, PluginTest


class Programs(PluginTest):
    def setUp(self):
        super().setUp()
        self.tone = self.path("tone.wav")
        with wave.open(self.tone, "wb") as file:
            file.setparams((1, 2, 16000, 0, "NONE", ""))
            file.writeframes(bytes(32000))

    def frames(self, name):
        with wave.open(self.path(name)) as file:
            return file.getnframes()

    def test_aplay_lists_it_with_its_description(self):
        listed = self.run_program("aplay", "-L")
        self.assertRegex(listed, r"(?m)^btcall\n    Call audio by btcall")

    def test_aplay_plays_on_every_role(self):
        for name in ["btcall", "btcall:call", "btcall:ring", "btcall:page", "btcall:ROLE=ring", "bare:call"]:
            with self.subTest(name=name):
                self.run_program("aplay", "-q", "-D", name, self.tone)
        self.run_program("aplay", "-q", "-M", "-D", "btcall:call", self.tone)

    def test_another_socket_can_be_named(self):
        daemon = self.daemon()
        self.run_program("aplay", "-q", "-D", "btcall:ROLE=ring,SOCKET=" + self.socket, self.tone,
                         BTCALL_PCM_SOCKET="/nonexistent")
        self.assertEqual([(hello[2], hello[6], hello[9].rstrip(b"\0")) for hello in daemon.hellos], [(1, 16000, b"aplay")])

    def test_other_rates_and_formats_are_converted(self):
        with wave.open(self.path("odd.wav"), "wb") as file:
            file.setparams((2, 1, 22050, 0, "NONE", ""))
            file.writeframes(b"\x80" * 44100)
        self.run_program("aplay", "-q", "-D", "btcall:ring", self.path("odd.wav"))

    def test_two_recordings_at_once_keep_time(self):
        for error in self.clock_error([self.recorder("9"), self.recorder("9")]):
            self.assertLess(abs(error), 0.045)

    def test_speaker_test(self):
        for options in [["-t", "sine"], ["-t", "pink", "-c", "2", "-r", "16000"], ["-F", "FLOAT_LE", "-t", "sine", "-r", "8000"]]:
            with self.subTest(options=options):
                self.run_program("speaker-test", "-D", "btcall:call", "-l", "1", *options)

    def test_sox_plays_and_records(self):
        self.run_program("sox", "-q", "-n", "-t", "alsa", "btcall:call", "synth", "1", "sine", "440")
        self.run_program("sox", "-q", "-t", "alsa", "btcall:call", self.path("sox.wav"), "trim", "0", "1")
        self.assertEqual(self.frames("sox.wav"), 48000)

    def test_ffmpeg_plays_and_records(self):
        quiet = ["ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "warning", "-y", "-guess_layout_max", "0"]
        self.run_program(*quiet, "-i", self.tone, "-f", "alsa", "btcall:call")
        self.run_program(*quiet, "-f", "alsa", "-i", "btcall:call", "-t", "1", self.path("ffmpeg.wav"))
        # ffmpeg cuts by the time of arrival, not by the amount.
        self.assertAlmostEqual(self.frames("ffmpeg.wav"), 48000, delta=4800)

    def test_gstreamer_plays_and_records(self):
        registry = {"GST_REGISTRY": self.path("registry")}
        self.run_program("gst-launch-1.0", "-q", "audiotestsrc", "num-buffers=40", "!", "alsasink", "device=btcall:call",
                         **registry)
        self.run_program("gst-launch-1.0", "-q", "alsasrc", "device=btcall:call", "num-buffers=100", "!", "wavenc", "!",
                         "filesink", "location=" + self.path("gst.wav"), **registry)
        self.assertGreater(self.frames("gst.wav"), 8000)

    def test_aplay_pauses_and_resumes(self):
        # The space bar pauses aplay; `script` gives it a terminal.
        command = "aplay -i -D btcall:call -f S16_LE -r 16000 -d 3 /dev/zero"
        play = subprocess.Popen(["script", "-qec", command, "/dev/null"], env=self.environment, bufsize=0,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(self.end, play)
        guard = threading.Timer(60, play.kill)
        guard.start()
        self.addCleanup(guard.cancel)
        output = b""
        # Its output before each key press.
        for shown in [b"PLAYING", b"PAUSE"]:
            while shown not in output.upper():
                more = os.read(play.stdout.fileno(), 4096)
                self.assertTrue(more, output)
                output += more
            time.sleep(0.3)
            play.stdin.write(b" ")
        output += play.stdout.read()
        self.assertEqual(play.wait(timeout=60), 0, output)
        self.assertNotRegex(output, rb"(?i)error|xrun|underrun|fail")

    def test_only_a_call_can_be_recorded_and_roles_are_checked(self):
        for name, reason in [("btcall:ring", "only btcall:call can be recorded from"),
                             ("btcall:tone", "'tone' is no role: call, ring or page")]:
            process = self.begin("arecord", "-q", "-D", name, "-d", "1", self.path("never.wav"))
            _, problems = process.communicate(timeout=60)
            self.assertNotEqual(process.returncode, 0)
            self.assertIn(reason, problems)
            self.assertNotIn("No such device", problems)

    def test_a_socket_without_access_is_reported_once_and_gives_silence(self):
        if os.getuid() == 0:
            # Root has access to everything; another user has not.
            user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        else:
            user = []
        self.daemon()
        os.chmod(self.socket, 0)
        os.chmod(self.directory.name, 0o755)
        process = self.begin(*user, "aplay", "-q", "-D", "btcall:call", self.tone)
        _, problems = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, problems)
        self.assertEqual(problems.count("add the user to the group btcall"), 1, problems)

    def test_the_mixer_exists_and_is_inactive_before_the_daemon_starts(self):
        self.assertEqual(self.run_program("amixer", "-D", "btcall", "controls"), "")
        shown = self.run_program("amixer", "-i", "-D", "btcall", "controls")
        self.assertEqual(re.findall("name='(.*)'", shown), ["Capture Switch", "Capture Volume", "Playback Volume"])


    def test_it_is_installed_where_alsa_looks(self):
        build = os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "build-pcm-plugin")
        environment = dict(os.environ, DESTDIR=self.path("root"), PLUGINDIR="/plugins")
        subprocess.run([build, "install", BUILT], env=environment, check=True)
        installed = [os.path.relpath(file, self.path("root")) for file in glob.glob(self.path("root") + "/**", recursive=True)
                     if os.path.isfile(file)]
        self.assertEqual(sorted(installed), ["etc/alsa/conf.d/60-btcall.conf", "plugins/libasound_module_ctl_btcall.so",
                                             "plugins/libasound_module_pcm_btcall.so"])
        self.run_program("aplay", "-q", "-D", "btcall:ring", self.tone, ALSA_PLUGIN_DIR=self.path("root/plugins"))


class Exercises(PluginTest):
    def test_every_role_rate_format_channel_count_and_period(self):
        for name in ["bare", "btcall"]:
            with self.subTest(name=name):
                self.run_program(EXERCISE, "matrix", name)

    def test_running_dry_pause_drop_drain_nonblocking_mapped_and_forked(self):
        for name in ["bare", "btcall"]:
            with self.subTest(name=name):
                self.run_program(EXERCISE, "semantics", name)

    def test_positions_keep_time(self):
        play = self.begin(EXERCISE, "play", "btcall:call", "4", self.path("play"))
        record = self.begin(EXERCISE, "record", "btcall:call", "4", self.path("record"))
        self.finish(play)
        self.finish(record)

    def test_200_opens_and_closes_lose_no_descriptor(self):
        self.run_program(EXERCISE, "opens", "btcall:call", "200")

    def test_valgrind_finds_nothing(self):
        for arguments in [["opens", "bare:call", "200"], ["semantics", "bare"], ["matrix", "bare", "20"]]:
            with self.subTest(arguments=arguments):
                self.run_program(*VALGRIND, EXERCISE, *arguments, SLOW="1")
        self.run_program(*VALGRIND, "amixer", "-D", "btcall", "scontents")

    def test_no_swift_library_is_needed(self):
        for file in glob.glob(BUILT + "/*.so") + [EXERCISE]:
            needed = subprocess.run(["ldd", file], capture_output=True, text=True, check=True).stdout
            self.assertIn("libasound.so.2", needed)
            self.assertNotRegex(needed, r"(?i)swift|stdc\+\+|not found")

    def test_no_executable_stack_and_no_lazy_binding(self):
        for file in glob.glob(BUILT + "/*.so"):
            headers = subprocess.run(["readelf", "-Wld", file], capture_output=True, text=True, check=True).stdout
            self.assertRegex(headers, r"GNU_STACK.* RW ")
            self.assertRegex(headers, r"GNU_RELRO")
            self.assertRegex(headers, r"\(FLAGS.*NOW")
