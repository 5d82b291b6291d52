#!/usr/bin/env python3
"""Pictures that say when they were taken, without btcall. A coded picture has 8 by 5 squares, black and white: the camera's
number, the time of the picture, and a checksum.

    picture.py camera NODE WIDTHxHEIGHT RATE NUMBER   is that camera, on a V4L2 output device, until it is killed
    picture.py read NODE                              one line for each picture that NODE delivers, until it is killed
    picture.py y4m                                    the same for YUV4MPEG2 on standard input, until it ends
    picture.py collect DIRECTORY NAME                 gives samples of baresip there names of their own with their times,
                                                      NAME-0001-SECONDS.png, until it is killed
    picture.py png FILE...                            the same lines for pictures in such files
    picture.py summary FILE                           JSON about such lines

A line: time in seconds; the camera's number, "-" for a picture without a code; the picture's own time, 0 without; a checksum.
"""
import fcntl
import json
import mmap
import os
import signal
import struct
import sys
import time
import zlib

COLUMNS, ROWS = 8, 5
MARK = 0b1010
WHITE, BLACK = 235, 16
# The picture's time is in hundredths of a second, modulo 2^24: 46 hours.
TICKS = 1 << 24

CAPTURE, OUTPUT, MMAP = 1, 2, 1  # V4L2_BUF_TYPE_VIDEO_*, V4L2_MEMORY_MMAP
G_FMT, S_FMT, S_PARM = 0xC0D05604, 0xC0D05605, 0xC0CC5616
REQBUFS, QUERYBUF, QBUF, DQBUF, STREAMON = 0xC0145608, 0xC0585609, 0xC058560F, 0xC0585611, 0x40045612


# --- the code ---------------------------------------------------------------------------------------------------------------
def checksum(value):
    """CRC-8 of 32 bits."""
    crc = 0
    for byte in value.to_bytes(4, "big"):
        crc ^= byte
        for _ in range(8):
            crc = (crc << 1 ^ 0x07) & 0xFF if crc & 0x80 else crc << 1
    return crc


def code_of(number, ticks):
    value = MARK << 28 | (number & 15) << 24 | ticks % TICKS
    return value << 8 | checksum(value)


