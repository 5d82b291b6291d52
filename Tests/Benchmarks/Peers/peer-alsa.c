/* A telephony application on ALSA: answers each 10 ms that it captures with 10 ms of the far end.
 *
 * usage: peer-alsa CAPTURE PLAYBACK ELSEWHERE RATE FAR.wav BASENAME
 *
 * Two blocks are played ahead. When a device reports that it has gone, it prints "told TIME" (CLOCK_MONOTONIC) and plays on
 * ELSEWHERE. Writes BASENAME-heard and BASENAME-said as in track.h, on SIGTERM or SIGINT. */
#include <alsa/asoundlib.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include "track.h"

#define AHEAD 2

static volatile sig_atomic_t stop;
static struct track heard, said;
static int16_t *far_end;
static size_t far_samples, far_at;

static void on_signal(int signal) { (void)signal; stop = 1; }

static void check(const char *what, int result)
{
	if (result < 0) { fprintf(stderr, "peer-alsa: %s: %s\n", what, snd_strerror(result)); exit(1); }
}

static snd_pcm_t *open_pcm(const char *device, snd_pcm_stream_t stream, unsigned rate)
{
	snd_pcm_t *pcm;
	snd_pcm_hw_params_t *hw;
	snd_pcm_sw_params_t *sw;
	snd_pcm_uframes_t period = rate / 100, buffer = rate / 10;
	check(device, snd_pcm_open(&pcm, device, stream, 0));
	snd_pcm_hw_params_alloca(&hw);
	check("any", snd_pcm_hw_params_any(pcm, hw));
	check("access", snd_pcm_hw_params_set_access(pcm, hw, SND_PCM_ACCESS_RW_INTERLEAVED));
	check("format", snd_pcm_hw_params_set_format(pcm, hw, SND_PCM_FORMAT_S16_LE));
	check("channels", snd_pcm_hw_params_set_channels(pcm, hw, 1));
	check("rate", snd_pcm_hw_params_set_rate(pcm, hw, rate, 0));
	check("period", snd_pcm_hw_params_set_period_size_near(pcm, hw, &period, NULL));
	check("buffer", snd_pcm_hw_params_set_buffer_size_near(pcm, hw, &buffer));
	check("parameters", snd_pcm_hw_params(pcm, hw));
	snd_pcm_sw_params_alloca(&sw);
	check("software", snd_pcm_sw_params_current(pcm, sw));
	check("start", snd_pcm_sw_params_set_start_threshold(pcm, sw, stream == SND_PCM_STREAM_PLAYBACK ? AHEAD * rate / 100 : 1));
	check("software", snd_pcm_sw_params(pcm, sw));
	fprintf(stderr, "peer-alsa: %s: period %lu, buffer %lu\n", device, period, buffer);
	return pcm;
}

/* One block of the far end, preceded by silence. */
static int say(snd_pcm_t *pcm, unsigned block, int silence)
{
	static int16_t out[4096];
	for (unsigned i = 0; i < block; i++) {
		out[i] = silence ? 0 : far_end[far_at];
		if (!silence && ++far_at == far_samples) far_at = 0;
	}
	track_add(&said, out, block);
	return snd_pcm_writei(pcm, out, block);
}

static int recover(snd_pcm_t *pcm, int error)
{
	fprintf(stderr, "peer-alsa: %s: %s at %.3f\n", snd_pcm_name(pcm), snd_strerror(error), now());
	return error == -EPIPE || error == -EINTR ? snd_pcm_prepare(pcm) : error;
}

int main(int argc, char **argv)
{
	if (argc != 7) { fprintf(stderr, "usage: peer-alsa CAPTURE PLAYBACK ELSEWHERE RATE FAR.wav BASENAME\n"); return 2; }
	unsigned rate = atoi(argv[4]), block = rate / 100;
	static int16_t in[4096];
	far_end = read_far_end(argv[5], &far_samples);
	track_begin(&heard, rate);
	track_begin(&said, rate);
	struct sigaction a = { .sa_handler = on_signal };
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGINT, &a, NULL);
	/* The priority of the application in btcall's benchmark. */
	struct sched_param p = { .sched_priority = 5 };
	if (sched_setscheduler(0, SCHED_RR, &p) || mlockall(MCL_CURRENT | MCL_FUTURE)) perror("peer-alsa: real time");

	snd_pcm_t *playback = open_pcm(argv[2], SND_PCM_STREAM_PLAYBACK, rate);
	snd_pcm_t *capture = open_pcm(argv[1], SND_PCM_STREAM_CAPTURE, rate);
	check("start", snd_pcm_start(capture));
	int ahead = 0, error = 0;
	while (!stop && !error) {
		int n = snd_pcm_readi(capture, in, block);
		if (n < 0) {
			if ((error = recover(capture, n)) == 0) snd_pcm_start(capture);
			continue;
		}
		track_add(&heard, in, n);
		while (ahead < AHEAD && !stop) { say(playback, block, 1); ahead++; }
		if ((n = say(playback, block, 0)) < 0) { error = recover(playback, n); ahead = 0; }
	}
	if (!stop) {
		printf("told %.6f\n", now());
		fflush(stdout);
		track_write(&heard, argv[6], "heard");
		playback = open_pcm(argv[3], SND_PCM_STREAM_PLAYBACK, rate);
		while (!stop && (error = say(playback, block, 0)) >= 0) {}
		if (error < 0) fprintf(stderr, "peer-alsa: %s: %s\n", argv[3], snd_strerror(error));
	}
	track_write(&heard, argv[6], "heard");
	track_write(&said, argv[6], "said");
	return 0;
}
