"""Unit tests of the pictures that say when they were taken."""
import io
import os
import random
import struct
import sys
import tempfile
import unittest
import zlib
from contextlib import redirect_stdout

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "guest"))
import picture

WIDTH, HEIGHT = 320, 180


def found_in(plane, width=WIDTH, height=HEIGHT):
    return picture.read_code(lambda x, y: plane[y * width + x], width, height)


def png_of(rows, width, colour, kind):
    """A PNG, each of whose rows has that filter."""
    step = {0: 1, 2: 3}[colour]
    raw, above = b"", bytes(width * step)
    for row in rows:
        filtered = bytearray()
        for x, value in enumerate(row):
            left, upper = (row[x - step], above[x - step]) if x >= step else (0, 0)
            paeth = min((left, above[x], upper), key=lambda guess: abs(left + above[x] - upper - guess))
            filtered.append((value - (0, left, above[x], (left + above[x]) // 2, paeth)[kind]) & 0xFF)
        raw += bytes([kind]) + filtered
        above = row

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    header = struct.pack(">IIBBBBB", width, len(rows), 8, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


class Code(unittest.TestCase):
    def test_a_picture_has_its_camera_and_time(self):
        for width, height in ((320, 180), (160, 120), (641, 359)):
            for number in (0, 1, 9, 15):
                for ticks in (0, 1, 12345678, picture.TICKS - 1):
                    plane = picture.luma_of(picture.code_of(number, ticks), width, height)
                    self.assertEqual(len(plane), width * height)
                    self.assertEqual(found_in(plane, width, height), (number, ticks))

    def test_noise_does_not_hide_it(self):
        noise = random.Random(1)
        plane = bytes(min(255, max(0, value + noise.randint(-60, 60)))
                      for value in picture.luma_of(picture.code_of(3, 4711), WIDTH, HEIGHT))
        self.assertEqual(found_in(plane), (3, 4711))

    def test_a_plain_picture_and_a_torn_one_have_none(self):
        for value in (0, 16, 128, 235):
            self.assertIsNone(found_in(bytes([value]) * (WIDTH * HEIGHT)))
        torn = 0
        for ticks in range(0, 4096, 7):
            one, two = (picture.luma_of(picture.code_of(1, each), WIDTH, HEIGHT) for each in (ticks, ticks + 900))
            half = WIDTH * 108
            torn += found_in(one[:half] + two[half:]) in ((1, ticks), (1, ticks + 900), None)
        self.assertEqual(torn, len(range(0, 4096, 7)))

    def test_a_time_is_the_nearest_one(self):
        for now in (1795910400.12, 1795910400.0 + 167772.16):
            for age in (-0.02, 0.0, 0.5, 60.0):
                ticks = round((now - age) * 100) % picture.TICKS
                self.assertAlmostEqual(picture.taken_at(ticks, now), now - age, delta=0.011)


class Forms(unittest.TestCase):
    def test_a_file_of_each_filter_is_read(self):
        plane = picture.luma_of(picture.code_of(2, 99), 80, 50)
        grey = [plane[y * 80:(y + 1) * 80] for y in range(50)]
        for colour in (0, 2):
            rows = grey if colour == 0 else [bytes(value for each in row for value in (each, each, each)) for row in grey]
            for kind in range(5):
                with tempfile.NamedTemporaryFile(suffix="-1000.500.png") as file:
                    file.write(png_of(rows, 80, colour, kind))
                    file.flush()
                    self.assertTrue(picture.line_of_file(file.name).startswith("1000.500 2 "), (colour, kind))

    def test_a_stream_is_read_to_its_end(self):
        frames = b"".join(b"FRAME\n" + picture.luma_of(picture.code_of(5, ticks), 80, 50) + b"\x80" * 2000 for ticks in (1, 2))
        said = io.StringIO()
        with redirect_stdout(said):
            picture.y4m(io.BytesIO(b"YUV4MPEG2 W80 H50 F15:1 C420\n" + frames + b"FRAME\ncut off"))
        self.assertEqual([line.split()[1] for line in said.getvalue().splitlines()], ["5", "5"])

    def test_the_format_says_where_brightness_is(self):
        self.assertEqual(picture.layout(b"YU12", 320), (1, 0, 320))
        self.assertEqual(picture.layout(b"YUYV", 640), (2, 0, 640))
        self.assertEqual(picture.layout(b"UYVY", 640), (2, 1, 640))
        with self.assertRaises(SystemExit):
            picture.layout(b"MJPG", 0)


class Summary(unittest.TestCase):
    @staticmethod
    def of(*pictures):
        text = "\n".join(f"{at:.3f} {number} {taken:.2f} {crc:08x}" for at, number, taken, crc in pictures)
        return picture.summary(picture.parse(text + "\n12.0 1 cut"))

    def test_a_switch_is_from_the_last_picture_to_the_first(self):
        said = self.of((10.0, 1, 9.9, 1), (10.1, 1, 10.0, 2), (10.2, "-", 0, 3), (10.3, "-", 0, 3), (10.4, 2, 10.1, 4))
        self.assertEqual(said["switches"], [{"from": "1", "to": "2", "ms": 300, "without": 2}])
        self.assertEqual([run[0] for run in said["runs"]], ["1", "2"])
        self.assertEqual((said["age_ms"], said["age_ms_max"], said["without_code"]), (100, 300, 2))

    def test_a_frozen_picture_is_seen_although_pictures_come(self):
        said = self.of(*((10 + step / 10, 1, 10.0, 7) for step in range(9)), (10.9, 1, 10.8, 8))
        self.assertEqual((said["still_ms"], said["gap_ms"], said["different"]), (800, 100, 2))

    def test_a_missing_picture_is_a_gap_and_still(self):
        said = self.of((10.0, 1, 10.0, 1), (10.7, 1, 10.7, 2))
        self.assertEqual((said["still_ms"], said["gap_ms"]), (700, 700))

    def test_nothing_is_nothing(self):
        self.assertEqual(picture.summary([])["pictures"], 0)


if __name__ == "__main__":
    unittest.main()
