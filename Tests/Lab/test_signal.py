"""Unit tests of the counted signal and of the analysis. Run in the lab's Python environment: python3 -m unittest."""
import os
import sys
import tempfile
import unittest
import wave

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np

import analyse
import counted
import voice


def signal(seconds, rate=16000, code=0, first=0.0):
    return counted.samples(rate, int(first * rate), int(seconds * rate), code)


def without(pcm, rate, at, milliseconds):
    """The recording with a piece cut out, as when a queue overflowed."""
    a = int(at * rate)
    return np.concatenate([pcm[:a], pcm[a + int(milliseconds * rate / 1000):]])


def silenced(pcm, rate, at, milliseconds):
    out = pcm.copy()
    out[int(at * rate):int((at + milliseconds / 1000) * rate)] = 0
    return out


def through_msbc(pcm):
    codec, out = voice.Msbc(), b""
    for i in range(0, len(pcm) - 119, 120):
        out += codec.decode(codec.encode(pcm[i:i + 120].astype("<i2").tobytes()))
    return np.frombuffer(out, dtype="<i2")


def decoded(pcm, rate, code=0):
    return counted.decode(pcm / 32768, rate, code)


class Sequence(unittest.TestCase):
    def test_every_triple_occurs_once_in_a_period(self):
        for code in range(counted.CODES):
            s = counted.sequence(code).tolist()
            self.assertEqual(len(s), counted.PERIOD_SYMBOLS)
            self.assertEqual(len({tuple((s + s[:2])[i:i + 3]) for i in range(len(s))}), len(s))

    def test_codes_have_no_triple_in_common(self):
        triples = set()
        for code in range(counted.CODES):
            s = counted.sequence(code).tolist()
            triples |= {tuple((s + s[:2])[i:i + 3]) for i in range(len(s))}
        self.assertEqual(len(triples), counted.CODES * counted.PERIOD_SYMBOLS)

    def test_neighbours_are_300_hz_apart(self):
        for code in range(counted.CODES):
            s = counted.sequence(code).astype(int)
            self.assertGreaterEqual(int(np.abs(np.diff(np.append(s, s[0]))).min()), 3)

    def test_source_in_pieces_is_the_signal(self):
        source, out = counted.Source(16000), b""
        for n in (240, 2, 318, 240):
            out += source.take(n)
        self.assertEqual(out, signal(1)[:len(out) // 2].astype("<i2").tobytes())


class Decoding(unittest.TestCase):
    def one(self, segments):
        self.assertEqual(len(segments), 1, segments)
        return segments[0]

    def test_whole_signal_is_one_segment_at_every_rate(self):
        for rate in (8000, 16000, 44100, 48000):
            s = self.one(decoded(signal(4, rate, first=3.0), rate))
            self.assertLess(abs(s["position"] - 3.0), 0.003, rate)
            self.assertLess(s["start"], 0.006, rate)
            self.assertGreater(s["end"], 3.99, rate)

    def test_codes_do_not_match_each_other(self):
        self.assertEqual(sum(s["end"] - s["start"] for s in decoded(signal(2, code=1), 16000, code=0)), 0)

    def test_nothing_is_found_in_silence_noise_and_a_tone(self):
        t = np.arange(32000) / 16000
        for pcm in (np.zeros(32000), np.random.RandomState(1).normal(0, 3000, 32000), 10000 * np.sin(2 * np.pi * 1000 * t)):
            self.assertEqual(decoded(pcm, 16000), [])

    def test_position_past_the_period(self):
        first = counted.PERIOD_SECONDS - 2
        s = self.one(decoded(signal(4, 8000, first=first), 8000))
        self.assertAlmostEqual(s["position_end"] - s["position"], 4, delta=0.01)

    def test_start_after_silence(self):
        s = self.one(decoded(np.concatenate([np.zeros(24000), signal(2)]), 16000))
        self.assertAlmostEqual(s["start"], 1.5, delta=0.004)
        self.assertAlmostEqual(s["position"], 0, delta=0.004)

    def test_cut_of_100_ms(self):
        for at in np.arange(1.0, 1.021, 0.0025):
            g = counted.gaps(decoded(without(signal(3), 16000, at, 100), 16000))
            self.assertEqual(len(g), 1, (at, g))
            self.assertAlmostEqual(g[0]["missing_ms"] - g[0]["silent_ms"], 100, delta=2)
            self.assertAlmostEqual(g[0]["at"], at, delta=0.012)

    def test_cut_of_20_ms(self):
        for at in np.arange(1.0, 1.021, 0.0025):
            g = counted.gaps(decoded(without(signal(3), 16000, at, 20), 16000))
            self.assertEqual(len(g), 1, (at, g))
            self.assertAlmostEqual(g[0]["missing_ms"] - g[0]["silent_ms"], 20, delta=2)

    def test_silence_of_20_ms(self):
        for at in np.arange(1.0, 1.021, 0.0025):
            g = counted.gaps(decoded(silenced(signal(3), 16000, at, 20), 16000))
            self.assertEqual(len(g), 1, (at, g))
            self.assertAlmostEqual(g[0]["missing_ms"], 20, delta=6)
            self.assertAlmostEqual(g[0]["silent_ms"], 20, delta=6)

    def test_pause_of_20_ms_misses_nothing(self):
        pcm = signal(3)
        for at in np.arange(1.0, 1.021, 0.0025):
            a = int(at * 16000)
            g = counted.gaps(decoded(np.concatenate([pcm[:a], np.zeros(320, dtype=np.int16), pcm[a:]]), 16000))
            self.assertEqual(len(g), 1, (at, g))
            self.assertAlmostEqual(g[0]["silent_ms"], 20, delta=6)
            self.assertLess(g[0]["missing_ms"] + g[0]["repeated_ms"], 6)

    def test_repeated_60_ms(self):
        pcm = signal(3)
        g = counted.gaps(decoded(np.concatenate([pcm[:16000], pcm[16000 - 960:]]), 16000))
        self.assertEqual(len(g), 1, g)
        self.assertAlmostEqual(g[0]["repeated_ms"] + g[0]["silent_ms"], 60, delta=4)

    def test_drift_is_one_segment(self):
        pcm = signal(10, 16000).astype(float)
        places = np.arange(0, 159000) * 1.0005
        s = self.one(decoded(np.interp(places, np.arange(len(pcm)), pcm), 16000))
        self.assertAlmostEqual(s["position_end"] - s["position"], 159000 / 16000 * 1.0005, delta=0.004)
        self.assertLess(abs(s["slip_ms"]), 1.5)

    def test_lag_stays_where_few_tones_alternate(self):
        """Half a sample of the decoder away from its grid, two lags a millisecond apart match nearly as well in places."""
        pcm = counted.samples(16000, 1, 52 * 16000) / 32768
        s = self.one(counted.decode(pcm + np.random.RandomState(1).normal(0, 0.05, len(pcm)), 16000))
        self.assertLess(abs(s["slip_ms"]), 0.3)

    def test_planted_cut_of_1_ms(self):
        for at in np.arange(1.0, 1.5, 0.05):
            segments = decoded(without(signal(3), 16000, at, 1), 16000)
            lags = segments[0]["position"] - segments[0]["start"], segments[-1]["position_end"] - segments[-1]["end"]
            self.assertAlmostEqual(1000 * (lags[1] - lags[0]), 1, delta=0.3)

    def test_planted_cuts_through_msbc(self):
        for milliseconds in (100, 20):
            for late in (0, 0.005, 0.010, 0.015):
                pcm = through_msbc(without(signal(3), 16000, 1.5 + late, milliseconds))
                g = counted.gaps(decoded(pcm, 16000))
                self.assertEqual(len(g), 1, g)
                self.assertAlmostEqual(g[0]["missing_ms"] - g[0]["silent_ms"], milliseconds, delta=3)

    def test_whole_signal_through_msbc_and_noise(self):
        pcm = through_msbc(signal(5)) + np.random.RandomState(2).normal(0, 300, 5 * 16000 // 120 * 120)
        s = self.one(decoded(pcm, 16000))
        self.assertGreater(s["end"] - s["start"], 4.95)

    def test_narrow_band_detour_and_cut(self):
        """48 kHz to 8 kHz and back with a cut between: the audio of a CVSD headset."""
        narrow = counted.resample(signal(3, 48000) / 32768, 48000)
        g = counted.gaps(counted.decode(without(narrow, 8000, 1.7, 20), 8000))
        self.assertEqual(len(g), 1, g)

    def test_lost_msbc_frame(self):
        codec, out = voice.Msbc(), b""
        pcm = signal(3)
        for i in range(0, len(pcm) - 119, 120):
            frame = codec.encode(pcm[i:i + 120].astype("<i2").tobytes())
            out += bytes(240) if i == 120 * 200 else codec.decode(frame)
        g = counted.gaps(decoded(np.frombuffer(out, dtype="<i2"), 16000))
        self.assertEqual(len(g), 1, g)
        self.assertLess(g[0]["missing_ms"], 20)


class Analysis(unittest.TestCase):
    """Whole scenes: recordings with their times and the lab's logs in a directory, as after a boot."""
    OFFSET = 1700000000.0                              # lab time less guest time

    def setUp(self):
        self.directory, self.back = tempfile.TemporaryDirectory(), os.getcwd()
        os.chdir(self.directory.name)

    def tearDown(self):
        os.chdir(self.back)
        self.directory.cleanup()

    def log(self, name, *lines):
        with open(name, "w") as f:
            f.writelines(line + "\n" for line in lines)

    def headset(self, name, pcm, rate, begin):
        """Packets of 7.5 ms that arrive up to 4 ms late."""
        size, random = rate * 75 // 10000, np.random.RandomState(5)
        self.write(name, pcm, rate)
        self.log(name + ".times", "# clock lab", "# mode arrival",
                 *(f"{i} {begin + i / rate + random.uniform(0, 0.004):.6f}" for i in range(0, len(pcm), size)))

    def card(self, name, pcm, rate, begin):
        """Periods of 10 ms on the guest's clock, seen up to 8 ms late."""
        random = np.random.RandomState(6)
        self.write(name, pcm, rate)
        self.log(name + ".times", "# clock guest", "# mode steady",
                 *(f"{i} {begin - self.OFFSET + i / rate + random.uniform(0, 0.008):.6f}" for i in range(0, len(pcm), rate // 100)))

    def write(self, name, pcm, rate):
        with wave.open(name + ".wav", "wb") as w:
            w.setnchannels(1)
            w.setsampwidth(2)
            w.setframerate(rate)
            w.writeframes(np.asarray(pcm).astype("<i2").tobytes())

    def clock(self, *more):
        self.log("watch.log", *(f"clock {100 + s:.6f} {self.OFFSET + 100 + s + 0.0001:.6f} 0.000300" for s in range(30)), *more)

    def calls(self, dead=0.25, missing=0.25):
        """A call from 100 s: earpiece, from 103 s headset 1, dead at 106 s, then the earpiece again until 110 s."""
        begin = self.OFFSET + 100
        near = signal(10, 48000)
        near[3 * 48000:6 * 48000] = 0
        near[6 * 48000:] = 0
        again = int((6 + dead) * 48000)
        near[again:] = signal(10, 48000, first=6 + missing)[:len(near) - again]
        self.card("earpiece", near, 48000, begin)
        self.headset("h1", signal(3, 16000, first=3.0), 16000, begin + 3)
        return begin

    def test_four_steps_and_their_gap(self):
        self.clock()
        begin = self.calls()
        result = analyse.decode(["earpiece.wav", "h1.wav"], 0, 5.0)
        self.assertEqual(len(result["missing"]), 1, result["missing"])
        self.assertAlmostEqual(result["missing"][0]["ms"], 250, delta=8)
        self.assertEqual((result["missing"][0]["before"], result["missing"][0]["after"]), ("h1.wav", "earpiece.wav"))
        self.assertEqual(len(result["silences"]), 1, result["silences"])
        self.assertAlmostEqual(result["silences"][0]["ms"], 250, delta=12)
        self.assertAlmostEqual(result["silences"][0]["time_to"], begin + 6.25, delta=0.008)
        self.assertFalse(result["silences"][0]["stalled"])

    def test_silence_without_a_missing_word(self):
        self.clock()
        self.calls(dead=0.2, missing=0.0)
        result = analyse.decode(["earpiece.wav", "h1.wav"], 0, 10.0)
        self.assertEqual(result["missing"], [])
        self.assertAlmostEqual(result["silence_ms_max"], 200, delta=12)

    def test_devices_that_sound_together(self):
        self.clock()
        begin = self.calls(dead=0.0, missing=0.0)
        self.assertLess(analyse.decode(["earpiece.wav", "h1.wav"], 0, 10.0)["overlap_ms_max"], 12)
        self.headset("h1", signal(3.5, 16000, first=3.0), 16000, begin + 3)
        result = analyse.decode(["earpiece.wav", "h1.wav"], 0, 10.0)
        together = [o for o in result["overlaps"] if o["ms"] > 12]
        self.assertEqual([o["files"] for o in together], [["h1.wav", "earpiece.wav"]])
        self.assertAlmostEqual(together[0]["ms"], 500, delta=12)
        self.assertAlmostEqual(together[0]["from"], begin + 6, delta=0.012)

    def test_packets_that_stop_for_a_moment(self):
        """The headset hears nothing from 4 s to 4.6 s; its recording continues with the later audio."""
        self.clock()
        begin = self.OFFSET + 100
        heard = signal(8)
        for silent in (False, True):                           # afterwards: the signal further on, or silence
            pcm = np.concatenate([heard[:4 * 16000], 0 * heard[:3 * 16000] if silent else heard[int(4.6 * 16000):7 * 16000]])
            self.headset("h1", pcm, 16000, begin)
            with open("h1.times") as f:
                lines = [line if line.startswith("#") or int(line.split()[0]) < 4 * 16000 else
                         f"{line.split()[0]} {float(line.split()[1]) + 0.6:.6f}\n" for line in f]
            self.log("h1.times", *(line.strip() for line in lines))
            first = analyse.decode(["h1.wav"], 0, 10.0)
            self.assertAlmostEqual(first["files"][0]["segments"][0]["time_end"], begin + 4, delta=0.012)
            self.assertEqual(len(first["silences"]), 0 if silent else 1)
            if not silent:
                self.assertAlmostEqual(first["silences"][0]["ms"], 600, delta=12)

    def test_hole_during_a_stall_is_marked(self):
        self.clock("stall 106.000000 90.0")
        self.calls()
        self.assertTrue(analyse.decode(["earpiece.wav", "h1.wav"], 0, 10.0)["missing"][0]["stalled"])

    def test_tone_leaves_out_stalls_and_finds_dips(self):
        t = np.arange(10 * 16000) / 16000
        pcm = 10000 * np.sin(2 * np.pi * 1000 * t)
        pcm[int(4.02 * 16000):int(4.05 * 16000)] = 0           # during a stall
        self.clock("path 104.000000 60.0", "stall 107.000000 30.0")
        self.headset("h1", pcm, 16000, self.OFFSET + 100)
        result = analyse.tone(analyse.Recording("h1.wav"), 1000, "+1", "-1", 40.0)
        self.assertEqual(result["windows"], 64)
        self.assertIn(result["excluded"], (2, 3, 4))
        self.assertGreater(result["share_min"], 0.999)
        pcm[int(8.02 * 16000):int(8.04 * 16000)] = 0           # the program's own fault
        self.headset("h1", pcm, 16000, self.OFFSET + 100)
        result = analyse.tone(analyse.Recording("h1.wav"), 1000, "+1", "-1", 40.0)
        self.assertEqual(result["below_098"], 1)
        self.assertAlmostEqual(result["worst"][0]["at"], 8, delta=0.13)

    def test_a_tone_that_a_resampler_bends_is_found_within_the_bend_and_its_dips_are(self):
        t = np.arange(10 * 16000) / 16000
        pcm = 10000 * np.sin(2 * np.pi * 1004.8 * t)
        self.headset("h1", pcm, 16000, self.OFFSET + 100)
        self.clock()
        self.assertLess(analyse.tone(analyse.Recording("h1.wav"), 1000, "+1", "-1", 40.0)["share_mean"], 0.4)
        result = analyse.tone(analyse.Recording("h1.wav"), 1000, "+1", "-1", 40.0, 0.6)
        self.assertGreater(result["share_min"], 0.99)
        self.assertEqual((result["hz_least"], result["hz_most"]), (1005, 1005))
        pcm[int(8.02 * 16000):int(8.04 * 16000)] = 0
        self.headset("h1", pcm, 16000, self.OFFSET + 100)
        self.assertEqual(analyse.tone(analyse.Recording("h1.wav"), 1000, "+1", "-1", 40.0, 0.6)["below_098"], 1)
        self.assertLess(analyse.tone(analyse.Recording("h1.wav"), 1100, "+1", "-1", 40.0, 0.6)["share_mean"], 0.01)

    def test_tone_placed_by_its_end(self):
        self.clock("stall 103.000000 80.0")
        self.write("uplink", 10000 * np.sin(2 * np.pi * 1000 * np.arange(5 * 16000) / 16000), 16000)
        recording = analyse.Recording("uplink.wav", end=self.OFFSET + 105)
        result = analyse.tone(recording, 1000, str(self.OFFSET + 101), "-1", 40.0)
        self.assertGreater(result["excluded"], 0)
        self.assertEqual(result["share_min"], 1.0)

    def test_delay_of_a_signal_that_was_begun_again(self):
        """Counted signal, a tone, counted signal from its beginning: heard 35 ms later, on the guest's clock, in blocks of 10 ms."""
        self.clock()
        tone = 13000 * np.sin(2 * np.pi * 1000 * np.arange(6 * 16000) / 16000)
        said = np.concatenate([signal(10, code=2), tone, signal(10, code=2)])
        self.exchange(said, np.concatenate([np.zeros(560), said]), self.OFFSET + 100)
        result = analyse.delay(analyse.Recording("said.wav"), analyse.Recording("heard.wav"), 2, 5.0)
        self.assertGreater(result["pairs"], 900)
        self.assertAlmostEqual(result["seconds"], 26, delta=0.3)
        for name in ("median_ms", "first_ms", "last_ms"):
            self.assertAlmostEqual(result[name], 35, delta=1.5, msg=name)
        self.assertLess(abs(result["drift_ms"]), 0.5)
        self.assertEqual(analyse.delay(analyse.Recording("said.wav"), analyse.Recording("heard.wav"), 1, 5.0)["pairs"], 0)

    def test_delay_that_grows(self):
        """100 ppm for 28 s, then 20 ms missing."""
        self.clock()
        said = signal(28, code=1)
        drifting = np.interp(np.arange(0, len(said) - 10) * 0.9999, np.arange(len(said)), said.astype(float))
        self.exchange(said, np.concatenate([np.zeros(320), drifting]), self.OFFSET + 100)
        result = analyse.delay(analyse.Recording("said.wav"), analyse.Recording("heard.wav"), 1, 2.0)
        self.assertAlmostEqual(result["drift_ms"], 2.6, delta=0.5)
        self.assertAlmostEqual(result["first_ms"], 20.1, delta=1.5)
        self.exchange(said, np.concatenate([np.zeros(320), without(said, 16000, 14, 20)]), self.OFFSET + 100)
        result = analyse.delay(analyse.Recording("said.wav"), analyse.Recording("heard.wav"), 1, 2.0)
        self.assertAlmostEqual(result["drift_ms"], -20, delta=1)

    def test_talk_says_what_is_lost_of_each_word_and_how_long_the_far_end_hears_it(self):
        """Pressed for 600 ms every 1.5 s, heard 35 ms later from 12 ms after each press to 200 ms after its release; one press is not
        heard, one has a hole, one was during a stall, and something is heard that nobody pressed for."""
        self.clock(f"stall {100 + 7.3:.6f} 80.0")
        begin, said = self.OFFSET + 100, signal(14, code=2)
        presses = [1.0 + 1.5 * i for i in range(7)]
        opened = np.zeros(len(said))
        for press in presses[:2] + presses[3:]:
            opened[int(16000 * (press + 0.012)):int(16000 * (press + 0.8))] = 1
        opened[int(16000 * 5.9):int(16000 * 5.95)] = 0
        opened[int(16000 * 12.5):int(16000 * 12.8)] = 1
        self.exchange(said, np.concatenate([np.zeros(560), said * opened]), begin)
        result = analyse.talk(analyse.Recording("said.wav"), analyse.Recording("heard.wav"),
                              [(begin + p, begin + p + 0.6) for p in presses], 2)
        self.assertEqual({name: result[name] for name in ("presses", "heard", "stalled", "judged")},
                         {"presses": 7, "heard": 6, "stalled": 1, "judged": 5})
        self.assertAlmostEqual(result["link_ms"], 35, delta=2)
        self.assertAlmostEqual(result["lost_ms_median"], 12, delta=2)
        self.assertLess(result["lost_ms_most"], 15)
        self.assertAlmostEqual(result["beyond_ms_most"], 12, delta=4)
        self.assertAlmostEqual(result["tail_ms_most"], 200, delta=3)
        self.assertAlmostEqual(result["silent_ms_most"], 235, delta=4)
        self.assertAlmostEqual(result["holes_ms_most"], 50, delta=4)
        self.assertEqual([round(each["time"] - begin, 1) for each in result["unasked"]], [12.5])
        self.assertEqual([row["parts"] for row in result["rows"]], [1, 1, 0, 2, 1, 1, 1])

    def test_talk_with_a_key_that_is_the_voice_link_counts_from_the_link_s_first_sample(self):
        """Each link begins the signal, 150 ms after the press, and the first 8 ms of it are lost."""
        self.clock()
        begin, heard = self.OFFSET + 100, np.zeros(16000 * 10)
        for press in (1.0, 4.0, 7.0):
            at = int(16000 * (press + 0.150 + 0.030))
            heard[at + 128:at + 16000] = signal(1, code=2)[128:]
        self.exchange(signal(1), heard, begin)
        result = analyse.talk(None, analyse.Recording("heard.wav"), [(begin + p, begin + p + 1.0, begin + p + 0.15) for p in (1.0, 4.0, 7.0)], 2)
        self.assertEqual((result["heard"], result["unasked"]), (3, []))
        self.assertAlmostEqual(result["lost_ms_most"], 8, delta=3)
        self.assertAlmostEqual(result["first_ms_most"], 188, delta=4)
        self.assertAlmostEqual(result["link_ms"], 30, delta=3)

    def exchange(self, said, heard, begin):
        """Packets of 7.5 ms from a microphone, blocks of 10 ms at the far end, up to 4 ms late."""
        random = np.random.RandomState(7)
        self.write("said", said, 16000)
        self.log("said.times", "# clock lab", "# mode arrival",
                 *(f"{i} {begin + i / 16000:.6f}" for i in range(120, len(said) + 1, 120)))
        self.write("heard", heard, 16000)
        self.log("heard.times", "# clock guest", "# mode arrival",
                 *(f"{i} {begin - self.OFFSET + i / 16000 + random.uniform(0, 0.004) - 0.002:.6f}" for i in range(0, len(heard), 160)))

    def test_tone_in_the_place_of_the_signal(self):
        counted.write_wav("far.wav", 12, 16000, 0, tone=(1000, 4, 8))
        pcm, rate = counted.read_wav("far.wav")
        segments = counted.decode(pcm, rate)
        self.assertEqual([(round(s["position"]), round(s["position_end"])) for s in segments], [(0, 4), (8, 12)])
        self.write("far", pcm * 32768, rate)
        self.assertEqual(analyse.tone(analyse.Recording("far.wav"), 1000, "+4", "-4", 40.0)["share_min"], 1.0)

    def test_stalls_of_guest_and_headset_are_on_one_clock(self):
        self.clock("stall 105.500000 50.0", "path 106.000000 41.0", "stall 107.000000 39.0")
        self.log("headset-stalls.log", f"{self.OFFSET + 105.4:.6f} {self.OFFSET + 105.5:.6f} headset")
        found = analyse.stalls(40.0)
        self.assertEqual([where for _, _, where in found], ["headset", "guest", "path"])
        self.assertAlmostEqual(found[1][0], self.OFFSET + 105.5, delta=0.001)

    def test_the_unit_s_recording_and_stalls_are_on_its_own_clock(self):
        """The unit started 40 s after the guest; it stalled while 30 ms of its tone were lost."""
        self.clock()
        os.mkdir("unit")
        self.log("unit/watch.log", *(f"clock {60 + s:.6f} {self.OFFSET + 100 + s + 0.0002:.6f} 0.000300" for s in range(30)),
                 "stall 64.000000 60.0", "starved 64.0 1100.0")
        pcm = 10000 * np.sin(2 * np.pi * 1000 * np.arange(10 * 8000) / 8000)
        pcm[int(4.02 * 8000):int(4.05 * 8000)] = 0
        self.write("unit/heard", pcm, 8000)
        self.log("unit/heard.times", "# clock unit", "# mode arrival", *(f"{i} {60 + i / 8000:.6f}" for i in range(0, len(pcm), 60)))
        self.assertEqual([(round(start - self.OFFSET, 2), where) for start, _, where in analyse.stalls(40.0)], [(104.0, "unit")])
        recording = analyse.Recording("unit/heard.wav")
        result = analyse.tone(recording, 1000, str(self.OFFSET + 101), str(self.OFFSET + 109), 40.0)
        self.assertAlmostEqual(float(recording.time_of(0)), self.OFFSET + 100, delta=0.002)
        self.assertGreater(result["excluded"], 0)
        self.assertGreater(result["share_min"], 0.999)
        self.assertFalse(analyse.machine()["still"])            # a program of the unit had to wait

    def test_limits_are_for_a_machine_that_is_quick_enough(self):
        def speed():
            return {key: analyse.machine()[key] for key in ("times", "work_ms", "limits")}
        self.assertEqual(speed(), {"times": 0, "work_ms": None, "limits": True})
        self.log("speed.log", "95.0", "114.0", "160.0", "130.0")
        self.assertEqual(speed(), {"times": 4, "work_ms": 124.8, "limits": True})
        self.log("speed.log", "95.0", "114.0", "190.0", "185.0")
        self.assertFalse(speed()["limits"])

    def test_a_lab_that_stood_still_or_starved_or_lost_a_connection_cannot_vouch_for_what_failed(self):
        clock = [f"clock {t} {self.OFFSET + t} 0.0003" for t in (100.0, 160.0)]

        def still(*lines):
            self.log("watch.log", *clock, *lines)
            return analyse.machine()["still"]
        self.assertTrue(still())
        self.assertTrue(still("stall 110.0 240.0"))
        self.assertFalse(still("stall 110.0 260.0"))
        self.assertFalse(still("path 110.0 200.0", "stall 110.1 200.0"))         # one after the other, and in one piece
        self.assertTrue(still(*[f"stall {t} 100.0" for t in range(110, 128)]))    # 1.8 of 60 s
        self.assertFalse(still(*[f"stall {t} 100.0" for t in range(110, 129)]))
        self.assertTrue(still("starved 110.0 900.0"))
        self.assertFalse(still("starved 110.0 1100.0"))
        self.log("headset.log", "[  10.000] radio: fault: 00:00:00:00:00:01 lost 00:00:00:00:00:02 although both are in reach")
        self.assertFalse(still())
        self.assertTrue(analyse.machine(longest_ms=1000)["limits"])

    def test_windows_say_what_was_silent_at_either_side_and_where(self):
        self.clock()
        begin = self.OFFSET + 100.0
        far = silenced(signal(12), 16000, 4.0, 300)                     # heard on the earpiece, with a hole
        here = silenced(signal(12, code=2), 16000, 8.0, 500)             # one microphone, then another one
        here[:16000 * 5] = signal(5, code=1)
        for name, pcm in (("near", far), ("there", here)):
            self.write(name, pcm, 16000)
            self.log(f"{name}.times", "# clock lab", "# mode steady", f"0 {begin:.6f}", f"{len(pcm)} {begin + len(pcm) / 16000:.6f}")
        found = analyse.windows(["near.wav"], ["there.wav"], [
            ("whole", begin + 1, begin + 3), ("here", begin + 3, begin + 7), ("far", begin + 7, begin + 11), ("over", begin + 11, begin + 14)])
        self.assertLess(found["whole"]["near_ms"] + found["whole"]["far_ms"], 40)
        self.assertAlmostEqual(found["here"]["near_ms"], 300, delta=40)
        self.assertAlmostEqual(found["here"]["lost_ms"], 300, delta=40)
        self.assertLess(found["here"]["far_ms"], 100)
        self.assertAlmostEqual(found["here"]["near_at"], begin + 4, delta=0.04)
        self.assertAlmostEqual(found["far"]["far_ms"], 500, delta=40)
        self.assertEqual(found["far"]["lost_ms"], 0)
        self.assertAlmostEqual(found["over"]["near_ms"], 2000, delta=40)  # to the window's end


if __name__ == "__main__":
    unittest.main()
