/* Preloaded into `btcall test-call`: records its audio exchange with the daemon, with times.
 *
 * The shipped application is used unchanged. A call's audio is its only SOCK_SEQPACKET socket; audio received there was
 * heard, audio sent there was said. Written to $PEER_TRACKS-heard and -said as in track.h,
 * when the socket ends. $PEER_RATE is the call's rate. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "track.h"

static struct track heard, said;

static int is_audio(int descriptor)
{
	int type = 0;
	socklen_t length = sizeof type;
	return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

__attribute__((constructor)) static void begin(void)
{
	if (!getenv("PEER_TRACKS") || !getenv("PEER_RATE")) { fprintf(stderr, "exchange-times: PEER_TRACKS, PEER_RATE\n"); exit(1); }
	track_begin(&heard, atoi(getenv("PEER_RATE")));
	track_begin(&said, atoi(getenv("PEER_RATE")));
}

__attribute__((destructor)) static void end(void)
{
	track_write(&heard, getenv("PEER_TRACKS"), "heard");
	track_write(&said, getenv("PEER_TRACKS"), "said");
}

ssize_t recv(int descriptor, void *buffer, size_t size, int flags)
{
	ssize_t n = ((__typeof__(&recv))dlsym(RTLD_NEXT, "recv"))(descriptor, buffer, size, flags);
	if (n > 0 && is_audio(descriptor)) track_add(&heard, buffer, n / 2);
	return n;
}

ssize_t send(int descriptor, const void *buffer, size_t size, int flags)
{
	int counts = is_audio(descriptor);
	ssize_t n = ((__typeof__(&send))dlsym(RTLD_NEXT, "send"))(descriptor, buffer, size, flags);
	if (n > 0 && counts) track_add(&said, buffer, n / 2);
	return n;
}
