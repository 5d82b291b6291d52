"""Signals during a call under various conditions."""
import os
import signal
import time

from judge import Attack
from test_pcm import PAGE, START, Stream
from users import MEMBER
from world import World

# Seconds within which SIGTERM must end the daemon.
END = 10


class Signals(Attack):
    def end(self, there, what):
        there.watch.end()
        there.watch = None
        begin = time.monotonic()
        status = there.daemon.end(END)
        self.assertIsNotNone(status, "%s: SIGTERM does not end it within %d s" % (what, END))
        self.assertEqual(status, 0, "%s: its exit status after %.1f s" % (what, time.monotonic() - begin))

    def test_hangup_and_broken_pipes_end_no_call(self):
        with self.watched() as there:
            for number in (signal.SIGHUP, signal.SIGPIPE):
                there.daemon.signal(number)
                time.sleep(0.3)
                self.assertTrue(there.daemon.is_running(), "%s has ended it with %s" % (number.name, there.daemon.program.returncode))

    def test_sigterm_during_a_call_ends_it_in_time(self):
        there = World()
        self.addCleanup(there.end)
        self.end(there, "during a call")

    def test_sigterm_ends_it_in_time_while_a_client_of_the_pcm_does_not_read(self):
        there = World()
        self.addCleanup(there.end)

        def attack(_):
            streams = [Stream(path, PAGE) for _ in range(4)]
            for stream in streams:
                os.set_blocking(stream.wakes, True)
                stream.say(START)
            for _ in range(50):
                for stream in streams:
                    stream.ring.application = stream.ring.hardware + 1600
                time.sleep(0.02)
            os.write(done, b"x")
            time.sleep(60)
            return True
        path = there.path("run", "pcm.sock")
        told, done = os.pipe()
        work = there.attack(attack, MEMBER)
        os.read(told, 1)
        time.sleep(0.5)
        try:
            self.end(there, "with a client that does not read")
        finally:
            work.end()
            os.close(told)
            os.close(done)