def luma_of(code, width, height):
    """The squares as a plane of brightness."""
    plane = bytearray()
    for row in range(ROWS):
        line = bytearray()
        for column in range(COLUMNS):
            bit = code >> (COLUMNS * ROWS - 1 - row * COLUMNS - column) & 1
            line += bytes([WHITE if bit else BLACK]) * ((column + 1) * width // COLUMNS - column * width // COLUMNS)
        plane += line * ((row + 1) * height // ROWS - row * height // ROWS)
    return bytes(plane)


def read_code(pixel, width, height):
    """The camera's number and the ticks, by pixel(x, y); None for a picture that has no code, or a torn one."""
    code = 0
    for row in range(ROWS):
        y = (2 * row + 1) * height // (2 * ROWS)
        for column in range(COLUMNS):
            x = (2 * column + 1) * width // (2 * COLUMNS)
            bright = pixel(x, y) + pixel(x - 2, y - 2) + pixel(x + 2, y + 2)
            code = code << 1 | (bright > 3 * 128)
    value = code >> 8
    if value >> 28 != MARK or checksum(value) != code & 0xFF:
        return None
    return value >> 24 & 15, value % TICKS


def taken_at(ticks, now):
    """The time of a picture that arrived at that time: the nearest one with these ticks."""
    behind = (round(now * 100) - ticks) % TICKS
    return now - (behind if behind < TICKS // 2 else behind - TICKS) / 100


def line_of(now, found, crc):
    if found is None:
        return f"{now:.3f} - 0 {crc:08x}"
    return f"{now:.3f} {found[0]} {taken_at(found[1], now):.2f} {crc:08x}"


# --- V4L2 -------------------------------------------------------------------------------------------------------------------
def control(device, request, data):
    data = bytearray(data)
    fcntl.ioctl(device, request, data)
    return data


def camera(node, size, rate, number):
    width, height = map(int, size.split("x"))
    device = os.open(node, os.O_RDWR)
    wanted = struct.pack("=IIII4sIII", OUTPUT, 0, width, height, b"YU12", 1, width, width * height * 3 // 2).ljust(208, b"\0")
    width, height = struct.unpack_from("=II", control(device, S_FMT, wanted), 8)
    control(device, S_PARM, struct.pack("=IIIII", OUTPUT, 0, 0, 1, int(rate)).ljust(204, b"\0"))
    grey = b"\x80" * (width * height // 2)
    due = time.monotonic()
    while True:
        ticks = round(time.time() * 100)
        os.write(device, luma_of(code_of(int(number), ticks), width, height) + grey)
        due = max(due + 1 / float(rate), time.monotonic() - 1)
        time.sleep(max(0, due - time.monotonic()))


def layout(pixels, stride):
    """Where the brightness of a pixel is, as (bytes a pixel, offset, bytes a line)."""
    if pixels in (b"YU12", b"YV12", b"NV12", b"NV21", b"GREY", b"422P"):
        return 1, 0, stride
    if pixels in (b"YUYV", b"YVYU"):
        return 2, 0, stride
    if pixels in (b"UYVY", b"VYUY"):
        return 2, 1, stride
    raise SystemExit(f"picture.py: the format {pixels} is not known")


def buffer(index):
    return struct.pack("=IIIII", index, CAPTURE, 0, 0, 0).ljust(60, b"\0") + struct.pack("=I", MMAP).ljust(28, b"\0")


def read(node):
    device = os.open(node, os.O_RDWR)
    answer = control(device, G_FMT, struct.pack("=I", CAPTURE).ljust(208, b"\0"))
    width, height = struct.unpack_from("=II", answer, 8)
    step, offset, stride = layout(bytes(answer[16:20]), struct.unpack_from("=I", answer, 24)[0])
    count, = struct.unpack_from("=I", control(device, REQBUFS, struct.pack("=IIIII", 4, CAPTURE, MMAP, 0, 0)))
    maps = []
    for index in range(count):
        data = control(device, QUERYBUF, buffer(index))
        where, = struct.unpack_from("=I", data, 64)
        length, = struct.unpack_from("=I", data, 72)
        maps.append(mmap.mmap(device, length, mmap.MAP_SHARED, mmap.PROT_READ, offset=where))
        control(device, QBUF, data)
    fcntl.ioctl(device, STREAMON, struct.pack("=I", CAPTURE))
    while True:
        data = control(device, DQBUF, buffer(0))
        now = time.time()
        index, = struct.unpack_from("=I", data)
        picture = maps[index]
        found = read_code(lambda x, y: picture[y * stride + step * x + offset], width, height)
        print(line_of(now, found, zlib.crc32(memoryview(picture)[:stride * height])), flush=True)
        control(device, QBUF, data)


# --- other forms ------------------------------------------------------------------------------------------------------------
def y4m(stream):
    words = stream.readline().decode("ascii").split()
    if not words or words[0] != "YUV4MPEG2":
        raise SystemExit("picture.py: standard input is not YUV4MPEG2")
    width, height = (int(next(word[1:] for word in words if word[0] == letter)) for letter in "WH")
    # 4:2:0, whose odd sizes are rounded up.
    size = width * height + 2 * ((width + 1) // 2) * ((height + 1) // 2)
    while stream.readline():
        picture = stream.read(size)
        if len(picture) < size:
            return
        found = read_code(lambda x, y: picture[y * width + x], width, height)
        print(line_of(time.time(), found, zlib.crc32(picture[:width * height])), flush=True)


def collect(directory, name):
    """baresip names its samples by the second, and a file system of the host may keep their times by the second only."""
    number = 0
    while True:
        for entry in os.listdir(directory):
            if entry.startswith("snapshot-recv-"):
                number += 1
                path = os.path.join(directory, entry)
                os.rename(path, f"{name}-{number:04}-{os.stat(path).st_mtime:.3f}.png")
        time.sleep(0.05)


def png(data):
    """Width, height, bytes a pixel and the rows of a PNG of 8 bits a channel, not interlaced."""
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError("this is not a PNG")
    at, compressed, header = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        if kind == b"IHDR":
            header = struct.unpack_from(">IIBBBBB", data, at + 8)
        elif kind == b"IDAT":
            compressed += data[at + 8:at + 8 + length]
        at += 12 + length
    width, height, depth, colour = header[:4]
    step = {0: 1, 2: 3, 4: 2, 6: 4}[colour]
    if depth != 8 or header[6]:
        raise ValueError("this PNG has another form")
    raw, rows, above = zlib.decompress(compressed), [], bytearray(width * step)
    for y in range(height):
        start = y * (width * step + 1)
        rows.append(above := unfilter(raw[start], bytearray(raw[start + 1:start + 1 + width * step]), above, step))
    return width, height, step, rows


def unfilter(kind, row, above, step):
    if kind == 2:
        return bytearray((a + b) & 0xFF for a, b in zip(row, above))
    for x in range(len(row)) if kind else ():
        left, upper = (row[x - step], above[x - step]) if x >= step else (0, 0)
        if kind == 1:
            guess = left
        elif kind == 3:
            guess = (left + above[x]) // 2
        else:
            distances = abs(above[x] - upper), abs(left - upper), abs(left + above[x] - 2 * upper)
            guess = (left, above[x], upper)[distances.index(min(distances))]
        row[x] = (row[x] + guess) & 0xFF
    return row


def line_of_file(name):
    with open(name, "rb") as file:
        data = file.read()
    at = float(os.path.basename(name)[:-len(".png")].rsplit("-", 1)[1])
    width, height, step, rows = png(data)
    # Green is most of the brightness.
    found = read_code(lambda x, y: rows[y][x * step + (step > 2)], width, height)
    return line_of(at, found, zlib.crc32(b"".join(rows)))


# --- the lines --------------------------------------------------------------------------------------------------------------
def parse(text):
    pictures = []
    for line in text.splitlines():
        words = line.split()
        # The last line of a program that was killed may be cut off.
        if len(words) == 4 and len(words[3]) == 8:
            pictures.append((float(words[0]), words[1], float(words[2]), words[3]))
    return pictures


def summary(pictures):
    """Times in milliseconds.

    gap: the longest time without any picture; still: the longest time without another picture than the one before; age: how
    long before its arrival a coded picture was taken; runs: the cameras in their order, with the times of their first and
    last picture; switches: from the last picture of a camera to the first of the next one, with the pictures without a code
    between them, of which a single one is a torn picture, not a card.
    """
    runs, plain = [], 0
    switches = []
    ages = sorted(1000 * (at - taken) for at, number, taken, _ in pictures if number != "-")
    still = gap = 0.0
    changed = before = None
    for at, number, _, crc in pictures:
        if before is not None:
            gap = max(gap, at - before[0])
        if before is None or crc != before[1]:
            changed = at
        still = max(still, at - changed)
        before = at, crc
        if number == "-":
            plain += 1
            continue
        if runs and runs[-1][0] == number:
            runs[-1][2] = at
        else:
            if runs:
                switches.append({"from": runs[-1][0], "to": number, "ms": round(1000 * (at - runs[-1][2])), "without": plain})
            runs.append([number, at, at])
        plain = 0
    return {
        "pictures": len(pictures),
        "seconds": round(pictures[-1][0] - pictures[0][0], 2) if pictures else 0,
        "without_code": sum(number == "-" for _, number, _, _ in pictures),
        "different": len({crc for _, _, _, crc in pictures}),
        "gap_ms": round(1000 * gap), "still_ms": round(1000 * max(still, gap)),
        "age_ms": round(ages[len(ages) // 2]) if ages else None, "age_ms_max": round(ages[-1]) if ages else None,
        "runs": [[number, round(first, 3), round(last, 3)] for number, first, last in runs], "switches": switches,
    }


def main(verb, *words):
    if verb == "camera":
        camera(*words)
    elif verb == "read":
        read(*words)
    elif verb == "y4m":
        y4m(sys.stdin.buffer)
    elif verb == "collect":
        collect(*words)
    elif verb == "png":
        for name in words:
            print(line_of_file(name))
    elif verb == "summary":
        with open(words[0], encoding="ascii") as file:
            print(json.dumps(summary(parse(file.read()))))
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    main(*(sys.argv[1:] or ["help"]))
