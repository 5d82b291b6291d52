"""The counted signal: a different tone for every 20 ms, so that a recording shows which part of the signal it contains.

The signal is a sequence of 25 tones, 500 to 2900 Hz in steps of 100 Hz, 20 ms each. Neighbours lie at least 300 Hz
apart, and any three neighbours occur once in a period of 2500 symbols (50 s): 60 ms of sound name a position. Longer
recordings are followed by their time. Tones stay inside the band that CVSD at 8 kHz passes, and each one has whole
cycles in a symbol: no clicks.

`code` (0 to 3) picks one of four such sequences that have no triple in common: one for the far end and one for each
microphone, told apart even where they are mixed.

Decoding compares the recording with the known signal (complex correlation at 8 kHz, which does not mind the phase
of a resampler or a codec) and gives segments: stretches in which recording time and signal position run together.
"""
import functools
import wave

import numpy as np

SYMBOL_SECONDS = 0.020
TONES_HZ = [500 + 100 * i for i in range(25)]
NEIGHBOUR_STEPS = 3                                    # least distance of neighbours, in steps of the alphabet (circular)
FOLLOWERS = len(TONES_HZ) - 2 * NEIGHBOUR_STEPS + 1    # of each tone: 20
CODES = 4
RATE = 8000                                            # of the decoder
SYMBOL = int(RATE * SYMBOL_SECONDS)                    # 160 samples
GRID = 40                                              # 5 ms: the decoder's step
DEFAULT_AMPLITUDE = 0.4
MATCH = 0.70                                           # correlation from which a block counts as heard
SURE = 0.85                                            # correlation that a new segment needs over 80 ms
CLEARLY = 0.05                                         # by which a lag elsewhere must match better than the present one
FLOOR = 10 ** (-50 / 20)                               # quieter than this (full scale 1.0) is silence


PERIOD_SYMBOLS = len(TONES_HZ) * FOLLOWERS * FOLLOWERS // CODES


