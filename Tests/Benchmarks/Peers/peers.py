"""What the boots of peer.sh measured, side by side.

Usage: peers.py [--json FILE] FOLDER...

Each folder is what one boot left (Tests/Lab/run -o). Needs the lab's Python (numpy). Delay is that of the average sample:
from the moment that the program gives it away to that at which its packet reaches the headset, and from the packet's leaving
the headset until the program has it. A lost sample is a position of the counted signal that the other side did not hear; what
was lost while the lab itself stood still is left out. Losses are for 20 s of load, however long the lab took for them.
"""

import argparse
import json
import os
import statistics
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Lab"))
import analyse
import counted

PACKET_SECONDS = 0.0075
NAMES = {"btcall": "btcall", "bluealsa": "BlueALSA", "pipewire": "PipeWire"}
CODECS = {"cvsd": "CVSD", "msbc": "mSBC"}
HOG_SECONDS = 20


class Track:
    """Samples, and the lab time at which each was sent or received."""

    def __init__(self, base, code):
        pcm, self.rate = counted.read_wav(base + ".wav")
        self.seconds = len(pcm) / self.rate
        lines = analyse.read_lines(base + ".times")
        self.stamps = np.array([[float(word) for word in line.split()] for line in lines if not line.startswith("#")])
        self.segments = counted.decode(pcm, self.rate, code)
        if "# clock guest" in lines:                   # lines say how many samples there were with the latest
            self.ends, self.times = self.stamps[:, 0], analyse.GuestClock().to_lab(self.stamps[:, 1])
        else:                                          # or where it began
            self.ends, self.times = np.append(self.stamps[1:, 0], len(pcm)), self.stamps[:, 1]

    def time_of(self, seconds):
        """Time at which the piece with that sample was exchanged."""
        at = np.asarray(seconds) * self.rate
        return self.times[np.minimum(np.searchsorted(self.ends, at, side="right"), len(self.times) - 1)]

    def place_of(self, positions):
        """Positions of the signal in the track; NaN where it does not contain them."""
        places = np.full(len(positions), np.nan)
        for s in self.segments:
            inside = (positions >= s["position"]) & (positions < s["position_end"])
            share = (positions[inside] - s["position"]) / (s["position_end"] - s["position"])
            places[inside] = s["start"] + share * (s["end"] - s["start"])
        return places

    def between(self, begin, end):
        """Positions heard in that time, one per millisecond."""
        found = [np.arange(s["position"], s["position_end"], 0.001) for s in self.segments]
        positions = np.concatenate(found) if found else np.zeros(0)
        times = self.time_of(self.place_of(positions)) if len(positions) else positions
        return positions[(times >= begin) & (times < end)]

    def lost(self, begin, end, stalls):
        """Milliseconds of the signal between two moments that were not heard, and those while the lab itself stood still."""
        lost = stalled = 0.0
        for before, gap in zip(self.segments, counted.gaps(self.segments)):
            at = float(self.time_of(before["end"] - 0.01))
            if begin <= at < end and gap["missing_ms"] < 1000 * (end - begin):
                over = at + gap["silent_ms"] / 1000
                still = any(s - analyse.STALL_BEFORE <= over and at <= e + analyse.STALL_AFTER for s, e, _ in stalls)
                lost, stalled = (lost, stalled + gap["missing_ms"]) if still else (lost + gap["missing_ms"], stalled)
        return lost, stalled


def turns(said, heard, positions):
    """Positions of a signal that repeats: `heard` counts from its own beginning."""
    places = said.place_of(positions)
    for turn in (-1, 1, 2, 3):
        missing = np.isnan(places)
        places[missing] = said.place_of(positions[missing] + turn * counted.PERIOD_SECONDS)
    return places


def delays(run, number):
    """(program to headset, headset to program) in milliseconds without load, and again after the load."""
    said, heard = Track(f"{number}-said", 0), Track(f"{number}-heard", 2)
    headset = Track(f"{number}-headset", 0)
    first = run["take"]["tx_first"]
    windows = [(run["quiet"], run["quiet_end"]), (run["hog_end"] + 1, run["lost"]["tx_last"] - 0.3)]
    result = []
    for begin, end in windows:
        positions = headset.between(begin, end)
        there = headset.time_of(headset.place_of(positions)) - said.time_of(turns(said, headset, positions))
        # The signal repeats: an offset of a whole period is the same signal.
        there = there - np.round(np.nanmedian(there) / counted.PERIOD_SECONDS) * counted.PERIOD_SECONDS
        positions = heard.between(begin, end)
        sent = first + np.floor(positions / PACKET_SECONDS) * PACKET_SECONDS
        back = heard.time_of(heard.place_of(positions)) - sent
        back = back - np.round(np.nanmedian(back) / counted.PERIOD_SECONDS) * counted.PERIOD_SECONDS
        result.append([float(1000 * np.nanmean(x)) if np.isfinite(x).any() else None for x in (there, back)])
    return result, headset, heard


