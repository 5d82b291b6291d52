/* In the guest: logs stalls of the lab itself, and the relation of the guest's clock to lab time.
 *
 * usage: lab-watch CONTROL_PORT LOG TOTAL
 *
 * One thread at the highest real-time priority wakes every 5 ms: when it is late, the virtual CPU did not run.
 * A second one asks the headset process for the time every 20 ms: when the answer is late, the path between guest
 * and headsets (virtio, QEMU, the headset process) was blocked. Lines of the log, times in seconds of the guest's
 * CLOCK_MONOTONIC:
 *   stall TIME MS           woken MS after TIME
 *   path TIME MS            asked at TIME, answered MS later
 *   starved TIME MS         a program without priority that wanted to run at TIME did so MS later (above 300)
 *   clock TIME LAB BOUND    at TIME the lab's clock was LAB, give or take BOUND seconds (best exchange of a second)
 * The file TOTAL holds for how many milliseconds the lab has stood still in all: waits do not count them. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS 5000000L
#define ASK_NS 20000000L
#define LOG_ABOVE 0.020
#define STARVED_ABOVE 0.300

static int log_fd, total_fd;

static double seconds(struct timespec t) { return t.tv_sec + t.tv_nsec / 1e9; }

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return seconds(t);
}

static void log_line(const char *text, int n)
{
	if (write(log_fd, text, n) != n)
		perror("lab-watch: log");
}

static void write_total(double seconds)
{
	char line[20];
	int n = snprintf(line, sizeof line, "%010.0f\n", 1000 * seconds);
	if (pwrite(total_fd, line, n, 0) != n)
		perror("lab-watch: total");
}

static void be_urgent(int priority)
{
	struct sched_param p = { .sched_priority = priority };
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &p))
		fprintf(stderr, "lab-watch: no real-time priority\n");
}

static void *tick(void *unused)
{
	(void)unused;
	be_urgent(99);
	struct timespec due;
	clock_gettime(CLOCK_MONOTONIC, &due);
	for (;;) {
		due.tv_nsec += TICK_NS;
		if (due.tv_nsec >= 1000000000L) { due.tv_sec++; due.tv_nsec -= 1000000000L; }
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		double late = now() - seconds(due);
		if (late > LOG_ABOVE) {
			char line[80];
			log_line(line, snprintf(line, sizeof line, "stall %.6f %.1f\n", seconds(due), 1000 * late));
			clock_gettime(CLOCK_MONOTONIC, &due);
		}
	}
	return NULL;
}

/* Has no priority: gets the same share of the virtual CPU as the daemon's control thread and a script's programs. */
static void *modest(void *unused)
{
	(void)unused;
	for (;;) {
		double due = now() + 0.02;
		usleep(20000);
		double late = now() - due;
		if (late > STARVED_ABOVE) {
			char line[80];
			log_line(line, snprintf(line, sizeof line, "starved %.6f %.1f\n", due, 1000 * late));
		}
	}
	return NULL;
}

/* Asks for lab time; returns the answer or -1 after 5 s. */
static double ask(int port)
{
	static const char question[] = "lab watch\n";
	char answer[128];
	size_t have = 0;
	if (write(port, question, sizeof question - 1) != sizeof question - 1)
		return -1;
	while (have < sizeof answer - 1) {
		struct pollfd p = { port, POLLIN, 0 };
		if (poll(&p, 1, 5000) <= 0)
			return -1;
		ssize_t n = read(port, answer + have, sizeof answer - 1 - have);
		if (n <= 0)
			return -1;
		have += n;
		answer[have] = 0;
		if (strchr(answer, '\n'))
			break;
	}
	return strncmp(answer, "OK ", 3) ? -1 : atof(answer + 3);
}

int main(int argc, char **argv)
{
	if (argc != 4) { fprintf(stderr, "usage: lab-watch CONTROL_PORT LOG TOTAL\n"); return 2; }
	int port = open(argv[1], O_RDWR);
	log_fd = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	total_fd = open(argv[3], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (port < 0 || log_fd < 0 || total_fd < 0) { perror("lab-watch: open"); return 1; }
	if (mlockall(MCL_CURRENT | MCL_FUTURE)) perror("lab-watch: mlockall");
	pthread_t thread;
	pthread_create(&thread, NULL, modest, NULL);
	pthread_create(&thread, NULL, tick, NULL);
	be_urgent(98);
	double best = 1e9, best_lab = 0, best_at = 0, second = now() + 1, before = now(), total = 0;
	write_total(total);
	struct timespec due;
	clock_gettime(CLOCK_MONOTONIC, &due);
	for (;;) {
		char line[120];
		double asked = now(), lab = ask(port), answered = now();
		if (lab < 0) { sleep(1); continue; }
		double way = answered - asked, late = answered - before - ASK_NS / 1e9;
		before = answered;
		if (late > LOG_ABOVE)
			write_total(total += late);
		if (way > LOG_ABOVE)
			log_line(line, snprintf(line, sizeof line, "path %.6f %.1f\n", asked, 1000 * way));
		if (way < best) { best = way; best_lab = lab; best_at = asked + way / 2; }
		if (answered >= second) {
			log_line(line, snprintf(line, sizeof line, "clock %.6f %.6f %.6f\n", best_at, best_lab, best / 2));
			best = 1e9;
			second = answered + 1;
		}
		due.tv_nsec += ASK_NS;
		if (due.tv_nsec >= 1000000000L) { due.tv_sec++; due.tv_nsec -= 1000000000L; }
		if (seconds(due) < answered) {
			due.tv_sec = (time_t)(answered + ASK_NS / 1e9);
			due.tv_nsec = (long)((answered + ASK_NS / 1e9 - due.tv_sec) * 1e9);
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
	}
}
