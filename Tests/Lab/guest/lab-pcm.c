/* In the guest: the other end of a loopback sound card, as a person would hear it and speak into it.
 *
 * usage: lab-pcm record DEVICE BASENAME [RATE [CHANNELS]]    writes BASENAME.wav (first channel) and BASENAME.times
 *        lab-pcm play DEVICE FILE.wav [RATE [CHANNELS]]      plays the file over and over, on all channels
 *        lab-pcm record - BASENAME [RATE [CHANNELS]]         what another program writes to our standard input, without a header
 *
 * Ends on SIGTERM or SIGINT. BASENAME.times: lines "samples time": by that time (guest's CLOCK_MONOTONIC) the sound
 * card had made so many samples; "# break" after an overrun. LAB_CLOCK=unit: it runs in the unit, on its clock. A DEVICE that
 * is no "hw:" is the unit's end of a Bluetooth link. Prints what went wrong on standard error. */
#include <alsa/asoundlib.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stop;
static pthread_t main_thread;
static snd_pcm_t *volatile opened;

/* alsa-lib goes on waiting for a silent link after a signal, unless it is told to stop; and the signal may have reached a
 * thread of the device. */
static void on_signal(int signal)
{
	stop = 1;
	if (opened) snd_pcm_abort(opened);
	if (!pthread_equal(pthread_self(), main_thread)) pthread_kill(main_thread, signal);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void check(const char *what, int result)
{
	if (result < 0) { fprintf(stderr, "lab-pcm: %s: %s\n", what, snd_strerror(result)); exit(1); }
}

static snd_pcm_t *open_pcm(const char *device, snd_pcm_stream_t stream, unsigned rate, unsigned channels, unsigned buffer_ms)
{
	snd_pcm_t *pcm;
	snd_pcm_hw_params_t *hw;
	snd_pcm_uframes_t period = rate / 100, buffer = rate / 1000 * buffer_ms;
	int result;
	/* bluez-alsa with mSBC has no rate before the two sides have chosen a codec. */
	while ((result = snd_pcm_open(&pcm, device, stream, 0)) == -EAGAIN && !stop) usleep(20000);
	check(device, result);
	opened = pcm;
	snd_pcm_hw_params_alloca(&hw);
	check("any", snd_pcm_hw_params_any(pcm, hw));
	check("access", snd_pcm_hw_params_set_access(pcm, hw, SND_PCM_ACCESS_RW_INTERLEAVED));
	check("format", snd_pcm_hw_params_set_format(pcm, hw, SND_PCM_FORMAT_S16_LE));
	check("channels", snd_pcm_hw_params_set_channels(pcm, hw, channels));
	check("rate", snd_pcm_hw_params_set_rate(pcm, hw, rate, 0));
	check("period", snd_pcm_hw_params_set_period_size_near(pcm, hw, &period, NULL));
	check("buffer", snd_pcm_hw_params_set_buffer_size_near(pcm, hw, &buffer));
	check("parameters", snd_pcm_hw_params(pcm, hw));
	return pcm;
}

static void put_header(FILE *f, uint32_t rate, uint32_t bytes)
{
	uint32_t riff = 36 + bytes, size = 16, byte_rate = 2 * rate;
	uint16_t pcm = 1, one = 1, align = 2, bits = 16;
	fwrite("RIFF", 4, 1, f); fwrite(&riff, 4, 1, f); fwrite("WAVEfmt ", 8, 1, f); fwrite(&size, 4, 1, f);
	fwrite(&pcm, 2, 1, f); fwrite(&one, 2, 1, f); fwrite(&rate, 4, 1, f); fwrite(&byte_rate, 4, 1, f);
	fwrite(&align, 2, 1, f); fwrite(&bits, 2, 1, f); fwrite("data", 4, 1, f); fwrite(&bytes, 4, 1, f);
}

/* Whole frames from standard input; less than one frame when it ends. */
static snd_pcm_sframes_t read_input(int16_t *in, size_t frame, unsigned chunk)
{
	size_t got = 0, wanted = frame * chunk;
	while (!stop && got < wanted) {
		ssize_t n = read(0, (char *)in + got, wanted - got);
		if (n <= 0) break;
		got += n;
	}
	return got / frame;
}

static snd_pcm_sframes_t waiting_input(size_t frame)
{
	int bytes = 0;
	return ioctl(0, FIONREAD, &bytes) ? -1 : (snd_pcm_sframes_t)(bytes / frame);
}

static int record(const char *device, const char *base, unsigned rate, unsigned channels)
{
	char path[4096];
	snprintf(path, sizeof path, "%s.wav", base);
	FILE *wav = fopen(path, "wb");
	snprintf(path, sizeof path, "%s.times", base);
	FILE *times = fopen(path, "w");
	if (!wav || !times) { perror(path); return 1; }
	int piped = !strcmp(device, "-");
	snd_pcm_t *pcm = piped ? NULL : open_pcm(device, SND_PCM_STREAM_CAPTURE, rate, channels, 1000);
	unsigned chunk = rate / 100;
	int16_t *in = malloc(2 * channels * chunk), *first = malloc(2 * chunk);
	uint64_t total = 0;
	put_header(wav, rate, 0);
	/* No even clock makes the samples of a Bluetooth link. */
	const char *clock = getenv("LAB_CLOCK");
	fprintf(times, "# clock %s\n# mode %s\n", clock ? clock : "guest", strncmp(device, "hw:", 3) ? "arrival" : "steady");
	if (pcm) check("start", snd_pcm_start(pcm));
	fprintf(stderr, "lab-pcm: recording %s\n", device);
	while (!stop) {
		snd_pcm_sframes_t n = piped ? read_input(in, 2 * channels, chunk) : snd_pcm_readi(pcm, in, chunk);
		if (piped && !n) break;
		if (n < 0) {
			fprintf(stderr, "lab-pcm: record %s: %s at %.3f\n", device, snd_strerror(n), now());
			fprintf(times, "# break\n");
			/* EIO: nothing came for seconds, because no link was open. */
			if (n == -EIO ? snd_pcm_prepare(pcm) < 0 : snd_pcm_recover(pcm, n, 1) < 0) break;
			snd_pcm_start(pcm);
			continue;
		}
		total += n;
		snd_pcm_sframes_t more = piped ? waiting_input(2 * channels) : snd_pcm_avail(pcm);
		if (more >= 0) fprintf(times, "%llu %.6f\n", (unsigned long long)(total + more), now());
		for (snd_pcm_sframes_t i = 0; i < n; i++) first[i] = in[i * channels];
		fwrite(first, 2, n, wav);
	}
	rewind(wav);
	put_header(wav, rate, 2 * total);
	return fclose(wav) | fclose(times);
}

static int play(const char *device, const char *path, unsigned rate, unsigned channels)
{
	FILE *f = fopen(path, "rb");
	if (!f) { perror(path); return 1; }
	fseek(f, 0, SEEK_END);
	long samples = (ftell(f) - 44) / 2;
	if (samples < 1) { fprintf(stderr, "lab-pcm: %s is empty\n", path); return 1; }
	int16_t *all = malloc(2 * samples);
	fseek(f, 44, SEEK_SET);
	if (fread(all, 2, samples, f) != (size_t)samples) { perror(path); return 1; }
	fclose(f);
	snd_pcm_t *pcm = open_pcm(device, SND_PCM_STREAM_PLAYBACK, rate, channels, 400);
	unsigned chunk = rate / 100;
	int16_t *out = malloc(2 * channels * chunk);
	long at = 0;
	while (!stop) {
		for (unsigned i = 0; i < chunk; i++) {
			for (unsigned c = 0; c < channels; c++) out[i * channels + c] = all[at];
			if (++at == samples) at = 0;
		}
		snd_pcm_sframes_t n = snd_pcm_writei(pcm, out, chunk);
		if (n < 0) {
			fprintf(stderr, "lab-pcm: play %s: %s at %.3f\n", device, snd_strerror(n), now());
			/* EIO: no data was read for 10 s, because no call used the card. */
			if (n == -EIO ? snd_pcm_prepare(pcm) < 0 : snd_pcm_recover(pcm, n, 1) < 0) return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 4) { fprintf(stderr, "usage: lab-pcm record|play DEVICE FILE [RATE [CHANNELS]]\n"); return 2; }
	unsigned rate = argc > 4 ? atoi(argv[4]) : 48000, channels = argc > 5 ? atoi(argv[5]) : 2;
	main_thread = pthread_self();
	struct sigaction a = { .sa_handler = on_signal };
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGINT, &a, NULL);
	struct sched_param p = { .sched_priority = 60 };
	if (sched_setscheduler(0, SCHED_FIFO, &p) || mlockall(MCL_CURRENT | MCL_FUTURE))
		perror("lab-pcm: real time");
	return strcmp(argv[1], "record") ? play(argv[2], argv[3], rate, channels) : record(argv[2], argv[3], rate, channels);
}
