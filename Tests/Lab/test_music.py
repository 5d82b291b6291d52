"""Unit tests of the music at a headset. Run in the lab's Python environment: python3 -m unittest."""
import ctypes
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np

import counted
import music
import voice


def packets(seconds, left, right, bitpool=53, frames=5):
    """(sequence, timestamp, payload) of stereo tones at 48 kHz, as a source sends them."""
    codec = voice._Sbc()
    voice._lib().sbc_init(ctypes.byref(codec), ctypes.c_ulong(0))
    codec.frequency, codec.blocks, codec.subbands, codec.mode, codec.allocation, codec.bitpool = 3, 3, 1, 3, 0, bitpool
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "tones.wav")
        counted.write_stereo(path, seconds, left, right)
        both = np.stack([counted.read_wav(path, c)[0] for c in (0, 1)], axis=1)
    pcm, out, size = (both * 32768).astype("<i2").tobytes(), [], 512
    for number in range(len(pcm) // (size * frames)):
        payload = bytes([frames])
        for frame in range(frames):
            at = (number * frames + frame) * size
            made, n = ctypes.create_string_buffer(1024), ctypes.c_ssize_t()
            voice._lib().sbc_encode(ctypes.byref(codec), pcm[at:at + size], size, made, 1024, ctypes.byref(n))
            payload += made.raw[:n.value]
        out.append((number & 0xFFFF, number * frames * 128, payload))
    return out


class Takes(unittest.TestCase):
    def test_both_channels_are_heard_with_their_tones_and_levels(self):
        take = music.Take(0, "")
        for packet in packets(2, 1000, 440):
            take.received(*packet)
        found = take.statistics((1000, 440), last_s=1)                    # the decoder begins with a click
        self.assertEqual((found["rate"], found["channels"], found["lost"], found["sbc_bad"], found["miscounted"]), (48000, 2, 0, 0, 0))
        self.assertEqual(found["bitpools"], [53])
        for name, hz in (("left", 1000), ("right", 440)):
            self.assertAlmostEqual(found[name]["hz"], hz, delta=1)
            self.assertAlmostEqual(found[name]["rms_dbfs"], -9.0, delta=0.3)
            self.assertGreater(found[name]["tone_share_mean"], 0.98)
        # The channels are not swapped.
        self.assertLess(take.statistics((440, 1000), last_s=1)["left"]["tone_share_mean"], 0.1)

    def test_packets_that_are_missing_are_counted_also_where_the_numbers_begin_anew(self):
        take = music.Take(0, "")
        sent = packets(1, 1000, 440)
        for sequence, timestamp, payload in sent[:20] + sent[23:]:
            take.received((sequence + 65520) & 0xFFFF, timestamp, payload)
        found = take.statistics((1000, 440))
        self.assertEqual(found["lost"], 3)
        self.assertEqual(found["packets"], len(sent) - 3)

    def test_a_header_that_counts_wrongly_is_noticed(self):
        take = music.Take(0, "")
        sequence, timestamp, payload = packets(0.1, 1000, 440)[0]
        take.received(sequence, timestamp, bytes([3]) + payload[1:])
        self.assertEqual(take.miscounted, 1)

    def test_both_channels_are_written(self):
        take = music.Take(0, "")
        for packet in packets(1, 1000, 440):
            take.received(*packet)
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "music.wav")
            self.assertEqual(take.write(path)["channels"], 2)
            for channel, hz in ((0, 1000), (1, 440)):
                pcm, rate = counted.read_wav(path, channel)
                heard = voice.analyse((pcm[4800:] * 32768).astype("<i2").tobytes(), rate, hz)
                self.assertAlmostEqual(heard["hz"], hz, delta=1)
            with self.assertRaises(ValueError):
                counted.read_wav(path, 2)
            with open(path[:-4] + ".times") as times:
                self.assertEqual(len(times.read().splitlines()), take.packets + 2)

    def test_silence_of_a_codec_within_a_tone_does_not_change_its_frequency(self):
        time = np.arange(4 * 48000) / 48000
        pcm = np.round(16000 * np.sin(2 * np.pi * 1000 * time))
        pcm[:2000] = np.resize([3, -2, 1, -4, 5, -1, -3, 2], 2000)
        self.assertAlmostEqual(voice.analyse(pcm.astype("<i2").tobytes(), 48000, 1000)["hz"], 1000, delta=0.2)

    def test_what_was_never_heard_cannot_be_written(self):
        with self.assertRaises(RuntimeError):
            music.Take(0, "").write("/nowhere/music.wav")


class Capabilities(unittest.TestCase):
    def test_the_best_of_what_both_can_do_is_chosen(self):
        full = music.capabilities("default")
        self.assertEqual(music.choose(full, full).hex(), "11150235")
        self.assertEqual(music.choose(music.capabilities("mono"), full).hex(), "18150235")
        self.assertEqual(music.choose(music.capabilities("low"), full).hex(), "11150213")
        self.assertEqual(music.choose(music.capabilities("44100"), full).hex(), "21150235")

    def test_what_have_nothing_in_common_are_refused(self):
        with self.assertRaises(ValueError):
            music.choose(music.capabilities("44100"), music.capabilities("48000"))

    def test_bad_words_are_refused(self):
        for words in ("ffff02", "ffff3502", "stereo"):
            with self.assertRaises(ValueError):
                music.capabilities(words)

    def test_keys_have_their_names(self):
        self.assertEqual([int(music.operation(k)) for k in ("play", "pause", "stop", "next", "previous")],
                         [0x44, 0x46, 0x45, 0x4B, 0x4C])


if __name__ == "__main__":
    unittest.main()
