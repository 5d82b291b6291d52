"""Unit tests of the combined verdict of a script's runs, and of the detection of the lab's own stalls."""
import unittest

from clock import Watch
from radio import Links
from verdict import Run, verdict

PASSED = Run(passed=True)
LATE = {"silence": "silence (got '410', at most 300)"}
LOST = {"route is headset 1": "route is headset 1 (wait_route ...)"}


def failed(**facts):
    return Run(passed=False, **facts)


class Verdict(unittest.TestCase):
    def test_behaviour_that_fails_while_the_lab_works_has_failed_at_once(self):
        self.assertEqual(verdict([failed(behaviour=LOST)]), ("failed", list(LOST.values()), []))
        self.assertEqual(verdict([failed(behaviour=LOST, judges=False)])[0], "failed")

    def test_behaviour_that_fails_beside_another_script_is_tried_again_alone(self):
        beside = failed(behaviour=LOST, beside=True, judges=False)
        self.assertEqual(verdict([beside])[0], "again")
        self.assertEqual(verdict([beside, PASSED])[0], "passed")
        self.assertEqual(verdict([beside, failed(behaviour=LOST)]), ("failed", list(LOST.values()), []))
        other = failed(behaviour={"the call ends": "the call ends (wait ...)"})
        self.assertEqual(verdict([beside, other])[0], "failed")

    def test_behaviour_that_fails_while_the_lab_stands_still_is_tried_again_twice_at_most(self):
        first = failed(behaviour=LOST, still=False)
        self.assertEqual(verdict([first])[0], "again")
        self.assertEqual(verdict([first, PASSED])[0], "passed")
        other = failed(behaviour={"the call ends": "the call ends (wait ...)"}, still=False)
        self.assertEqual(verdict([first, other])[0], "again")
        third = failed(behaviour={"a third one": "a third one (x)"}, still=False)
        self.assertEqual(verdict([first, other, third]), ("failed", ["a third one (x)"], []))

    def test_what_failed_twice_has_failed_whatever_the_lab_did(self):
        run = failed(behaviour=LOST, still=False)
        self.assertEqual(verdict([run, run]), ("failed", list(LOST.values()), []))

    def test_a_limit_is_measured_by_itself_and_once_more(self):
        beside, alone = failed(limits=LATE, beside=True), failed(limits=LATE)
        self.assertEqual(verdict([beside])[0], "again")
        self.assertEqual(verdict([beside, alone])[0], "again")
        self.assertEqual(verdict([beside, alone, alone]), ("failed", list(LATE.values()), []))
        self.assertEqual(verdict([alone, alone])[0], "failed")
        self.assertEqual(verdict([beside, alone, PASSED])[0], "passed")

    def test_limits_on_a_slow_machine_are_not_judged_and_named(self):
        slow = failed(limits=LATE, judges=False)
        self.assertEqual(verdict([slow]), ("unjudged", [], list(LATE.values())))
        self.assertEqual(verdict([failed(limits=LATE, judges=False, beside=True)])[0], "unjudged")
        self.assertEqual(verdict([failed(limits=LATE, behaviour=LOST, judges=False)])[0], "failed")

    def test_limits_on_a_machine_that_always_stands_still_are_not_judged(self):
        stalled = failed(limits=LATE, still=False)
        self.assertEqual(verdict([stalled])[0], "again")
        self.assertEqual(verdict([stalled, stalled])[0], "again")
        self.assertEqual(verdict([stalled, stalled, stalled]), ("unjudged", [], list(LATE.values())))

    def test_other_limits_each_time_have_failed_in_the_end(self):
        runs = [failed(limits={name: name}) for name in "abc"]
        self.assertEqual(verdict(runs), ("failed", ["c"], []))

    def test_a_run_without_an_end_is_behaviour(self):
        run = Run.read(124, "ok 1 - a\nlab: no result (time limit 300 s)", {}, False)
        self.assertEqual(list(run.behaviour), ["the script came to its end"])

    def test_output_is_read(self):
        run = Run.read(1, "ok 1 - a\nnot ok 2 - silence (ms) (got '410', at most 300)\nnot ok 3 - route is x (wait_route x 5)\n1..3",
                       {"still": False, "limits": False}, True)
        self.assertEqual((run.limits, run.behaviour), ({"silence (ms)": "silence (ms) (got '410', at most 300)"},
                                                       {"route is x": "route is x (wait_route x 5)"}))
        self.assertEqual((run.passed, run.still, run.judges, run.beside), (False, False, False, True))


class StandingStill(unittest.TestCase):
    def setUp(self):
        self.time = 100.0
        self.watch = Watch(lambda: self.time)

    def ask(self, later):
        self.time += later
        self.watch.asked()

    def test_questions_in_time_are_no_stall(self):
        for _ in range(100):
            self.ask(0.021)
        self.assertEqual(self.watch.stalled(), 0)

    def test_late_questions_are_counted_also_while_they_do_not_come(self):
        self.ask(0)
        self.ask(0.32)
        self.assertAlmostEqual(self.watch.stalled(), 0.3)
        self.time += 0.52
        self.assertAlmostEqual(self.watch.stalled(), 0.8)
        self.ask(0)
        self.assertAlmostEqual(self.watch.stalled(), 0.8)

    def test_a_guest_that_never_asks_again_is_waited_for_for_a_while(self):
        self.ask(0)
        self.time += 1000
        self.assertEqual(self.watch.stalled(), 5)

    def test_a_guest_that_starts_again_is_no_stall(self):
        self.ask(0)
        self.watch.began()
        self.time += 10
        self.ask(0)
        self.assertEqual(self.watch.stalled(), 0)


class HalfLostConnections(unittest.TestCase):
    A, B = b"\1\0\0\0\0\0", b"\2\0\0\0\0\0"

    def setUp(self):
        self.links = Links()
        self.links.event(self.A, b"\4\3\x0b\0\x2a\0" + self.B + b"\1\0", None)
        self.links.event(self.B, b"\4\3\x0b\0\x07\0" + self.A + b"\1\0", None)

    def lost(self, device, handle, reason, in_reach=True):
        return self.links.event(device, bytes([4, 5, 4, 0, handle, 0, reason]), lambda peer: in_reach)

    def test_the_other_side_hears_nothing_until_it_knows_as_well(self):
        self.assertEqual(self.lost(self.A, 0x2A, 8), self.B)
        self.assertEqual(self.links.severed, {frozenset((self.A, self.B))})
        self.assertIsNone(self.lost(self.B, 0x07, 8))
        self.assertEqual((self.links.severed, self.links.faults), (set(), 1))

    def test_a_device_that_was_cut_off_is_no_fault_of_the_radio(self):
        self.assertIsNone(self.lost(self.A, 0x2A, 8, in_reach=False))
        self.assertEqual(self.links.faults, 0)

    def test_a_connection_that_was_ended_is_no_fault(self):
        self.assertIsNone(self.lost(self.A, 0x2A, 0x16))
        self.assertIsNone(self.lost(self.B, 0x07, 0x13))
        self.assertEqual((self.links.severed, self.links.faults), (set(), 0))

    def test_a_device_that_starts_afresh_is_forgotten(self):
        self.lost(self.A, 0x2A, 8)
        self.links.forget(self.A)
        self.assertEqual((self.links.severed, list(self.links.peers)), (set(), [(self.B, b"\x07\0")]))


if __name__ == "__main__":
    unittest.main()
