// Preloaded into btcalld by scripts/bench: synchronous connections go to a Unix socket instead of the kernel's radio.
//
// The shipped program is measured unchanged. A socket of protocol SCO becomes a local packet socket, connect()
// leads to the path in BTCALL_BENCH_SCO, and the options of SCO are answered as an adapter with 60-byte packets would.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { BLUETOOTH = 31, PROTOCOL_SCO = 2, LEVEL_SCO = 17, LEVEL_BLUETOOTH = 274, OPTIONS = 1, INFORMATION = 2 };
enum { PACKET_BYTES = 60, LIMIT = 1024 };

static unsigned char redirected[LIMIT];

static int is_redirected(int descriptor) { return descriptor >= 0 && descriptor < LIMIT && redirected[descriptor]; }

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int socket(int domain, int type, int protocol) {
	int is_voice = domain == BLUETOOTH && protocol == PROTOCOL_SCO;
	int descriptor = is_voice ? NEXT(socket)(AF_UNIX, type, 0) : NEXT(socket)(domain, type, protocol);
	if (descriptor >= 0 && descriptor < LIMIT) redirected[descriptor] = is_voice;
	return descriptor;
}

int bind(int descriptor, const struct sockaddr *address, socklen_t length) {
	if (is_redirected(descriptor)) return 0;
	return NEXT(bind)(descriptor, address, length);
}

// A socket that really listens, at a name chosen by the kernel, where nobody connects: an idle one must not wake the program.
int listen(int descriptor, int backlog) {
	if (is_redirected(descriptor)) {
		sa_family_t family = AF_UNIX;
		if (NEXT(bind)(descriptor, (const struct sockaddr *)&family, sizeof family) != 0) return -1;
	}
	return NEXT(listen)(descriptor, backlog);
}

int connect(int descriptor, const struct sockaddr *address, socklen_t length) {
	const char *path = getenv("BTCALL_BENCH_SCO");
	if (!is_redirected(descriptor) || path == NULL) return NEXT(connect)(descriptor, address, length);
	struct sockaddr_un there = { .sun_family = AF_UNIX };
	strncpy(there.sun_path, path, sizeof there.sun_path - 1);
	return NEXT(connect)(descriptor, (const struct sockaddr *)&there, sizeof there);
}

int setsockopt(int descriptor, int level, int name, const void *value, socklen_t length) {
	if (is_redirected(descriptor) && (level == LEVEL_BLUETOOTH || level == LEVEL_SCO)) return 0;
	return NEXT(setsockopt)(descriptor, level, name, value, length);
}

int getsockopt(int descriptor, int level, int name, void *value, socklen_t *length) {
	if (!is_redirected(descriptor) || level != LEVEL_SCO) return NEXT(getsockopt)(descriptor, level, name, value, length);
	uint16_t answer = name == OPTIONS ? PACKET_BYTES : 1;
	if (*length < sizeof answer) {
		errno = EINVAL;
		return -1;
	}
	memset(value, 0, *length);
	memcpy(value, &answer, sizeof answer);
	return 0;
}
