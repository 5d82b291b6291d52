#!/usr/bin/env python3
"""Analyses recordings. Prints one JSON object; run in the directory with the recordings and the lab's logs.

    analyse.py make FILE SECONDS [RATE [CODE]] [--tone HZ FROM TO]
                                                         a counted signal as WAV; a tone instead of it from FROM to TO
    analyse.py stereo FILE SECONDS LEFT RIGHT [RATE]     a tone on each channel as WAV, each of -9.0 dB
    analyse.py decode [--code N] [--hole MS] FILE...     which part of a counted signal was heard when, and what is missing
    analyse.py tone FILE HZ [--channel N] [--bend PERCENT] [--from T] [--to T] [--start T | --end T] [--limit MS]
                                                         share of the energy at HZ in windows of 1/8 s, without the
                                                         windows in which the lab stalled for more than MS (40); --bend: at
                                                         the best frequency of each window, at most so far from HZ
    analyse.py delay SAID HEARD [--code N] [--edge S]    how long a counted signal took from one recording to the other: in
                                                         all, and its last S seconds (10) against the first
    analyse.py talk SAID HEARD PRESSES [--code N]        of each press of a talk key (lines "press release [first sample]" of the
                                                         file PRESSES, lab time) how much of the word's start was lost, how late
                                                         the far end heard it, and how long it heard after the release;
                                                         SAID -: each first sample begins the signal
    analyse.py windows --near FILE... --far FILE... [--window NAME FROM TO]...
                                                         of each window the longest time in which nobody here heard code 0,
                                                         and in which the far end heard no microphone (codes 1 to 3)
    analyse.py stalls [--limit MS] [--from T] [--to T]   when the lab itself stood still
    analyse.py machine [--limit MS]                      how fast the virtual CPU was, whether limits can be judged by it, and whether the
                                                         lab stood still for longer than MS (250) or too often
    analyse.py clock                                     guest clock against lab time
    analyse.py pictures NAME [FROM TO]                   NAME/*.png, or the lines of NAME.log from and to these times of the guest, as
                                                         guest/picture.py's "summary"

A recording FILE.wav has its time beside it in FILE.times (lines "sample time"; "# clock guest|unit|lab", "# mode
steady|arrival"). T is lab time in seconds (or +S, -S: seconds after the beginning, before the end). A recording without
times is placed by --start or --end, the lab time of its first or last sample. Clocks and stalls of the guest are in
watch.log, those of the unit in unit/watch.log ("# clock unit").
"""
import argparse
import glob
import json
import os
import sys

import numpy as np

import counted

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "guest"))
import picture

# A stall appears later in the recordings: audio is queued between headset and sound card.
STALL_BEFORE, STALL_AFTER = 0.02, 0.20
# Duration of lab-speed in milliseconds on the machine for which limits are written (README, Measured); beyond SLOW times
# that, a missed limit says more about the machine than about btcall.
WORK_MS, SLOW = 95.0, 1.4
# Beyond these, a failure of a script may be the lab's: longest stall, and share of stalled time.
LONGEST_MS, STALLED = 250.0, 0.03
STARVED_MS = 1000.0                                    # and the longest wait of a guest program without priority
PAUSE = 0.2                                            # packets later than this did not merely jitter
DELAY_MIN, DELAY_MAX = -0.1, 5.0                       # of a signal, in seconds: a clock may be a little off
TALK_AFTER = 1.0                                       # a word that begins so long after the release belongs to no press


# Logs of lab-watch by the guest that it runs in.
WATCHED = {"guest": "watch.log", "unit": "unit/watch.log"}


class GuestClock:
    """Maps a guest's CLOCK_MONOTONIC to lab time, by the exchanges that lab-watch logs once a second."""

    def __init__(self, guest="guest"):
        path = self.path = WATCHED[guest]
        self.entries = np.array([[float(x) for x in line.split()[1:4]] for line in read_lines(path)
                                 if line.startswith("clock ")]).reshape(-1, 3)
        if len(self.entries):
            good = self.entries[self.entries[:, 2] <= 2 * np.median(self.entries[:, 2])]
            self.guest, self.offset = good[:, 0], good[:, 1] - good[:, 0]
            self.bound = float(good[:, 2].max())

    def to_lab(self, t):
        if not len(self.entries):
            raise SystemExit(f"no guest clock: {self.path} is missing or empty")
        return t + np.interp(t, self.guest, self.offset)

    def report(self):
        if not len(self.entries):
            return {"exchanges": 0}
        span = self.guest[-1] - self.guest[0]
        drift = 1e6 * (self.offset[-1] - self.offset[0]) / span if span else 0.0
        return {"exchanges": len(self.entries), "bound_ms": round(1000 * self.bound, 2),
                "offset_s": round(float(self.offset[-1]), 4), "drift_ppm": round(float(drift), 1)}


