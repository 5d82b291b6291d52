"""Base of the tests: watches the daemon during an attack, and judges the observations."""
import contextlib
import random
import time
import unittest

import world
from users import eventually

# Limits, as README.md explains them. Seconds.
PING, AT, ANSWER = 0.1, 0.2, 5.0
# Longest delay in seconds of the watch, which has the priority of a call's application, by the machine.
AUDIO_OVERSHOOT = 0.02
# An answer is late by the daemon's fault when it took this many times as long as one from the bus, however slow the machine.
MOST = 10
# The machine is busy when the daemon lacked a processor for more than this share of the time in which it wanted one.
BUSY = 0.3
# KiB that may remain after an attack: memory that the allocator cannot return to the kernel.
MEMORY = 32768


class Plan:
    """Options of the command line."""
    seed = 1
    # Factor by which attacks are longer than in their tests.
    scale = 1.0
    # Tests that could not judge a limit, with the limit.
    unjudged = []


class Attack(unittest.TestCase):
    """A test that attacks. `watched` judges the daemon meanwhile."""

    def setUp(self):
        self.random = random.Random("%d %s" % (Plan.seed, self.id()))

    def seconds(self, seconds):
        """Duration of an attack: this many seconds in a round of a minute and a half."""
        return seconds * Plan.scale

    def count(self, number):
        """The same for a number of things."""
        return max(1, int(number * Plan.scale))

    def world(self):
        return world.World.there()

    def unjudged(self, what):
        name = self.id().split(".")[-1]
        key = (name, what.split(":")[0])
        if key not in Plan.unjudged:
            Plan.unjudged.append(key)
            print("# not judged: attack: %s: %s" % (name, what), flush=True)

    @contextlib.contextmanager
    def watched(self, audio=True, headset=True, latency=True, settles=20, ping=PING):
        """Judges the daemon during the attack.

        - Parameters:
          - audio: no block of the call may be missing; False where the attacker may rightly end or move it.
          - headset: it stays connected and is answered in time.
          - latency: False where the attacker may rightly keep the daemon busy; that answers come is judged always.
          - ping: the limit of pings and reads, in seconds.
          - settles: seconds until what the attacker has used is free again.
        """
        there = self.world()
        daemon = there.daemon
        before, descriptors, logged = daemon.memory(), daemon.descriptors(), daemon.logged()
        path = there.provider.ask("call")[0]
        counted = there.counted(path)
        self.ran, self.waited = daemon.scheduled()
        self.audio_waited = daemon.audio_waited()
        there.watch.ask("begin")
        there.provider.ask("begin")
        begin = time.monotonic()
        problems = []
        try:
            yield there
        except (unittest.SkipTest, KeyboardInterrupt):
            raise
        except Exception as failure:
            if daemon.is_running() and isinstance(failure, AssertionError):
                problems.append(str(failure))
            else:
                problems.append("%s: %.2000s" % (type(failure).__name__, failure))
        took = time.monotonic() - begin
        try:
            problems += self.judge_answers(there, headset, latency, ping)
            if audio:
                problems += self.judge_audio(there, path, counted)
            problems += self.judge_rest(daemon, before, descriptors, settles)
        except Exception as failure:
            if not daemon.is_running():
                problems.append("btcalld ended with %s" % daemon.program.returncode)
            else:
                problems.append("the judge has no answer any more: %s: %.2000s" % (type(failure).__name__, failure))
        wrong = world.wrong_lines(daemon.lines(logged))
        if wrong:
            problems.append("%d lines of its log are not its own, or tell of a crash:\n  %s" % (len(wrong), "\n  ".join(wrong[:5])))
        if problems:
            tail = "\n  ".join("%.400r" % line for line in daemon.lines(logged)[-8:])
            world.World.discard()
            raise self.failureException("%s (%.1f s)\n btcalld says at last:\n  %s" % ("; ".join(problems), took, tail)) from None

    def judge_answers(self, there, headset, latency, ping):
        problems = []
        # Waits for late answers, as long as an answer may take.
        eventually(lambda: all(there.watch.ask("end")[0][name]["outstanding"] < 0.2 for name in ("ping", "reads", "AT")), ANSWER)
        seen = there.watch.ask("end")[0]
        # Share of the time in which the control loop wanted a processor and had none.
        ran, waited = there.daemon.scheduled()
        self.share = (waited - self.waited) / max(1, waited - self.waited + ran - self.ran)
        print("# %s: 99 %% of pings %.0f ms (of the bus %.0f), of reads %.0f; AT %.0f ms at most; the watch was kept waiting %.0f ms"
              % (self.id().split(".")[-1], 1000 * seen["ping"]["99"], 1000 * seen["bus"]["99"], 1000 * seen["reads"]["99"],
                 1000 * seen["AT"]["worst"], 1000 * seen["overshoot"]), flush=True)
        for name in ("ping", "reads") + (("AT",) if headset else ()):
            worst = max(seen[name]["worst"], seen[name]["outstanding"])
            if worst > ANSWER and seen["bus"]["worst"] < ANSWER / 2:
                problems.append("%s: no answer for %.1f s" % (name, worst))
            elif worst > ANSWER:
                self.unjudged("that answers come: the bus itself took %.1f s" % seen["bus"]["worst"])
            for text, number in seen[name]["wrong"].items():
                # The bus limits messages queued for the daemon; a flood may reach that limit before a slow machine reads
                # them.
                if "from the bus" in text and (self.share > BUSY or ping > PING):
                    self.unjudged("%s: %d were refused (%s)" % (name, number, text))
                else:
                    problems.append("%s: %d were refused (%s)" % (name, number, text))
        if headset and not seen["headset"]:
            problems.append("the headset's connection was closed")
        if not latency:
            return problems
        for name in ("ping", "reads"):
            problems += self.limit(name + " (99 %)", seen[name]["99"], ping, max(seen["bus"]["99"], seen["overshoot"]))
        if headset:
            problems += self.limit("AT", seen["AT"]["worst"], AT, max(seen["bus"]["worst"], seen["overshoot"]))
        return problems

    def limit(self, name, value, limit, reference):
        if value < limit:
            return []
        if reference > limit / 2 and value < MOST * reference or value * (1 - self.share) < limit:
            self.unjudged("%s: %.0f ms; the machine itself took %.0f, and kept the daemon waiting for %.0f %% of its time"
                          % (name, 1000 * value, 1000 * reference, 100 * self.share))
            return []
        return ["%s: an answer took %.0f ms, the limit is %.0f (the machine itself took %.0f, the daemon waited for %.0f %%)"
                % (name, 1000 * value, 1000 * limit, 1000 * reference, 100 * self.share)]

    def judge_audio(self, there, path, before):
        heard, after = there.provider.ask("counts")[0], there.counted(path)
        overshoot = there.watch.ask("end")[0]["overshoot"]
        if not heard["audio"] or heard["path"] != path or after is None:
            return ["the call has no audio any more: %s" % heard]
        wrong = []
        if heard["gaps"]:
            wrong.append("%d gaps between blocks of the call, of %.0f ms at most" % (heard["gaps"], 1000 * heard["longest"]))
        wrong += ["of the call, %g %s" % (after[name] - before[name], name) for name in before if after[name] > before[name]]
        late = heard["seconds"] * 100 - heard["blocks"]
        if late > 20:
            wrong.append("%d of %d blocks never came" % (late, heard["seconds"] * 100))
        # The kernel reports only the total waiting time of the audio thread: more than half of the gap is no coincidence.
        kept = (there.daemon.audio_waited() - self.audio_waited) / 1e9
        if wrong and (overshoot > AUDIO_OVERSHOOT or kept > max(AUDIO_OVERSHOOT, heard["longest"] / 2)):
            self.unjudged("%s: the machine kept the watch waiting %.0f ms, and the audio thread %.0f ms in all"
                          % (", ".join(wrong), 1000 * overshoot, 1000 * kept))
            return []
        return wrong

    def judge_rest(self, daemon, memory, descriptors, settles):
        if not eventually(lambda: daemon.descriptors() <= descriptors, settles, 0.1):
            return ["%d descriptors more than before" % (daemon.descriptors() - descriptors)]
        if not eventually(lambda: daemon.memory() - memory < MEMORY, 2, 0.2):
            return ["%d KiB more than before, the limit is %d" % (daemon.memory() - memory, MEMORY)]
        return []