@functools.lru_cache(maxsize=None)
def sequence(code=0):
    """One period of tone numbers: an Eulerian circuit over pairs of neighbours, so that every triple occurs once.

    For each middle tone a Latin square over the tones before and after it deals the triples out to the codes: each
    pair then has as many continuations in a code as it has beginnings, and a circuit exists.
    """
    if not 0 <= code < CODES:
        raise ValueError(f"code 0 to {CODES - 1}, not {code}")
    size = len(TONES_HZ)
    after = {}                                         # (first, second): the third tones in this code
    for middle in range(size):
        random = np.random.RandomState(middle)
        around = [(middle + d) % size for d in range(NEIGHBOUR_STEPS, size - NEIGHBOUR_STEPS + 1)]
        columns = random.permutation(around).tolist()
        for row, first in enumerate(random.permutation(around).tolist()):
            after[first, middle] = [third for column, third in enumerate(columns)
                                    if (row + column) % FOLLOWERS * CODES // FOLLOWERS == code]
    stack, circuit = [next(iter(after))], []
    while stack:                                       # Hierholzer's algorithm
        first, second = stack[-1]
        if after[first, second]:
            stack.append((second, after[first, second].pop()))
        else:
            circuit.append(stack.pop())
    if len(circuit) != PERIOD_SYMBOLS + 1:
        raise AssertionError("the triples of this code do not hang together: another seed is needed")
    return np.array([pair[1] for pair in reversed(circuit[1:])], dtype=np.int16)


PERIOD_SECONDS = PERIOD_SYMBOLS * SYMBOL_SECONDS


def _phase(rate, first, count, code):
    """Phase in cycles of samples first … first + count of the endless signal."""
    index = np.arange(first, first + count, dtype=np.int64)
    symbol = (index * 50) // rate                      # 50 symbols a second, even if a symbol has a fractional sample count
    tones = np.asarray(TONES_HZ, dtype=np.float64)[sequence(code)[symbol % PERIOD_SYMBOLS]]
    return (index / rate - symbol * SYMBOL_SECONDS) * tones


def samples(rate, first, count, code=0, amplitude=DEFAULT_AMPLITUDE):
    """Samples first … first + count of the endless signal, as int16."""
    return np.round(32767 * amplitude * np.sin(2 * np.pi * _phase(rate, first, count, code))).astype(np.int16)


class Source:
    """The signal from its beginning, in pieces: take(bytes) gives 16-bit little-endian samples."""

    CHUNK = 2000                                       # samples made at once: a fraction of a millisecond's work

    def __init__(self, rate, code=0, amplitude=DEFAULT_AMPLITUDE):
        self._make = lambda first: samples(rate, first, self.CHUNK, code, amplitude).astype("<i2").tobytes()
        self._next, self._ready = 0, bytearray()
        sequence(code)

    def take(self, count):
        while len(self._ready) < count:
            self._ready += self._make(self._next)
            self._next += self.CHUNK
        piece = bytes(self._ready[:count])
        del self._ready[:count]
        return piece


def write_wav(path, seconds, rate=48000, code=0, amplitude=DEFAULT_AMPLITUDE, tone=None):
    """The signal from its beginning; with tone = (hz, from, to) a tone replaces it between these two times."""
    pcm = samples(rate, 0, int(seconds * rate), code, amplitude)
    if tone:
        hz, index = tone[0], np.arange(int(tone[1] * rate), min(len(pcm), int(tone[2] * rate)))
        pcm[index] = np.round(32767 * amplitude * np.sin(2 * np.pi * hz / rate * index)).astype(np.int16)
    with wave.open(path, "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(rate)
        w.writeframes(pcm.astype("<i2").tobytes())


def read_wav(path, channel=0):
    """(samples of one channel as float, full scale 1.0; rate)"""
    with wave.open(path, "rb") as w:
        if w.getsampwidth() != 2:
            raise ValueError(f"{path}: {8 * w.getsampwidth()} bits, need 16")
        data = np.frombuffer(w.readframes(w.getnframes()), dtype="<i2")
        data = data[:len(data) // w.getnchannels() * w.getnchannels()].reshape(-1, w.getnchannels())
        if not 0 <= channel < w.getnchannels():
            raise ValueError(f"{path}: {w.getnchannels()} channels, no number {channel}")
        return data[:, channel].astype(np.float64) / 32768, w.getframerate()


def write_stereo(path, seconds, left, right, rate=48000):
    """A tone of half of full scale on each channel: -9.0 dB."""
    time = np.arange(int(seconds * rate)) / rate
    both = np.stack([0.5 * np.sin(2 * np.pi * hz * time) for hz in (left, right)], axis=1)
    with wave.open(path, "wb") as w:
        w.setnchannels(2)
        w.setsampwidth(2)
        w.setframerate(rate)
        w.writeframes((both * 32767).astype("<i2").tobytes())


def resample(pcm, rate):
    """To the decoder's 8 kHz, without delay: low-pass with a soft edge from 3.0 to 3.9 kHz, in the frequency domain."""
    if len(pcm) == 0:
        return np.zeros(0)
    pad = int(-len(pcm) % rate) + rate                 # whole seconds, one of them empty
    spectrum = np.fft.rfft(np.concatenate([pcm, np.zeros(pad)]))
    seconds = (len(pcm) + pad) // rate
    bins = RATE // 2 * seconds + 1
    edge = np.clip((3900 - np.arange(bins) / seconds) / 900, 0, 1)
    out = np.zeros(bins, dtype=complex)
    n = min(bins, len(spectrum))
    out[:n] = spectrum[:n]
    out *= 0.5 - 0.5 * np.cos(np.pi * edge)
    return np.fft.irfft(out, RATE * seconds)[:len(pcm) * RATE // rate] * RATE / rate


@functools.lru_cache(maxsize=None)
def _reference(code):
    """One period and one second more of the complex signal at 8 kHz."""
    return np.exp(2j * np.pi * _phase(RATE, 0, PERIOD_SYMBOLS * SYMBOL + RATE, code)).astype(np.complex64)


_window = np.hanning(SYMBOL)
_basis = (np.exp(-2j * np.pi * np.outer(np.arange(SYMBOL) / RATE, TONES_HZ)) * _window[:, None]).astype(np.complex64)


def _tone_levels(pcm):
    """For every 5 ms the share of each tone in the 20 ms that begin there (one row a step, each of length one)."""
    steps = (len(pcm) - SYMBOL) // GRID + 1
    if steps <= 0:
        return np.zeros((0, len(TONES_HZ)), dtype=np.float32)
    frames = np.lib.stride_tricks.as_strided(pcm, (steps, SYMBOL), (pcm.strides[0] * GRID, pcm.strides[0]))
    levels = np.abs(frames @ _basis)
    return (levels / np.maximum(np.sqrt((levels ** 2).sum(axis=1, keepdims=True)), 1e-12)).astype(np.float32)


@functools.lru_cache(maxsize=None)
def _triples(code):
    """Position of three neighbours in the period, for each triple of tones; -1: none."""
    size, tones = len(TONES_HZ), sequence(code).astype(np.int64)
    table = np.full(size ** 3, -1, dtype=np.int64)
    table[(tones * size + np.roll(tones, -1)) * size + np.roll(tones, -2)] = np.arange(PERIOD_SYMBOLS)
    return table


class Segment:
    """One range of a recording, in samples at 8 kHz: signal position = recording sample + lag."""

    def __init__(self, start, end, lag):
        self.start, self.end = start, end
        self.lags = [(start, lag)]

    @property
    def lag(self):
        return self.lags[-1][1]

    @property
    def position(self):                                # of the first sample
        return self.start + self.lags[0][1]

    @property
    def position_end(self):                            # behind the last sample
        return self.end + self.lag

    def shift(self, count):
        self.lags = [(at, lag + count) for at, lag in self.lags]

    def slip(self):
        """Largest change of the lag within 100 ms, in samples; positive: signal left out."""
        largest = 0
        for i, (at, lag) in enumerate(self.lags):
            for later, other in self.lags[i + 1:]:
                if later - at > RATE // 10:
                    break
                if abs(other - lag) > abs(largest):
                    largest = other - lag
        return largest


class Decoder:
    PERIOD = PERIOD_SYMBOLS * SYMBOL
    SEARCH = 4 * SYMBOL                                # three whole symbols and a part
    BLOCK = 2 * GRID                                   # 10 ms
    ALONE = 15 * SYMBOL // 2                           # 150 ms: shorter ones count only beside a matching neighbour

    def __init__(self, pcm, code=0, floor=FLOOR):
        """pcm: float at 8 kHz, full scale 1.0."""
        self.pcm, self.code, self.floor = np.ascontiguousarray(pcm), code, floor
        self.reference = _reference(code)
        self.energy = np.concatenate([[0.0], np.cumsum(self.pcm ** 2)])

    def level(self, at, count):
        return float(np.sqrt(max(0.0, self.energy[at + count] - self.energy[at]) / count))

    def match(self, at, count, lag):
        """Correlation 0 … 1 of a piece of the recording with the signal at that lag."""
        if at < 0 or at + count > len(self.pcm) or self.level(at, count) < self.floor:
            return 0.0
        position = (at + lag) % self.PERIOD
        product = np.vdot(self.reference[position:position + count], self.pcm[at:at + count])
        return float(np.abs(product) * np.sqrt(2.0) / np.sqrt(count * (self.energy[at + count] - self.energy[at])))

    def best(self, at, count, lag, reach, step=1):
        """(correlation, lag) of the best lag within reach."""
        return max(((self.match(at, count, lag + d), -abs(d), lag + d) for d in range(-reach, reach + 1, step)))[::2]

    def _find_candidates(self):
        """Steps of 5 ms at which four whole symbols of the signal seem to begin, and which."""
        size, levels = len(TONES_HZ), _tone_levels(self.pcm)
        per_symbol = SYMBOL // GRID
        tone = levels.argmax(axis=1)
        tone[levels.max(axis=1, initial=0) < 0.8] = -1
        steps = max(0, len(tone) - 3 * per_symbol)
        first, second, third = (tone[i * per_symbol:i * per_symbol + steps + per_symbol] for i in range(3))
        found = np.where((first >= 0) & (second >= 0) & (third >= 0),
                         _triples(self.code)[np.maximum(0, (first * size + second) * size + third)], -1)
        here, next_one = found[:steps], found[per_symbol:per_symbol + steps]
        good = (here >= 0) & (next_one == (here + 1) % PERIOD_SYMBOLS)
        self.candidates = np.flatnonzero(good)
        self.candidate_symbols = found[self.candidates]

    def search(self, at):
        """(place, lag) of the first known signal from `at` on, or None."""
        for i in range(int(np.searchsorted(self.candidates, -(-at // GRID))), len(self.candidates)):
            place = int(self.candidates[i]) * GRID
            if place + self.SEARCH > len(self.pcm):
                break
            _, lag = self.best(place, self.SEARCH, int(self.candidate_symbols[i]) * SYMBOL - place, 2 * GRID, 8)
            quality, lag = self.best(place, self.SEARCH, lag, 8)
            if quality >= SURE:
                return place, lag
        return None

    def decode(self):
        """All segments, in order. Positions do not wrap: they follow the time of the recording."""
        segments, at, done = [], 0, 0                  # done: end of the last segment
        self._find_candidates()
        while at + self.SEARCH <= len(self.pcm):
            lag = self._resume(segments, at)
            if lag is None:
                found = self.search(at)
                limit = segments[-1].end + RATE // 2 if segments else 0
                if found is None or found[0] > at + GRID and at + GRID < limit:
                    at += GRID                         # the old lag may match again before a new one is found
                    if found is None and at >= limit:
                        break
                    continue
                at, lag = found
            start = at
            while start - GRID >= done:                    # one block that does not match is stepped over, as in _follow
                if self.match(start - GRID, self.BLOCK, lag) >= MATCH:
                    start -= GRID
                elif start - 2 * GRID >= done and self.match(start - 2 * GRID, self.BLOCK, lag) >= MATCH:
                    start -= 2 * GRID
                else:
                    break
            segment = Segment(self._edge(start, lag, done, -1), at, lag)
            self._follow(segment, at)
            if segment.end - segment.start >= self.BLOCK:
                segments.append(segment)
                done = segment.end
            at = max(segment.end, at + GRID)
        self._unwrap(segments)
        return [s for i, s in enumerate(segments) if s.end - s.start >= self.ALONE
                or any(abs(s.position - n.position_end) < RATE / 2 for n in segments[max(0, i - 1):i])
                or any(abs(n.position - s.position_end) < RATE / 2 for n in segments[i + 1:i + 2])]

    def _resume(self, segments, at):
        """After a hole the signal often continues where it would have been: 20 ms are enough to detect it then."""
        if not segments or at - segments[-1].end > RATE // 2:
            return None
        quality, lag = self.best(at, SYMBOL, segments[-1].lag, 4)
        return lag if quality >= 0.93 and self._tones_change(at, lag) else None

    def _tones_change(self, at, lag):
        """One tone alone identifies no position: a symbol border must lie well inside the 20 ms."""
        return 40 <= (at + lag) % SYMBOL <= 120

    def _follow(self, segment, at):
        """Extends a segment as long as the recording matches, adjusting the lag for a resampler."""
        lag = segment.lag
        missed = 0
        while at + GRID <= len(self.pcm):
            count = min(self.BLOCK, len(self.pcm) - at)
            if self.match(at, count, lag) < MATCH:
                missed += 1
                if missed > 1:
                    break
            else:
                missed = 0
                if at - segment.lags[-1][0] >= SYMBOL and at - segment.start >= self.SEARCH:
                    latest = at + self.BLOCK - self.SEARCH, self.SEARCH
                    quality, found = self.best(*latest, lag, 8)
                    # Where few tones alternate, a lag that is wrong by up to a millisecond matches nearly as well.
                    if abs(found - lag) > 1 and quality < self.match(*latest, lag) + CLEARLY:
                        quality, found = self.best(*latest, lag, 1)
                    if quality >= SURE:
                        lag = found
                    segment.lags.append((at, lag))
            at += GRID
        else:
            segment.end = len(self.pcm)
            return
        segment.end = self._edge(at - missed * GRID + GRID, lag, len(self.pcm), 1)

    def _edge(self, at, lag, limit, direction):
        """Boundary of a segment to 1 ms: the last of the 5 ms blocks that still match."""
        place = at - 3 * self.BLOCK // 2 * direction if direction > 0 else at + self.BLOCK
        last, misses = place, 0
        for _ in range(40):
            first = place - GRID if direction > 0 else place
            if first < 0 or first + GRID > len(self.pcm) or (place - limit) * direction > 0:
                break
            if self.match(first, GRID, lag) >= MATCH:
                last, misses = place, 0
            else:
                misses += 1
                if misses > 5:
                    break
            place += 8 * direction
        return max(0, min(len(self.pcm), last))

    def _unwrap(self, segments):
        for i, segment in enumerate(segments):
            if i == 0:                                 # the first position lies between -1 s and a period less 1 s
                wanted = (segment.position + RATE) % self.PERIOD - RATE
                segment.shift(wanted - segment.position)
            else:
                turns = round((segments[i - 1].lag - segment.lags[0][1]) / self.PERIOD)
                segment.shift(turns * self.PERIOD)


def decode(pcm, rate, code=0):
    """Segments as dictionaries in seconds: start and end in the recording, position and position_end in the signal."""
    decoder = Decoder(resample(np.asarray(pcm, dtype=np.float64), rate), code)
    return [{"start": round(s.start / RATE, 4), "end": round(s.end / RATE, 4),
             "position": round(s.position / RATE, 4), "position_end": round(s.position_end / RATE, 4),
             "slip_ms": round(1000 * s.slip() / RATE, 2),
             "level_dbfs": round(20 * np.log10(max(decoder.level(s.start, max(1, s.end - s.start)), 1e-6)), 1)}
            for s in decoder.decode()]


def courses(pcm, rate, code=0):
    """Segments as (start, end, places, positions) in seconds: these positions are heard at these places of the recording."""
    decoder = Decoder(resample(np.asarray(pcm, dtype=np.float64), rate), code)
    return [(s.start / RATE, s.end / RATE, np.array([at for at, _ in s.lags]) / RATE,
             np.array([at + lag for at, lag in s.lags]) / RATE) for s in decoder.decode()]


def gaps(segments):
    """Gaps between neighbouring segments: silent_ms of recording, missing_ms of signal (negative: repeated)."""
    out = []
    for before, after in zip(segments, segments[1:]):
        missing = 1000 * (after["position"] - before["position_end"])
        out.append({"at": before["end"], "silent_ms": round(1000 * (after["start"] - before["end"]), 1),
                    "missing_ms": round(max(0.0, missing), 1), "repeated_ms": round(max(0.0, -missing), 1)})
    return out
