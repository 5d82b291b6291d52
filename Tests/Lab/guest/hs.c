/* hs h1|h2|lab COMMAND [ARGUMENTS]: one command to the virtual headsets (README.md, "Headset commands").
 *
 * In the guest through the port ctl0 (or ctl1 with HS_PORT=1, so that a long "wait" does not hold up other commands), on
 * the host through the Unix socket that HS_SOCKET names. Prints the JSON result; fails with the error text on standard
 * error. A program, because starting a shell takes a fifth of a second under emulation. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int channel(void)
{
	const char *path = getenv("HS_SOCKET");
	if (path) {
		struct sockaddr_un a = { .sun_family = AF_UNIX };
		snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
		int s = socket(AF_UNIX, SOCK_STREAM, 0);
		return s >= 0 && connect(s, (void *)&a, sizeof a) == 0 ? s : -1;
	}
	char lock[64], port[64];
	const char *number = getenv("HS_PORT");
	snprintf(lock, sizeof lock, "/run/lab/hs%s.lock", number ? number : "0");
	snprintf(port, sizeof port, "/run/lab/ctl%s", number ? number : "0");
	int l = open(lock, O_RDWR | O_CREAT, 0666);            /* held until the program ends */
	if (l < 0 || flock(l, LOCK_EX))
		return -1;
	return open(port, O_RDWR);
}

/* Appends a word, quoted for the other side's shlex. */
static char *quote(char *to, const char *word)
{
	*to++ = '\'';
	for (; *word; word++) {
		if (*word == '\'') {
			memcpy(to, "'\"'\"'", 5);
			to += 5;
		} else if (*word != '\n') {
			*to++ = *word;
		}
	}
	*to++ = '\'';
	*to++ = ' ';
	return to;
}

int main(int argc, char **argv)
{
	size_t room = 2;
	for (int i = 1; i < argc; i++) room += 5 * strlen(argv[i]) + 3;
	char *line = malloc(room), *end = line, *reply = NULL;
	for (int i = 1; i < argc; i++) end = quote(end, argv[i]);
	*end++ = '\n';
	int fd = channel();
	if (argc < 3 || fd < 0) { fprintf(stderr, "hs: usage, or no way to the headsets\n"); return 1; }
	for (char *p = line; p < end;) {
		ssize_t n = write(fd, p, end - p);
		if (n <= 0) { perror("hs"); return 1; }
		p += n;
	}
	size_t have = 0;
	do {
		reply = realloc(reply, have + 65536);
		ssize_t n = read(fd, reply + have, 65535);
		if (n <= 0) { fprintf(stderr, "hs: no answer\n"); return 1; }
		have += n;
	} while (reply[have - 1] != '\n');
	reply[have - 1] = 0;
	if (!strncmp(reply, "OK ", 3)) {
		if (strcmp(reply, "OK null")) puts(reply + 3);
		return 0;
	}
	fputs("hs", stderr);
	for (int i = 1; i < argc; i++) fprintf(stderr, " %s", argv[i]);
	fprintf(stderr, ": %s\n", reply);
	return 1;
}
