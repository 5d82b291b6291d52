/* In the guest: measures the speed of the virtual CPU. Does a fixed piece of work (mixing, and memory beyond the innermost
 * cache) and prints its duration in milliseconds. Limits in tests are meaningful only on a machine that is not much slower
 * than the one for which they were written: README, Measured. */
#include <sched.h>
#include <stdio.h>
#include <time.h>

#define STEPS 24000000

int main(void)
{
	static volatile unsigned cells[1 << 17];
	struct timespec begin, end;
	struct sched_param urgent = { .sched_priority = 50 };   /* whatever else the guest does */
	unsigned mixed = 1;
	sched_setscheduler(0, SCHED_FIFO, &urgent);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < STEPS; i++) {
		mixed = mixed * 1664525u + 1013904223u;
		cells[mixed >> 15] += mixed;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%.1f\n", 1e3 * (end.tv_sec - begin.tv_sec) + (end.tv_nsec - begin.tv_nsec) / 1e6);
	return 0;
}
