#!/usr/bin/env python3
"""A camera without btcall: `camera.py read NODE` prints WIDTHxHEIGHT FORMAT NUMERATOR/DENOMINATOR as its driver has them;
`camera.py hold NODE` takes buffers, as a program that captures, prints "held", and keeps them until it is killed."""
import fcntl
import struct
import sys
import time

CAPTURE = 1             # V4L2_BUF_TYPE_VIDEO_CAPTURE, V4L2_MEMORY_MMAP
G_FMT = 0xC0D05604      # struct v4l2_format has 208 bytes on 64 bits
G_PARM = 0xC0CC5615     # struct v4l2_streamparm has 204
REQBUFS = 0xC0145608    # struct v4l2_requestbuffers has 20

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
    else:
        fcntl.ioctl(camera, REQBUFS, bytearray(struct.pack("=IIIII", 2, CAPTURE, CAPTURE, 0, 0)))
        print("held", flush=True)
        while True:
            time.sleep(60)