def told(run, number):
    """Seconds from the headset's last packet until the program was notified, or None."""
    clock = analyse.GuestClock()
    for line in analyse.read_lines(f"{number}-told"):
        words = line.split()
        if words and words[0] == "told" and (at := float(clock.to_lab(float(words[1])))) > run["lost"]["tx_last"]:
            return at - run["lost"]["tx_last"]
    # What `btcall test-call` printed, by the guest's clock: "11:17:21.101  route: earpiece (linkSilent)".
    for line in analyse.read_lines(f"{number}-routes"):
        hours, minutes, seconds = line.split()[0].split(":")
        at = 3600 * int(hours) + 60 * int(minutes) + float(seconds) - (run["lost"]["tx_last"] - run["offset"]) % 86400
        if (at := at % 86400) < 3600:
            return at
    return None


def gap(run, number):
    """Seconds in which the far end was heard nowhere, until the earpiece played; None: it never did."""
    recording = analyse.Recording(f"{number}-earpiece.wav")
    last = run["lost"]["rx_last"]
    starts = [recording.times_of(s["start"], s["end"])[0] for s in counted.decode(recording.pcm, recording.rate, 0)]
    starts = [t for t in starts if t > last - 1]
    return max(0.0, min(starts) - last) if starts else None


def measure(run):
    number = run["run"]
    (quiet, later), headset, heard = delays(run, number)
    stalls = analyse.stalls(40.0)
    begin, end = run["quiet_end"], run["hog_end"]
    down, up = headset.lost(begin, end, stalls), heard.lost(begin, end, stalls)
    seconds = run["quiet_end"] - run["quiet"]
    share = HOG_SECONDS / (end - begin)
    both = None if None in quiet else sum(quiet)
    return {"peer": run["peer"], "codec": run["codec"], "to headset": quiet[0], "to program": quiet[1], "both": both,
            "to headset later": later[0], "to program later": later[1], "told": told(run, number), "gap": gap(run, number),
            "lost down": down[0] * headset.rate / 1000 * share, "lost up": up[0] * heard.rate / 1000 * share,
            "stalled ms": down[1] + up[1], "load s": end - begin,
            "cpu": run["daemon"] / seconds / 1e6, "cpu program": run["program"] / seconds / 1e6}


ROWS = [
    ("delay, program to headset (ms)", "to headset", "{:.1f}"),
    ("delay, headset to program (ms)", "to program", "{:.1f}"),
    ("  both together", "both", "{:.1f}"),
    ("  after the load, to the headset", "to headset later", "{:.1f}"),
    ("  after the load, to the program", "to program later", "{:.1f}"),
    ("silent loss: program told after (s)", "told", "{:.2f}"),
    ("silent loss: nothing heard for (s)", "gap", "{:.2f}"),
    ("load: samples lost to the headset", "lost down", "{:.0f}"),
    ("load: samples lost to the program", "lost up", "{:.0f}"),
    ("CPU of the daemon, in the lab (ms/s)", "cpu", "{:.1f}"),
    ("CPU of the program, in the lab (ms/s)", "cpu program", "{:.1f}"),
]


def median(runs, key):
    """An unnoticed death counts as longest."""
    values = [float("inf") if run[key] is None else run[key] for run in runs]
    return statistics.median(values) if values else None


def standing(ours, theirs, form):
    """Whether btcall is ahead of the best of its peers, level with it, or by how much behind; less is better in every row.

    - Parameters:
      - theirs: by peer; None where it was not measured.
      - form: of the row's figures, in whose precision they are compared.
    """
    measured = {peer: value for peer, value in theirs.items() if value is not None}
    if ours is None or not measured:
        return ""
    best = min(measured, key=measured.get)
    if text(ours, form) == text(measured[best], form):
        return f"level with {NAMES[best]}"
    if ours < measured[best]:
        return "ahead"
    times = f", {ours / measured[best]:.1f} times as much" if measured[best] else ""
    return f"BEHIND {NAMES[best]} by {text(ours - measured[best], form)}{times}"


def text(value, form):
    return "-" if value is None else "never" if value == float("inf") else form.format(value)


def ratio(value, ours):
    if value is None or not ours or value == float("inf"):
        return ""
    return f"{value / ours:.1f}x" if value / ours < 100 else f"{value / ours:.0f}x"


def print_table(results):
    for codec in CODECS:
        chosen = {peer: [r for r in results if r["peer"] == peer and r["codec"] == codec] for peer in NAMES}
        if not any(chosen.values()):
            continue
        counts = ", ".join(f"{NAMES[peer]} {len(runs)}" for peer, runs in chosen.items() if runs)
        title = f"{CODECS[codec]}, runs: {counts}"
        print(f"{title:48}" + "".join(
            f"{NAMES[peer]:>11}{'' if peer == 'btcall' else ' ' * 8}" for peer in NAMES) + "  btcall is")
        for name, key, form in ROWS:
            ours = median(chosen["btcall"], key)
            line = f"{name:48}"
            for peer, runs in chosen.items():
                value = median(runs, key)
                line += f"{text(value, form):>11}{'' if peer == 'btcall' else ratio(value, ours):>8}"
            theirs = {peer: median(runs, key) for peer, runs in chosen.items() if peer != "btcall"}
            print(f"{line}  {standing(ours, theirs, form)}".rstrip())


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--json")
    parser.add_argument("folder", nargs="+")
    arguments = parser.parse_args()
    results = []
    for folder in arguments.folder:
        here = os.getcwd()
        os.chdir(folder)
        results += [measure(json.loads(line)) for line in analyse.read_lines("runs.jsonl")]
        os.chdir(here)
    print_table(results)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(results, file, indent=2)


main()