def read_lines(path):
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return f.read().splitlines()


def stalls(limit_ms):
    """[start, end, where] in lab time, for each stall of a part of the lab beyond the limit."""
    out = []
    for line in read_lines("headset-stalls.log"):
        words = line.split()
        if len(words) == 3:
            out.append([float(words[0]), float(words[1]), words[2]])
    for guest, path in WATCHED.items():
        clock = GuestClock(guest)
        for words in (line.split() for line in read_lines(path)):
            if words and words[0] in ("stall", "path") and len(clock.entries):
                start = float(clock.to_lab(float(words[1])))
                out.append([start, start + float(words[2]) / 1000, guest if words[0] == "stall" else "path"])
    return sorted([round(a, 4), round(b, 4), where] for a, b, where in out if (b - a) * 1000 > limit_ms)


def machine(longest_ms=LONGEST_MS):
    """What the machine was like while the script ran. `limits`: quick enough to judge limits (lab-speed, at the script's beginning and
    end). `still`: the lab never stood still for longer than longest_ms, nor for more than STALLED of the time, no program had to wait for
    STARVED_MS, and the radio lost nothing on its own: what happened or did not is btcall's."""
    took = [float(line) for line in read_lines("speed.log")]
    mean = sum(took) / len(took) if took else None
    clock = GuestClock()
    found, reached = [], 0.0                                # a delay of the guest also delays its requests: count it once
    for begin, end, _ in stalls(40):
        if begin < reached:
            found[-1] += max(0.0, end - reached)
        else:
            found.append(end - begin)
        reached = max(reached, end)
    span = float(clock.entries[-1, 0] - clock.entries[0, 0]) if len(clock.entries) > 1 else 0.0
    longest, total = max(found, default=0.0), sum(found)
    starved = max([float(line.split()[2]) for path in WATCHED.values() for line in read_lines(path) if line.startswith("starved ")],
                  default=0.0)
    faults = sum("radio: fault:" in line for line in read_lines("headset.log"))
    return {"times": len(took), "work_ms": round(mean, 1) if took else None, "limits": not took or mean <= SLOW * WORK_MS,
            "seconds": round(span, 1), "stalled_ms": round(1000 * total), "longest_ms": round(1000 * longest),
            "starved_ms": round(starved), "faults": faults,
            "still": 1000 * longest <= longest_ms and total <= STALLED * span and starved <= STARVED_MS and not faults}


