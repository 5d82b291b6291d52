"""The targets of btcall beside its peers, and how far each is met. Called by run, after everything was measured.

Usage: targets.py LAB.json MUSIC.tsv INSTRUCTIONS.json

LAB.json and INSTRUCTIONS.json are what peers.py and instructions.py wrote; each line of MUSIC.tsv is one turn of music.sh:
milliseconds of processor a second of btcalld and of BlueALSA. Prints a line for each target, and the line with the sum.
"""

import json
import statistics
import sys

CODECS = {"cvsd": "CVSD", "msbc": "mSBC"}
# Name, key of peers.py, most milliseconds; medians of the runs.
DELAYS = [
    ("delay to the headset", "to headset", 20), ("delay to the application", "to program", 15), ("delay both ways", "both", 35),
]
# Name and key; none in any run.
LOSSES = [("busy loop: lost to the headset", "lost down"), ("busy loop: lost to the application", "lost up")]
MUSIC_RATIO = 1.0


class Verdicts:
    def __init__(self):
        self.met, self.judged = 0, 0

    def add(self, name, value, limit, unit, detail=""):
        self.judged += 1
        self.met += value <= limit
        over = "ok" if value <= limit else f"MISSED by {value - limit:.4g}"
        figure = "not measured" if value == float("inf") else f"{value:.4g} {unit}"
        print(f"{name:54}{figure:>12}   at most {limit:g}   {over}{detail}")


def of_calls(results, verdicts):
    for codec, name in CODECS.items():
        runs = [run for run in results if run["peer"] == "btcall" and run["codec"] == codec]
        if not runs:
            continue
        for what, key, limit in DELAYS:
            values = [float("inf") if run[key] is None else run[key] for run in runs]
            verdicts.add(f"{name}, {what}, median of {len(runs)}", statistics.median(values), limit, "ms")
        for what, key in LOSSES:
            # Rounded as in the table: a tenth of a sample is the accuracy of the measurement.
            verdicts.add(f"{name}, {what}, worst of {len(runs)}", round(max(run[key] for run in runs)), 0, "samples")


def of_music(path, verdicts):
    with open(path) as file:
        turns = [tuple(map(float, line.split())) for line in file if line.strip()]
    if not turns:
        return
    ours, theirs = (statistics.median(values) for values in zip(*turns))
    verdicts.add(f"A2DP, processor, of BlueALSA's, median of {len(turns)}", statistics.median(a / b for a, b in turns),
                 MUSIC_RATIO, "times", f"   (btcalld {ours:.1f} ms/s, BlueALSA {theirs:.1f})")


def of_instructions(results):
    """Without a target: btcall beside the best of the peers."""
    totals = {call: sum(parts.values()) for call, parts in results.items()}
    for codec, name in CODECS.items():
        ours = totals.get(f"btcall {codec}")
        theirs = {call.split()[0]: total for call, total in totals.items()
                  if call.endswith(codec) and not call.startswith("btcall ")}
        if not ours or not theirs:
            continue
        best = min(theirs, key=theirs.get)
        standing = "ahead" if ours <= theirs[best] else f"BEHIND {best} by {ours - theirs[best]:.2f}"
        label = f"{name}, millions of instructions a second"
        print(f"{label:54}{ours:12.2f}   {best} {theirs[best]:.2f}   {standing}")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    verdicts = Verdicts()
    with open(sys.argv[1]) as file:
        of_calls(json.load(file), verdicts)
    of_music(sys.argv[2], verdicts)
    with open(sys.argv[3]) as file:
        of_instructions(json.load(file))
    print(f"{verdicts.met} of {verdicts.judged} targets met")


main()
