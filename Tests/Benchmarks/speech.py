"""Speech of espeak-ng for ConcealmentBench: speech.py DIRECTORY

Makes DIRECTORY/NAME-RATE.raw (16 bit, mono) for NAME espeak, which the concealment was tuned with, and espeak2, which
variants were compared on. Needs espeak-ng and the PyPI packages numpy and scipy.
"""

import pathlib
import subprocess
import sys

import numpy
from scipy.signal import resample_poly

TEXTS = [
    "The north wind and the sun were disputing which was the stronger, when a traveller came along wrapped in a warm"
    " cloak.",
    "Please call Stella. Ask her to bring these things with her from the store: six spoons of fresh snow peas, five thick"
    " slabs of blue cheese.",
    "We were away a year ago. I know you are in no mood to join me in the morning, are you?",
    "Der Nordwind und die Sonne stritten sich einmal, wer von ihnen beiden wohl der Staerkere waere.",
    "La bise et le soleil se disputaient, chacun assurant qu'il etait le plus fort, quand ils virent un voyageur.",
]
# Voice, text, pitch.
SPEAKERS = {
    "espeak": [("en-us+m1", 0, 50), ("en-us+f2", 1, 60), ("en-gb+m3", 2, 40), ("de+f4", 3, 50)],
    "espeak2": [
        ("en-gb+f1", 0, 55), ("en-us+m7", 1, 45), ("fr+f3", 4, 50), ("de+m4", 3, 35), ("en-gb-scotland+m2", 2, 60),
    ],
}


def spoken(voice, text, pitch, rate):
    command = ["espeak-ng", "-v", voice, "-p", str(pitch), "--stdout", TEXTS[text]]
    data = subprocess.run(command, capture_output=True, check=True).stdout
    # After the header of 44 bytes: 22050 Hz.
    samples = numpy.frombuffer(data[44:len(data) // 2 * 2], numpy.int16).astype(float)
    samples = resample_poly(samples, rate // 50, 441)
    return samples * 2500 / numpy.sqrt(numpy.mean(samples**2))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for name, speakers in SPEAKERS.items():
        for rate in (8_000, 16_000):
            samples = numpy.concatenate([spoken(*speaker, rate) for speaker in speakers])
            samples = numpy.clip(numpy.round(samples), -32_768, 32_767).astype(numpy.int16)
            samples.tofile(pathlib.Path(sys.argv[1]) / f"{name}-{rate}.raw")


if __name__ == "__main__":
    main()