class Recording:
    """Samples and the times at which they were heard."""

    def __init__(self, path, start=None, end=None, channel=0):
        self.pcm, self.rate = counted.read_wav(path, channel)
        if end is not None:
            start = end - len(self.pcm) / self.rate
        self.times = None
        self.bound_ms = 0.0
        base = path[:-4] if path.endswith(".wav") else path
        if start is not None:
            self.index, self.times = np.array([0.0, 1.0]), np.array([start, start + 1 / self.rate])
        elif os.path.exists(base + ".times"):
            self._read_times(base + ".times")

    def _read_times(self, path):
        clock, mode, parts, part = "lab", "arrival", [], []
        for line in read_lines(path):
            if line.startswith("#"):
                words = line[1:].split()
                if words[:1] == ["clock"]:
                    clock = words[1]
                elif words[:1] == ["mode"]:
                    mode = words[1]
                elif words[:1] == ["break"] and part:
                    parts.append(part)
                    part = []
            elif line:
                part.append([float(x) for x in line.split()])
        parts = [np.array(p) for p in parts + [part] if len(p)]
        if not parts:
            return
        if clock in WATCHED:
            c = GuestClock(clock)
            parts = [np.column_stack([p[:, 0], c.to_lab(p[:, 1])]) for p in parts]
            self.bound_ms = round(1000 * c.bound, 2)
        if mode == "steady":          # a sound card's clock is even: a stamp is never early, the earliest is the right one
            straight = []
            for p in parts:
                begin = (p[:, 1] - p[:, 0] / self.rate).min()
                straight.append(np.array([[p[0, 0], begin + p[0, 0] / self.rate], [p[-1, 0], begin + p[-1, 0] / self.rate]]))
            parts = straight
        else:                         # packets stopped arriving: those before the pause were heard before it
            parts = [self._with_pauses(p) for p in parts]
        both = np.concatenate(parts)
        self.index, self.times = both[:, 0], both[:, 1]

    def _with_pauses(self, stamps):
        late = np.diff(stamps[:, 1]) - np.diff(stamps[:, 0]) / self.rate
        after = np.flatnonzero(late > PAUSE) + 1
        ends = stamps[after - 1, 1] + (stamps[after, 0] - stamps[after - 1, 0]) / self.rate
        return np.insert(stamps, after, np.column_stack([stamps[after, 0] - 1e-3, ends]), axis=0)

    def times_of(self, start, end):
        """Lab time of both ends of a range, each seen from inside: a pause may lie right beside it."""
        inside = min(0.01, (end - start) / 2)
        return float(self.time_of(start + inside)) - inside, float(self.time_of(end - inside)) + inside

    def time_of(self, seconds):
        """Lab time at a place in the recording."""
        if self.times is None:
            return None
        at = np.asarray(seconds) * self.rate
        inside = np.interp(at, self.index, self.times)
        inside = np.where(at > self.index[-1], self.times[-1] + (at - self.index[-1]) / self.rate, inside)
        return np.where(at < self.index[0], self.times[0] + (at - self.index[0]) / self.rate, inside)


def seconds_between(recording, begin, end):
    """Range of a recording between two moments (lab time, +S, -S, or absent), in seconds of the recording."""
    length = len(recording.pcm) / recording.rate

    def place(text, default):
        if text is None:
            return default
        if text[0] == "+":
            return float(text[1:])
        if text[0] == "-":
            return length - float(text[1:])
        if recording.times is None:
            raise SystemExit("no times beside the recording: use +S, -S or --start")
        grid = np.arange(0, length, 0.01)
        return float(np.searchsorted(recording.time_of(grid), float(text)) * 0.01)
    return max(0.0, place(begin, 0.0)), min(length, place(end, length))


def tone(recording, hz, begin, end, limit_ms, bend=0.0):
    first, last = seconds_between(recording, begin, end)
    size = recording.rate // 8
    t = np.arange(size) / recording.rate
    steps = int(bend / 100 * hz / 0.5)                   # of 0.5 Hz
    frequencies = hz + 0.5 * np.arange(-steps, steps + 1)
    waves = np.exp(-2j * np.pi * np.outer(frequencies, t))
    still = stalls(limit_ms) if recording.times is not None else []
    shares, found, excluded = [], [], 0
    for at in range(int(first * recording.rate), int(last * recording.rate) - size + 1, size):
        piece = recording.pcm[at:at + size]
        if recording.times is not None:
            a, b = (float(recording.time_of(x / recording.rate)) for x in (at, at + size))
            if any(a < e + STALL_AFTER and b > s - STALL_BEFORE for s, e, _ in still):
                excluded += 1
                continue
        energy = float((piece ** 2).sum())
        powers = np.abs(waves @ piece) ** 2
        share = 2 * powers.max() / (size * energy) if energy > size * 1e-8 else 0.0
        found.append(float(frequencies[powers.argmax()]))
        shares.append((round(float(share), 4), round(at / recording.rate, 3)))
    windows = len(shares) + excluded
    out = {"hz": hz, "rate": recording.rate, "seconds": round(last - first, 3), "windows": windows, "excluded": excluded,
           "excluded_share": round(excluded / windows, 4) if windows else None,
           "stalls": len([s for s in still if recording.times is not None
                          and s[0] < float(recording.time_of(last)) and s[1] > float(recording.time_of(first))]),
           "timed": recording.times is not None}
    if shares:
        values = [s for s, _ in shares]
        if steps:
            out.update(hz_least=min(found), hz_most=max(found))
        out.update(share_min=min(values), share_mean=round(sum(values) / len(values), 4),
                   below_098=sum(v < 0.98 for v in values),
                   worst=[{"share": s, "at": at, "time": None if recording.times is None
                           else round(float(recording.time_of(at)), 3)} for s, at in sorted(shares)[:5]],
                   rms_dbfs=round(20 * np.log10(max(1e-6, float(np.sqrt((recording.pcm ** 2).mean())))), 1))
    return out


