"""Sets the limits of the audio path's stages from measurements. Called by scripts/bench limits.

Usage: limits.py FILE MARGIN [--raise] REPORT...

FILE is audio-limits, each REPORT what `btcall-lab bench audio --json` printed. A limit becomes MARGIN times the median ratio of
the reports, rounded up to two digits. It is only ever lowered, unless --raise is given; comments and order stay. A stage that
has no line yet is printed: add one.
"""

import json
import math
import re
import statistics
import sys

LINE = re.compile(r"^([0-9.]+)( +)(\S.*?)\s*$")
COLUMN = 6


def rounded_up(value):
    """Two digits: a limit is never below what it was computed from."""
    unit = 10 ** (math.floor(math.log10(value)) - 1)
    return round(math.ceil(value / unit - 1e-9) * unit, 9)


def ratios(paths):
    """The ratio of each stage in each report, without the stage that the others are compared with."""
    found = {}
    for path in paths:
        with open(path) as file:
            report = json.load(file)
        for stage in report["stages"]:
            if stage["name"] != report["reference"]:
                found.setdefault(stage["name"], []).append(stage["ratio"])
    return found


def main():
    words = sys.argv[1:]
    may_rise = "--raise" in words
    words = [word for word in words if word != "--raise"]
    if len(words) < 3:
        sys.exit(__doc__)
    path, margin, measured = words[0], float(words[1]), ratios(words[2:])
    with open(path) as file:
        lines = file.read().split("\n")
    print(f"{'stage':40}{'measured':>10}{'worst':>10}{'limit was':>12}{'is':>8}")
    for number, line in enumerate(lines):
        match = LINE.match(line)
        if not match or match[3] not in measured:
            continue
        values = measured.pop(match[3])
        old, new = float(match[1]), rounded_up(margin * statistics.median(values))
        if new > old and not may_rise:
            new = old
        lines[number] = f"{f'{new:g} ':{COLUMN}}{match[3]}"
        remark = "" if max(values) <= new else "   worst run is above"
        print(f"{match[3]:40}{statistics.median(values):10.3f}{max(values):10.3f}{old:12g}{new:8g}{remark}")
    for name in measured:
        print(f"no line for: {rounded_up(margin * statistics.median(measured[name])):g}  {name}")
    with open(path, "w") as file:
        file.write("\n".join(lines))


main()
