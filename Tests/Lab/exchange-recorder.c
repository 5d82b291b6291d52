/* Records the audio of the application at the far end, with times: preloaded into it ("btcall test-call"), it keeps the
 * blocks that the application exchanges with the daemon over its packet socket.
 *
 *     gcc -O2 -fPIC -shared -o exchange-recorder.so exchange-recorder.c -ldl
 *     LAB_EXCHANGE=/tmp/call LD_PRELOAD=./exchange-recorder.so btcall test-call ...
 *
 * Writes BASE-said.wav and BASE-heard.wav with BASE-said.times and BASE-heard.times beside them (lines "sample time" in the
 * guest's CLOCK_MONOTONIC). The first sample of a received block can be played when the block arrives; the last sample of a
 * sent block has just been made. A block is 10 ms, 16 bit, one channel. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

struct recording { FILE *wav, *times; uint32_t samples, rate; };
static struct recording said, heard;
static ssize_t (*next_send)(int, const void *, size_t, int);
static ssize_t (*next_recv)(int, void *, size_t, int);

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static FILE *create(const char *base, const char *name)
{
	char path[4096];
	snprintf(path, sizeof path, "%s-%s", base, name);
	FILE *f = fopen(path, "w");
	if (!f) perror(path);
	return f;
}

static void put_header(const struct recording *r)
{
	uint32_t bytes = 2 * r->samples, riff = 36 + bytes, size = 16, byte_rate = 2 * r->rate;
	uint16_t pcm = 1, one = 1, align = 2, bits = 16;
	FILE *f = r->wav;
	fwrite("RIFF", 4, 1, f); fwrite(&riff, 4, 1, f); fwrite("WAVEfmt ", 8, 1, f); fwrite(&size, 4, 1, f);
	fwrite(&pcm, 2, 1, f); fwrite(&one, 2, 1, f); fwrite(&r->rate, 4, 1, f); fwrite(&byte_rate, 4, 1, f);
	fwrite(&align, 2, 1, f); fwrite(&bits, 2, 1, f); fwrite("data", 4, 1, f); fwrite(&bytes, 4, 1, f);
}

static void open_recording(struct recording *r, const char *base, const char *wav, const char *times)
{
	r->wav = create(base, wav);
	r->times = create(base, times);
	if (!r->wav || !r->times) { r->wav = NULL; return; }
	put_header(r);
	fprintf(r->times, "# clock guest\n# mode arrival\n");
}

static void close_recording(struct recording *r)
{
	if (!r->wav) return;
	rewind(r->wav);
	put_header(r);
	fclose(r->wav);
	fclose(r->times);
}

__attribute__((constructor)) static void begin(void)
{
	next_send = (ssize_t (*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
	next_recv = (ssize_t (*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
}

__attribute__((destructor)) static void end(void)
{
	close_recording(&said);
	close_recording(&heard);
}

/* The first block opens the files: other programs that a shell starts before the application create none. */
static int is_exchange(int fd)
{
	int type = 0;
	socklen_t size = sizeof type;
	const char *base = getenv("LAB_EXCHANGE");
	if (!base || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) || type != SOCK_SEQPACKET) return 0;
	if (!heard.times) {
		open_recording(&said, base, "said.wav", "said.times");
		open_recording(&heard, base, "heard.wav", "heard.times");
	}
	return said.wav && heard.wav;
}

static void keep(struct recording *r, const void *block, ssize_t bytes, uint32_t stamped, double time)
{
	uint32_t count = bytes / 2;
	r->rate = 100 * count;
	fprintf(r->times, "%u %.6f\n", r->samples + stamped, time);
	fwrite(block, 2, count, r->wav);
	r->samples += count;
}

ssize_t recv(int fd, void *to, size_t size, int flags)
{
	ssize_t n = next_recv(fd, to, size, flags);
	double time = now();
	if (n > 0 && is_exchange(fd)) keep(&heard, to, n, 0, time);
	return n;
}

ssize_t send(int fd, const void *from, size_t size, int flags)
{
	double time = now();
	ssize_t n = next_send(fd, from, size, flags);
	if (n > 0 && is_exchange(fd)) keep(&said, from, n, n / 2, time);
	return n;
}