def delay(said, heard, code, edge):
    """Milliseconds from a sample's time in one recording to the same sample's time in the other, every 20 ms of it.

    What was said has to be the signal itself; what was heard may drift, be late by up to DELAY_MAX, and have holes.
    """
    if said.times is None or heard.times is None:
        raise SystemExit("no times beside a recording")
    sources = counted.courses(said.pcm, said.rate, code)
    at, late = [], []
    for start, end, places, positions in counted.courses(heard.pcm, heard.rate, code):
        for place in np.arange(start + 0.05, end - 0.05, counted.SYMBOL_SECONDS):
            position = float(np.interp(place, places, positions)) + max(0.0, place - places[-1])
            now = float(heard.time_of(place))
            found = [d for d in (now - t for t in _said_at(said, sources, position)) if DELAY_MIN <= d <= DELAY_MAX]
            if found:
                at.append(now)
                late.append(1000 * min(found, key=abs))
    out = {"code": code, "pairs": len(late), "clock_bound_ms": max(said.bound_ms, heard.bound_ms)}
    if late:
        at, late = np.array(at), np.array(late)
        first, last = np.median(late[at <= at[0] + edge]), np.median(late[at >= at[-1] - edge])
        out.update(seconds=round(float(at[-1] - at[0]), 3), median_ms=round(float(np.median(late)), 2),
                   least_ms=round(float(late.min()), 2), p95_ms=round(float(np.percentile(late, 95)), 2),
                   most_ms=round(float(late.max()), 2), first_ms=round(float(first), 2), last_ms=round(float(last), 2),
                   drift_ms=round(float(last - first), 2))
    return out


def _said_at(said, sources, position):
    """Times at which a position of the signal was sent: it recurs in every period, and the signal may have been restarted."""
    for start, end, places, positions in sources:
        base = float(places[0] - positions[0])         # the place of position 0
        turns = np.arange(np.ceil((start - base - position) / counted.PERIOD_SECONDS),
                          (end - base - position) / counted.PERIOD_SECONDS)
        yield from (float(said.time_of(base + position + turn * counted.PERIOD_SECONDS)) for turn in turns)


