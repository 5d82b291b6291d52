/* Commits forbidden actions on the real-time thread, to test the check for them: preloaded into the daemon before the
 * interposer, it allocates or locks each time that the thread waits. The daemon is not involved.
 *
 *     gcc -O2 -fPIC -shared -o fault-planter.so fault-planter.c -ldl
 *     BTCALL_PLANT=malloc LD_PRELOAD="./fault-planter.so ./realtime-interposer.so" btcalld ...
 *
 * BTCALL_PLANT is "malloc" or "mutex". The thread announces itself by btcall_realtime_armed, which this library passes on, and
 * waits in ppoll. The planted calls go through the interposer, like the daemon's own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static enum { NOTHING, MALLOC, MUTEX } fault;
static void (*next_armed)(int);
static int (*next_ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
static __thread int armed __attribute__((tls_model("initial-exec")));

__attribute__((constructor)) static void set_up(void)
{
	const char *value = getenv("BTCALL_PLANT");
	fault = !value ? NOTHING : !strcmp(value, "malloc") ? MALLOC : !strcmp(value, "mutex") ? MUTEX : NOTHING;
	next_armed = (void (*)(int))dlsym(RTLD_NEXT, "btcall_realtime_armed");
	next_ppoll = (int (*)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *))dlsym(RTLD_NEXT, "ppoll");
}

void btcall_realtime_armed(int on)
{
	armed = on;
	if (next_armed)
		next_armed(on);
}

static void commit(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static void *volatile leaked;
	if (fault == MALLOC) {
		leaked = malloc(64);
		free(leaked);
	} else if (fault == MUTEX) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
}

int ppoll(struct pollfd *descriptors, nfds_t count, const struct timespec *limit, const sigset_t *signals)
{
	if (armed)
		commit();
	return next_ppoll(descriptors, count, limit, signals);
}
