"""Tests of realtime-interposer.c: which mutexes of the real-time thread it lets pass."""

import os
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))

LIBRARY = r"""
#include <pthread.h>
void take(pthread_mutex_t *mutex) { pthread_mutex_lock(mutex); pthread_mutex_unlock(mutex); }
"""

PROGRAM = r"""
#include <pthread.h>
#include <string.h>
#include <unistd.h>
void take(pthread_mutex_t *mutex);
void btcall_realtime_armed(int on);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *other(void *unused) { (void)unused; take(&mutex); return 0; }
static void other_takes_it(void) { pthread_t thread; pthread_create(&thread, 0, other, 0); pthread_join(thread, 0); }
static void *holder(void *unused) { (void)unused; pthread_mutex_lock(&mutex); usleep(200000); pthread_mutex_unlock(&mutex); return 0; }
static void realtime_takes_it(int times)
{
	btcall_realtime_armed(1);
	while (times-- > 0) take(&mutex);
	btcall_realtime_armed(0);
}

int main(int count, char **words)
{
	(void)count;
	if (!strcmp(words[1], "own")) {
		other_takes_it();
		realtime_takes_it(3);
	} else if (!strcmp(words[1], "shared")) {
		realtime_takes_it(3);
		other_takes_it();
	} else if (!strcmp(words[1], "again")) {
		realtime_takes_it(3);
		pthread_mutex_destroy(&mutex);
		pthread_mutex_init(&mutex, 0);
		other_takes_it();
		realtime_takes_it(2);
	} else if (!strcmp(words[1], "held")) {
		pthread_t thread;
		pthread_create(&thread, 0, holder, 0);
		usleep(50000);
		realtime_takes_it(3);
		pthread_join(thread, 0);
	} else {
		btcall_realtime_armed(1);
		pthread_mutex_lock(&mutex);
		btcall_realtime_armed(0);
	}
	return 0;
}
"""


class InterposerTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        work = cls.directory.name

        def compile(name, source, *options):
            path = os.path.join(work, name)
            subprocess.run(["gcc", "-O1", "-fPIC", "-o", path, "-x", "c", "-", *options], input=source, text=True, check=True)

        # The name by which the library of version 1.x is known.
        compile("libwebrtc-audio-processing-1.so", LIBRARY, "-shared")
        with open(os.path.join(HERE, "realtime-interposer.c"), encoding="utf-8") as source:
            compile("interposer.so", source.read(), "-shared", "-ldl")
        compile("program", PROGRAM, "-x", "none", f"{work}/libwebrtc-audio-processing-1.so", f"{work}/interposer.so", f"-Wl,-rpath,{work}")

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def report(self, case):
        work = self.directory.name
        environment = dict(os.environ, LD_PRELOAD=f"{work}/interposer.so", BTCALL_INTERPOSER_REPORT=f"{work}/report")
        subprocess.run([f"{work}/program", case], env=environment, check=True)
        with open(f"{work}/report", encoding="utf-8") as lines:
            figures = dict(line.split(maxsplit=1) for line in lines)
        return {name: int(figures[name]) for name in ("own_locks", "total")}

    def test_a_mutex_that_only_the_realtime_thread_locks_from_then_on_is_its_own(self):
        self.assertEqual(self.report("own"), {"own_locks": 3, "total": 0})

    def test_a_mutex_that_another_thread_takes_later_is_a_violation(self):
        self.assertEqual(self.report("shared"), {"own_locks": 0, "total": 3})

    def test_a_mutex_that_is_initialised_again_counts_as_a_new_one(self):
        self.assertEqual(self.report("again"), {"own_locks": 5, "total": 0})

    def test_a_mutex_that_it_has_to_wait_for_is_a_violation(self):
        self.assertEqual(self.report("held"), {"own_locks": 3, "total": 1})

    def test_a_mutex_of_our_own_code_is_a_violation(self):
        self.assertEqual(self.report("outside"), {"own_locks": 0, "total": 1})


if __name__ == "__main__":
    unittest.main()