def talk(said, heard, presses, code):
    """Presses of a talk key against the counted signal, which the microphone sends all the time (said), or from its first sample on
    in each link (said is None, a press has three times). A word begins with the press or the link, and ends with the release."""
    if heard.times is None or said is not None and said.times is None:
        raise SystemExit("no times beside a recording")
    if said is None:
        def said_at(position):
            return ((words[2] + (position + 1) % counted.PERIOD_SECONDS - 1) for words in presses)
    else:
        sources = counted.courses(said.pcm, said.rate, code)

        def said_at(position):
            return _said_at(said, sources, position)
    still = stalls(40.0)
    rows = [dict(press=words[0], release=words[1], begin=words[2] if len(words) > 2 else words[0], parts=[]) for words in presses]
    unasked = []
    for start, end, places, positions in counted.courses(heard.pcm, heard.rate, code):
        piece = [float(heard.time_of(place)) for place in (start, end)]
        ends = [(place + float(positions[i] - places[i]), time) for place, i, time in ((start, 0, piece[0]), (end, -1, piece[1]))]
        origin = [_said_when(said_at, position, now) for position, now in ends]
        row = max((r for r in rows if r["press"] <= piece[1]), key=lambda r: r["press"], default=None)
        if row is None or None in origin or origin[0] > row["release"] + TALK_AFTER:
            unasked.append({"time": round(piece[0], 3), "ms": round(1000 * (piece[1] - piece[0]), 1)})
        else:
            row["parts"].append(piece + origin)
    out = []
    for row in rows:
        parts = row.pop("parts")
        result = {"press": row["press"], "held_ms": round(1000 * (row["release"] - row["press"]), 1), "parts": len(parts),
                  "stalled": any(row["press"] < e + STALL_AFTER and row["release"] + TALK_AFTER > s - STALL_BEFORE for s, e, _ in still)}
        if parts:
            first, last = parts[0], parts[-1]
            result.update(
                lost_ms=round(1000 * (first[2] - row["begin"]), 1), first_ms=round(1000 * (first[0] - row["press"]), 1),
                link_ms=round(1000 * (first[0] - first[2]), 1), tail_ms=round(1000 * (last[3] - row["release"]), 1),
                silent_ms=round(1000 * (last[1] - row["release"]), 1),
                holes_ms=round(1000 * sum(max(0.0, b[2] - a[3]) for a, b in zip(parts, parts[1:])), 1))
        out.append(result)
    judged = [r for r in out if r["parts"] and not r["stalled"]]
    summary = {"presses": len(out), "heard": sum(r["parts"] > 0 for r in out), "stalled": sum(r["stalled"] for r in out),
               "judged": len(judged), "unasked": unasked, "clock_bound_ms": max(said.bound_ms if said else 0.0, heard.bound_ms)}
    if judged:
        link = float(np.median([r["link_ms"] for r in judged]))
        summary.update(link_ms=round(link, 1), beyond_ms_most=round(max(r["first_ms"] for r in judged) - link, 1))
        for name in ("lost_ms", "first_ms", "tail_ms", "silent_ms", "holes_ms"):
            values = [r[name] for r in judged]
            summary.update({name + "_least": min(values), name + "_median": round(float(np.median(values)), 1), name + "_most": max(values)})
    return dict(summary, rows=out)


def _said_when(said_at, position, now):
    """When this position of the signal, which was heard now, was said; None if it was not."""
    found = [t for t in said_at(position) if DELAY_MIN <= now - t <= DELAY_MAX]
    return min(found, key=lambda t: abs(now - t), default=None)


def decode(paths, code, hole_ms):
    """Each recording alone, and all together: signal positions that nobody heard, times at which nothing was heard."""
    files, heard = [], []
    for path in paths:
        recording = Recording(path)
        segments = counted.decode(recording.pcm, recording.rate, code)
        for s in segments:
            s["time"], s["time_end"] = (None, None) if recording.times is None else \
                (round(t, 4) for t in recording.times_of(s["start"], s["end"]))
            heard.append(dict(s, file=path))
        between = counted.gaps(segments)
        for g, s in zip(between, segments):
            g["time"] = s["time_end"]
        files.append({"file": path, "rate": recording.rate, "seconds": round(len(recording.pcm) / recording.rate, 3),
                      "timed": recording.times is not None, "clock_bound_ms": recording.bound_ms,
                      "heard_s": round(sum(s["end"] - s["start"] for s in segments), 3),
                      "missing_ms": round(sum(g["missing_ms"] for g in between), 1),
                      "repeated_ms": round(sum(g["repeated_ms"] for g in between), 1),
                      "largest_slip_ms": max((abs(s["slip_ms"]) for s in segments), default=0.0),
                      "segments": segments, "gaps": between})
    out = {"code": code, "files": files}
    if heard:
        if all(s["time"] is not None for s in heard):
            _same_turn(heard)
            out["silences"] = holes(heard, "time", "time_end", hole_ms)
            _mark_stalled(out["silences"])
            out["silence_ms_max"] = max((h["ms"] for h in out["silences"]), default=0.0)
            out["overlaps"] = overlaps(heard)
            out["overlap_ms_max"] = max((o["ms"] for o in out["overlaps"]), default=0.0)
        out["missing"] = holes(heard, "position", "position_end", hole_ms)
        _mark_stalled(out["missing"])
        out["missing_ms_max"] = max((h["ms"] for h in out["missing"]), default=0.0)
        out["missing_ms"] = round(sum(h["ms"] for h in out["missing"]), 1)
    return out


