"""Computes STOI and PESQ of the output of ConcealmentBench --keep: hearing.py DIRECTORY

Needs the PyPI packages numpy, pystoi and pesq. PESQ is narrow band at 8 kHz and wide band at 16 kHz; both compare with the
same link without loss.
"""

import pathlib
import sys

import numpy
from pesq import pesq
from pystoi import stoi


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    directory = pathlib.Path(sys.argv[1])
    references = sorted(directory.glob("*,reference,*.raw"))
    if not references:
        sys.exit(f"nothing of ConcealmentBench --keep in {directory}")
    print(f"{'speech':12}{'codec':6}{'loss':22}{'method':14}{'STOI':>6}{'PESQ':>6}")
    for path in references:
        name, codec, pattern, _, rate = path.stem.split(",")
        rate = int(rate)
        reference = numpy.fromfile(path, numpy.int16)
        for method in ("silence", "repetition", "concealment"):
            heard = numpy.fromfile(directory / f"{name},{codec},{pattern},{method},{rate}.raw", numpy.int16)
            # PESQ is designed for about ten seconds.
            piece = rate * 10
            values = [
                pesq(rate, reference[at:at + piece], heard[at:at + piece], "wb" if rate == 16_000 else "nb")
                for at in range(0, len(reference) - piece + 1, piece)
            ]
            intelligibility = stoi(reference.astype(float), heard.astype(float), rate)
            print(
                f"{name:12}{codec:6}{pattern:22}{method:14}{intelligibility:6.3f}{numpy.mean(values):6.2f}", flush=True
            )


if __name__ == "__main__":
    main()
