#!/usr/bin/env python3
"""A camera without btcall, by what its driver says:

    camera.py read NODE                  prints WIDTHxHEIGHT FORMAT NUMERATOR/DENOMINATOR to which it is set
    camera.py auto NODE RATE             the same for NV12's largest size up to 1280x720 with so many frames a second, and the
                                         slowest rate that is enough
    camera.py nearest NODE SIZE RATE     the same for that size, and the legal rate next to RATE
    camera.py hold NODE                  takes buffers, as a program that captures, prints "held", and keeps them until it is killed
"""
import fcntl
import struct
import sys
import time

CAPTURE = 1             # V4L2_BUF_TYPE_VIDEO_CAPTURE, V4L2_MEMORY_MMAP
G_FMT = 0xC0D05604      # struct v4l2_format has 208 bytes on 64 bits
G_PARM = 0xC0CC5615     # struct v4l2_streamparm has 204
REQBUFS = 0xC0145608    # struct v4l2_requestbuffers has 20
SIZES = 0xC02C564A      # struct v4l2_frmsizeenum has 44
INTERVALS = 0xC034564B  # struct v4l2_frmivalenum has 52
NV12 = struct.unpack("=I", b"NV12")[0]


def listed(camera, request, length, *of):
    """The pairs of numbers that the driver lists: sizes of a format, or intervals (numerator, denominator) of a size."""
    pairs = []
    while True:
        answer = bytearray(length)
        struct.pack_into(f"={1 + len(of)}I", answer, 0, len(pairs), *of)
        try:
            fcntl.ioctl(camera, request, answer)
        except OSError:
            return pairs
        pairs.append(struct.unpack_from("=II", answer, 4 * (2 + len(of))))


def intervals(camera, size):
    return listed(camera, INTERVALS, 52, NV12, *size)


def line(size, interval):
    return f"{size[0]}x{size[1]} NV12 {interval[0]}/{interval[1]}"


verb, node = sys.argv[1:3]
with open(node, "rb+", buffering=0) as camera:
    if verb == "read":
        answer = bytearray(208)
        struct.pack_into("=I", answer, 0, CAPTURE)
        fcntl.ioctl(camera, G_FMT, answer)
        width, height = struct.unpack_from("=II", answer, 8)
        pixels = answer[16:20].decode("ascii").strip()
        answer = bytearray(204)
        struct.pack_into("=I", answer, 0, CAPTURE)
        fcntl.ioctl(camera, G_PARM, answer)
        numerator, denominator = struct.unpack_from("=II", answer, 12)
        print(f"{width}x{height} {pixels} {numerator}/{denominator}")
    elif verb == "auto":
        rate = float(sys.argv[3])
        legal = [(w * h, -d / n, (w, h), (n, d)) for w, h in listed(camera, SIZES, 44, NV12) if w <= 1280 and h <= 720
                 for n, d in intervals(camera, (w, h)) if d / n >= rate]
        print(line(*max(legal)[2:]))
    elif verb == "nearest":
        size, rate = tuple(map(int, sys.argv[3].split("x"))), float(sys.argv[4])
        print(line(size, min(intervals(camera, size), key=lambda each: abs(each[1] / each[0] - rate))))
    else:
        fcntl.ioctl(camera, REQBUFS, bytearray(struct.pack("=IIIII", 2, CAPTURE, CAPTURE, 0, 0)))
        print("held", flush=True)
        while True:
            time.sleep(60)