def _mark_stalled(found):
    """Marks each hole during which the lab itself stalled for more than 40 ms."""
    still = stalls(40.0) if any(h["time"] is not None for h in found) else []
    for h in found:
        h["stalled"] = h["time"] is not None and any(
            h["time"] < e + STALL_AFTER and (h["time_to"] or h["time"]) > s - STALL_BEFORE for s, e, _ in still)


def _same_turn(heard):
    """Aligns positions of different recordings: nearest to the first one's relation to time."""
    heard.sort(key=lambda s: s["time"])
    relation = heard[0]["position"] - heard[0]["time"]
    for s in heard:
        turns = round((s["position"] - s["time"] - relation) / counted.PERIOD_SECONDS)
        s["position"] = round(s["position"] - turns * counted.PERIOD_SECONDS, 4)
        s["position_end"] = round(s["position_end"] - turns * counted.PERIOD_SECONDS, 4)


def holes(heard, begin, end, least_ms):
    """Gaps between the union of the ranges, with the segment before and after each."""
    out, reached, last = [], None, None
    for s in sorted(heard, key=lambda s: s[begin]):
        if reached is not None and (s[begin] - reached) * 1000 >= least_ms:
            out.append({"ms": round((s[begin] - reached) * 1000, 1), "from": reached, "to": s[begin],
                        "before": last["file"], "after": s["file"], "time": last["time_end"], "time_to": s["time"]})
        if reached is None or s[end] > reached:
            reached, last = s[end], s
    return out


def overlaps(heard):
    """Times at which two recordings contain the signal: devices that play together."""
    out, rows = [], sorted(heard, key=lambda s: s["time"])
    for i, first in enumerate(rows):
        for second in rows[i + 1:]:
            if second["time"] >= first["time_end"]:
                break
            if first["file"] != second["file"]:
                end = min(first["time_end"], second["time_end"])
                out.append({"ms": round((end - second["time"]) * 1000, 1), "from": second["time"], "to": end,
                            "files": [first["file"], second["file"]]})
    return out


def heard_segments(path, codes):
    recording, found = Recording(path), []
    if recording.times is None:
        raise SystemExit(f"no times beside {path}")
    for code in codes:
        for s in counted.decode(recording.pcm, recording.rate, code):
            s["time"], s["time_end"] = recording.times_of(s["start"], s["end"])
            found.append(dict(s, file=path))
    return found


def longest_silence(segments, begin, end):
    """Longest gap between segments in a time range: its length in seconds and its beginning."""
    reached, longest, at = begin, 0.0, begin
    for s in sorted(segments, key=lambda s: s["time"]):
        if s["time_end"] <= reached:
            continue
        if s["time"] >= end:
            break
        if s["time"] - reached > longest:
            longest, at = s["time"] - reached, reached
        reached = s["time_end"]
    return (end - reached, reached) if end - reached > longest else (longest, at)


