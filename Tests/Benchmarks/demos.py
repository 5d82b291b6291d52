"""The silence of the demo's steps over several runs, sorted. Called by scripts/bench demo.

Usage: demos.py BTCALL-LAB [--runs N] [--fast] [--json FILE]

Runs `btcall-lab demo` N times (10), a minute and a half each or less, and prints for each step the longest silence down (the
person at the box) and up (the far end) of every run, the shortest first. The target is for step 3, in which a headset dies:
at most 100 ms each way in nine of ten runs, never more than 150. A run that the machine was too busy to measure is repeated, up
to N times in all. Exit codes: 0 the target is met, 1 it is missed, 2 the demo failed.
"""

import json
import math
import os
import subprocess
import sys
import tempfile

STEP, USUAL, LONGEST, SHARE = 3, 100, 150, 0.9
PASSED, LOST, TOO_BUSY = 0, 1, 75
WAYS = (("down", "downlinkGapMs"), ("up", "uplinkGapMs"))


def play(program, options):
    """The report of a run; None when the machine was too busy."""
    with tempfile.TemporaryDirectory(prefix="btcall-demo-") as folder:
        ended = subprocess.run([program, "demo", "--out", folder, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True)
        if ended.returncode not in (PASSED, LOST, TOO_BUSY):
            sys.stderr.write(ended.stdout)
            print(f"demos.py: the demo failed: exit {ended.returncode}", file=sys.stderr)
            sys.exit(2)
        if ended.returncode == TOO_BUSY:
            return None
        with open(os.path.join(folder, "report.json")) as file:
            return json.load(file)


def option(words, name, default):
    return words.pop(words.index(name) + 1) if name in words else default


def main():
    words = sys.argv[1:]
    runs, output = int(option(words, "--runs", 10)), option(words, "--json", None)
    programs = [word for word in words if not word.startswith("--")]
    if len(programs) != 1 or runs < 1:
        sys.exit(__doc__)
    options, reports, busy = [word for word in words if word == "--fast"], [], 0
    while len(reports) < runs and busy <= runs:
        report = play(os.path.abspath(programs[0]), options)
        if report is None:
            busy += 1
            print(f"too busy to measure, {busy}", file=sys.stderr, flush=True)
            continue
        reports.append(report)
        step = next(step for step in report["steps"] if step["number"] == STEP)
        print(f"run {len(reports)}: step {STEP} down {step['downlinkGapMs']} ms, up {step['uplinkGapMs']} ms; the machine late "
              f"by up to {report['latestTickMs']} ms", file=sys.stderr, flush=True)
    if not reports:
        sys.exit("demos.py: no run could be measured: end other programs")
    is_met = True
    print(f"silence in ms, {len(reports)} runs, the shortest first; {busy} more were too busy to measure")
    for number, title in sorted((step["number"], step["title"]) for step in reports[0]["steps"]):
        print(f"{number}. {title}")
        for way, key in WAYS:
            values = sorted(step[key] for report in reports for step in report["steps"] if step["number"] == number)
            line = f"   {way:5}" + " ".join(f"{value:4}" for value in values)
            if number == STEP:
                within = sum(value <= USUAL for value in values)
                passed = within >= math.ceil(SHARE * len(values)) and values[-1] <= LONGEST
                is_met = is_met and passed
                line += f"   {within} of {len(values)} within {USUAL}, longest {values[-1]} (at most {LONGEST}): "
                line += "ok" if passed else "MISSED"
            print(line)
    if output:
        with open(output, "w") as file:
            json.dump(reports, file, indent=2)
    sys.exit(0 if is_met and len(reports) == runs else 1)


main()
