/* Audio that a program received or sent, with times: kept in memory during the call, written when it ends.
 *
 * NAME.wav, and NAME.times with a line "samples time" for each piece: number of samples received or sent, including the
 * piece exchanged at that time (guest's CLOCK_MONOTONIC). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRACK_SECONDS 240
#define TRACK_PIECES 250                                /* a second, at most */

struct track {
	unsigned rate;
	size_t samples, pieces;
	int16_t *sample;
	struct { size_t total; double time; } *piece;
};

static inline double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static inline void track_begin(struct track *t, unsigned rate)
{
	t->rate = rate;
	t->sample = malloc(sizeof *t->sample * rate * TRACK_SECONDS);
	t->piece = malloc(sizeof *t->piece * TRACK_PIECES * TRACK_SECONDS);
	if (!t->sample || !t->piece) abort();
	/* Avoids page faults during the call. */
	memset(t->sample, 0, sizeof *t->sample * rate * TRACK_SECONDS);
	memset(t->piece, 0, sizeof *t->piece * TRACK_PIECES * TRACK_SECONDS);
}

static inline void track_add(struct track *t, const int16_t *samples, size_t count)
{
	if (t->samples + count > (size_t)t->rate * TRACK_SECONDS || t->pieces == TRACK_PIECES * TRACK_SECONDS) return;
	memcpy(t->sample + t->samples, samples, 2 * count);
	t->samples += count;
	t->piece[t->pieces].total = t->samples;
	t->piece[t->pieces++].time = now();
}

static inline void track_write(const struct track *t, const char *base, const char *name)
{
	char path[4096];
	snprintf(path, sizeof path, "%s-%s.wav", base, name);
	FILE *wav = fopen(path, "wb");
	snprintf(path, sizeof path, "%s-%s.times", base, name);
	FILE *times = fopen(path, "w");
	if (!wav || !times) { perror(path); return; }
	uint32_t bytes = 2 * t->samples, riff = 36 + bytes, size = 16, rate = t->rate, byte_rate = 2 * rate;
	uint16_t pcm = 1, one = 1, align = 2, bits = 16;
	fwrite("RIFF", 4, 1, wav); fwrite(&riff, 4, 1, wav); fwrite("WAVEfmt ", 8, 1, wav); fwrite(&size, 4, 1, wav);
	fwrite(&pcm, 2, 1, wav); fwrite(&one, 2, 1, wav); fwrite(&rate, 4, 1, wav); fwrite(&byte_rate, 4, 1, wav);
	fwrite(&align, 2, 1, wav); fwrite(&bits, 2, 1, wav); fwrite("data", 4, 1, wav); fwrite(&bytes, 4, 1, wav);
	fwrite(t->sample, 2, t->samples, wav);
	fprintf(times, "# clock guest\n# mode arrival\n");
	for (size_t i = 0; i < t->pieces; i++) fprintf(times, "%zu %.6f\n", t->piece[i].total, t->piece[i].time);
	if (fclose(wav) | fclose(times)) perror(path);
}

/* All samples of a WAV file with a plain header of 44 bytes. */
static inline int16_t *read_far_end(const char *path, size_t *count)
{
	FILE *f = fopen(path, "rb");
	if (!f) { perror(path); exit(1); }
	fseek(f, 0, SEEK_END);
	long samples = (ftell(f) - 44) / 2;
	if (samples < 1) { fprintf(stderr, "%s is empty\n", path); exit(1); }
	int16_t *all = malloc(2 * samples);
	fseek(f, 44, SEEK_SET);
	if (!all || fread(all, 2, samples, f) != (size_t)samples) { perror(path); exit(1); }
	fclose(f);
	*count = samples;
	return all;
}