def windows(near, far, wanted):
    """For each window (name, from, to) the silence at either side, and whether the lab stalled then."""
    here = [s for path in near for s in heard_segments(path, [0])]
    there = [s for path in far for s in heard_segments(path, range(1, counted.CODES))]
    lost = []
    if here:
        _same_turn(here)
        lost = holes(here, "position", "position_end", 20.0)
    still, out = stalls(40.0), {}
    for name, begin, end in wanted:
        begin, end = float(begin), float(end)
        row = out[name] = {"seconds": round(end - begin, 2), "stalled_ms": 0.0,
                           "lost_ms": round(sum(h["ms"] for h in lost if begin <= h["time"] <= end), 1)}
        for side, segments in (("near", here), ("far", there)):
            length, at = longest_silence(segments, begin, end)
            during = sum(e - s for s, e, _ in still if at < e + STALL_AFTER and at + length > s - STALL_BEFORE)
            row[f"{side}_ms"], row[f"{side}_at"] = round(1000 * length, 1), round(at, 3)
            row["stalled_ms"] = max(row["stalled_ms"], round(1000 * during, 1))
    return out


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    verbs = p.add_subparsers(dest="verb", required=True)
    v = verbs.add_parser("make")
    v.add_argument("file"), v.add_argument("seconds", type=float)
    v.add_argument("rate", type=int, nargs="?", default=48000), v.add_argument("code", type=int, nargs="?", default=0)
    v.add_argument("--tone", type=float, nargs=3)
    v = verbs.add_parser("stereo")
    v.add_argument("file"), v.add_argument("seconds", type=float), v.add_argument("left", type=float)
    v.add_argument("right", type=float), v.add_argument("rate", type=int, nargs="?", default=48000)
    v = verbs.add_parser("decode")
    v.add_argument("file", nargs="+"), v.add_argument("--code", type=int, default=0)
    v.add_argument("--hole", type=float, default=5.0)
    v = verbs.add_parser("tone")
    v.add_argument("file"), v.add_argument("hz", type=float), v.add_argument("--start", type=float)
    v.add_argument("--channel", type=int, default=0)
    v.add_argument("--bend", type=float, default=0.0, metavar="PERCENT")
    v.add_argument("--end", type=float, dest="end_time")
    v.add_argument("--from", dest="begin"), v.add_argument("--to", dest="end")
    v.add_argument("--limit", type=float, default=40.0)
    v = verbs.add_parser("stalls")
    v.add_argument("--limit", type=float, default=40.0)
    v.add_argument("--from", dest="begin", type=float), v.add_argument("--to", dest="end", type=float)
    v = verbs.add_parser("delay")
    v.add_argument("said"), v.add_argument("heard"), v.add_argument("--code", type=int, default=0)
    v.add_argument("--edge", type=float, default=10.0)
    v = verbs.add_parser("talk")
    v.add_argument("said"), v.add_argument("heard"), v.add_argument("presses"), v.add_argument("--code", type=int, default=0)
    v = verbs.add_parser("windows")
    v.add_argument("--near", nargs="*", default=[]), v.add_argument("--far", nargs="*", default=[])
    v.add_argument("--window", nargs=3, action="append", default=[])
    verbs.add_parser("clock")
    v = verbs.add_parser("pictures")
    v.add_argument("name"), v.add_argument("begin", type=float, nargs="?", default=0.0)
    v.add_argument("end", type=float, nargs="?", default=float("inf"))
    v = verbs.add_parser("machine")
    v.add_argument("--limit", type=float, default=LONGEST_MS)
    a = p.parse_args()
    if a.verb == "pictures":
        lines = [picture.line_of_file(file) for file in sorted(glob.glob(f"{a.name}/*.png"))]
        if os.path.exists(a.name + ".log"):
            with open(a.name + ".log") as f:
                lines = f.read().splitlines()
        result = picture.summary([each for each in picture.parse("\n".join(lines)) if a.begin <= each[0] <= a.end])
    elif a.verb == "make":
        counted.write_wav(a.file, a.seconds, a.rate, a.code, tone=a.tone)
        result = {"file": a.file, "seconds": a.seconds, "rate": a.rate, "code": a.code}
    elif a.verb == "stereo":
        counted.write_stereo(a.file, a.seconds, a.left, a.right, a.rate)
        result = {"file": a.file, "seconds": a.seconds, "rate": a.rate, "left": a.left, "right": a.right}
    elif a.verb == "decode":
        result = decode(a.file, a.code, a.hole)
    elif a.verb == "tone":
        result = tone(Recording(a.file, a.start, a.end_time, a.channel), a.hz, a.begin, a.end, a.limit, a.bend)
    elif a.verb == "delay":
        result = delay(Recording(a.said), Recording(a.heard), a.code, a.edge)
    elif a.verb == "talk":
        result = talk(None if a.said == "-" else Recording(a.said), Recording(a.heard), [[float(word) for word in line.split()] for line in read_lines(a.presses)],
                      a.code)
    elif a.verb == "windows":
        result = windows(a.near, a.far, a.window)
    elif a.verb == "clock":
        result = GuestClock().report()
    elif a.verb == "machine":
        result = machine(a.limit)
    else:
        found = [s for s in stalls(a.limit) if (a.begin is None or s[1] >= a.begin) and (a.end is None or s[0] <= a.end)]
        result = {"limit_ms": a.limit, "count": len(found), "total_ms": round(1000 * sum(e - s for s, e, _ in found), 1),
                  "longest_ms": round(1000 * max((e - s for s, e, _ in found), default=0.0), 1), "stalls": found}
    json.dump(result, sys.stdout)
    print()


if __name__ == "__main__":
    main()
