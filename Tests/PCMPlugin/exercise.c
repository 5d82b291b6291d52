// Uses a PCM like softphones, players and recorders, and checks the results. It is linked to alsa-lib only.
//   exercise matrix PCM [MILLISECONDS...]     every direction, rate, format, channel count; periods as given
//   exercise semantics PCM                     running dry, pause, drop, drain, non-blocking, mapped, forked, two threads
//   exercise opens PCM COUNT                   opens and closes without losing a descriptor
//   exercise play PCM SECONDS FILE             plays a ramp; FILE gets one position a line
//   exercise record PCM SECONDS FILE           records S16 to FILE
//   exercise date PCM SECONDS                  records without waiting; samples are never older than earlier ones
// Exits with 0 if everything was right; otherwise with 1 and a line on standard error for each failure.
#define _GNU_SOURCE
#include <alsa/asoundlib.h>
#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failures;

#define CHECK(condition, ...) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
            fprintf(stderr, __VA_ARGS__); \
            fputc('\n', stderr); \
            __atomic_fetch_add(&failures, 1, __ATOMIC_SEQ_CST); \
        } \
    } while (0)

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void pass_milliseconds(long count)
{
    const struct timespec time = { .tv_sec = count / 1000, .tv_nsec = count % 1000 * 1000000 };
    nanosleep(&time, NULL);
}

struct setup {
    const char *name;
    snd_pcm_stream_t stream;
    snd_pcm_access_t access;
    snd_pcm_format_t format;
    unsigned channels, rate;
    snd_pcm_uframes_t period, buffer;
    int mode;
};

/// Opens with exactly these parameters, or fails.
static snd_pcm_t *open_pcm(const struct setup *setup)
{
    snd_pcm_t *pcm;
    int error = snd_pcm_open(&pcm, setup->name, setup->stream, setup->mode);
    CHECK(error == 0, "%s: %s", setup->name, snd_strerror(error));
    if (error < 0)
        return NULL;
    snd_pcm_hw_params_t *parameters;
    snd_pcm_hw_params_alloca(&parameters);
    snd_pcm_uframes_t period = 0, buffer = 0;
    if ((error = snd_pcm_hw_params_any(pcm, parameters)) < 0
        || (error = snd_pcm_hw_params_set_access(pcm, parameters, setup->access)) < 0
        || (error = snd_pcm_hw_params_set_format(pcm, parameters, setup->format)) < 0
        || (error = snd_pcm_hw_params_set_channels(pcm, parameters, setup->channels)) < 0
        || (error = snd_pcm_hw_params_set_rate(pcm, parameters, setup->rate, 0)) < 0
        || (error = snd_pcm_hw_params_set_period_size(pcm, parameters, setup->period, 0)) < 0
        || (error = snd_pcm_hw_params_set_buffer_size(pcm, parameters, setup->buffer)) < 0
        || (error = snd_pcm_hw_params(pcm, parameters)) < 0) {
        CHECK(error == 0, "%s, %u Hz, %u channels, %s, period %lu, buffer %lu: %s", setup->name, setup->rate,
            setup->channels, snd_pcm_format_name(setup->format), setup->period, setup->buffer, snd_strerror(error));
        snd_pcm_close(pcm);
        return NULL;
    }
    snd_pcm_get_params(pcm, &buffer, &period);
    CHECK(period == setup->period && buffer == setup->buffer, "got period %lu, buffer %lu", period, buffer);
    return pcm;
}

static void set_thresholds(snd_pcm_t *pcm, bool endless, snd_pcm_uframes_t start)
{
    snd_pcm_sw_params_t *parameters;
    snd_pcm_sw_params_alloca(&parameters);
    snd_pcm_uframes_t boundary;
    snd_pcm_sw_params_current(pcm, parameters);
    snd_pcm_sw_params_get_boundary(parameters, &boundary);
    snd_pcm_sw_params_set_start_threshold(pcm, parameters, start);
    if (endless)
        snd_pcm_sw_params_set_stop_threshold(pcm, parameters, boundary);
    int error = snd_pcm_sw_params(pcm, parameters);
    CHECK(error == 0, "%s", snd_strerror(error));
}

/// Plays or records `periods` of them by poll, and checks positions and states meanwhile.
static void stream_periods(const struct setup *setup, int periods)
{
    snd_pcm_t *pcm = open_pcm(setup);
    if (pcm == NULL)
        return;
    const bool plays = setup->stream == SND_PCM_STREAM_PLAYBACK;
    set_thresholds(pcm, true, plays ? setup->buffer : 1);
    char *samples = calloc(setup->period, snd_pcm_frames_to_bytes(pcm, 1));
    struct pollfd polled;
    CHECK(snd_pcm_poll_descriptors_count(pcm) == 1, "%d", snd_pcm_poll_descriptors_count(pcm));
    CHECK(snd_pcm_poll_descriptors(pcm, &polled, 1) == 1, "no descriptor");
    const int descriptor = polled.fd;
    if (plays)
        for (snd_pcm_uframes_t done = 0; done < setup->buffer; done += setup->period) {
            snd_pcm_sframes_t wrote = snd_pcm_writei(pcm, samples, setup->period);
            CHECK(wrote == (snd_pcm_sframes_t)setup->period, "%ld", wrote);
        }
    else
        CHECK(snd_pcm_start(pcm) == 0, "start");
    CHECK(snd_pcm_state(pcm) == SND_PCM_STATE_RUNNING, "%s", snd_pcm_state_name(snd_pcm_state(pcm)));
    const double begin = now();
    int64_t program = plays ? (int64_t)setup->buffer : 0, hardware = 0;
    int wakes = 0;
    for (int period = 0; period < periods;) {
        CHECK(poll(&polled, 1, 10000) == 1, "no wake in ten seconds");
        wakes++;
        unsigned short events;
        CHECK(snd_pcm_poll_descriptors_revents(pcm, &polled, 1, &events) == 0, "revents");
        CHECK((events & (POLLERR | POLLNVAL)) == 0, "%x", events);
        snd_pcm_sframes_t available, delay;
        CHECK(snd_pcm_avail_delay(pcm, &available, &delay) == 0, "avail_delay");
        CHECK(delay >= 0, "%ld", delay);
        const int64_t position = plays ? program - (int64_t)setup->buffer + available : program + available;
        CHECK(position >= hardware, "back from %lld to %lld", (long long)hardware, (long long)position);
        hardware = position;
        if ((events & (plays ? POLLOUT : POLLIN)) == 0)
            continue;
        CHECK(available >= (snd_pcm_sframes_t)setup->period, "woken for %ld of %lu", available, setup->period);
        if (available < (snd_pcm_sframes_t)setup->period)
            break;
        snd_pcm_sframes_t moved
            = plays ? snd_pcm_writei(pcm, samples, setup->period) : snd_pcm_readi(pcm, samples, setup->period);
        CHECK(moved == (snd_pcm_sframes_t)setup->period, "%ld", moved);
        program += setup->period;
        period++;
    }
    const double took = now() - begin;
    // Ten milliseconds a step; one more wake after each transfer is allowed.
    CHECK(wakes <= 2 * took * 100 + 2 * periods + 5, "%d wakes in %f s", wakes, took);
    snd_pcm_poll_descriptors(pcm, &polled, 1);
    CHECK(polled.fd == descriptor, "another descriptor");
    CHECK(snd_pcm_drop(pcm) == 0, "drop");
    CHECK(snd_pcm_close(pcm) == 0, "close");
    free(samples);
}

// MARK: matrix

struct lane {
    pthread_t thread;
    char name[200];
    snd_pcm_stream_t stream;
    unsigned rate;
    int periods[8], period_count;
};

static void *run_lane(void *argument)
{
    static const snd_pcm_format_t formats[] = { SND_PCM_FORMAT_S16_LE, SND_PCM_FORMAT_FLOAT_LE };
    static const unsigned counts[] = { 2, 3, 4, 16 };
    const struct lane *lane = argument;
    for (int format = 0; format < 2; format++)
        for (unsigned channels = 1; channels <= 2; channels++)
            for (int index = 0; index < lane->period_count; index++) {
                const snd_pcm_uframes_t period = lane->rate * (unsigned)lane->periods[index] / 1000;
                unsigned periods = counts[(index + format + (int)channels) % 4];
                if (periods * period * channels * (format == 0 ? 2 : 4) > 96000)
                    periods = 4;
                const struct setup setup = { lane->name, lane->stream, SND_PCM_ACCESS_RW_INTERLEAVED, formats[format],
                    channels, lane->rate, period, periods * period, 0 };
                stream_periods(&setup, 6);
            }
    return NULL;
}

static void matrix(const char *name, const int *periods, int count)
{
    static const unsigned rates[] = { 8000, 16000, 24000, 32000, 44100, 48000 };
    static const char *const roles[] = { "call", "ring", "page", "call" };
    static struct lane lanes[24];
    const double begin = now();
    for (int index = 0; index < 24; index++) {
        struct lane *lane = &lanes[index];
        snprintf(lane->name, sizeof lane->name, "%s:%s", name, roles[index % 4]);
        lane->stream = index % 4 == 3 ? SND_PCM_STREAM_CAPTURE : SND_PCM_STREAM_PLAYBACK;
        lane->rate = rates[index / 4];
        lane->period_count = count;
        memcpy(lane->periods, periods, (size_t)count * sizeof *periods);
        pthread_create(&lane->thread, NULL, run_lane, lane);
    }
    for (int index = 0; index < 24; index++)
        pthread_join(lanes[index].thread, NULL);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    const double used = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec
        + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    const double share = used / (now() - begin) / 24;
    printf("%.2f %% of a processor for each of 24 streams\n", 100 * share);
    // One spinning stream would use a whole processor, which is 4 %; valgrind makes everything slower.
    CHECK(getenv("SLOW") != NULL || share < 0.03, "%f", share);
}

// MARK: semantics

static struct setup telephone(const char *name, snd_pcm_stream_t stream, int mode)
{
    return (struct setup){ name, stream, SND_PCM_ACCESS_RW_INTERLEAVED, SND_PCM_FORMAT_S16_LE, 1, 16000, 320, 1280, mode };
}

static const int16_t silence[16000];
static int16_t scratch[16000];

static void runs_dry(const char *name)
{
    const struct setup setup = telephone(name, SND_PCM_STREAM_PLAYBACK, 0);
    snd_pcm_t *pcm = open_pcm(&setup);
    for (int round = 0; round < 2; round++) {
        CHECK(snd_pcm_writei(pcm, silence, 640) == 640, "write");
        CHECK(snd_pcm_state(pcm) == SND_PCM_STATE_RUNNING, "%s", snd_pcm_state_name(snd_pcm_state(pcm)));
        pass_milliseconds(200);
        snd_pcm_sframes_t result = snd_pcm_writei(pcm, silence, 320), delay;
        CHECK(result == -EPIPE, "%ld", result);
        CHECK(snd_pcm_state(pcm) == SND_PCM_STATE_XRUN, "%s", snd_pcm_state_name(snd_pcm_state(pcm)));
        CHECK(snd_pcm_delay(pcm, &delay) == -EPIPE, "delay");
        CHECK(snd_pcm_recover(pcm, -EPIPE, 1) == 0, "recover");
        CHECK(snd_pcm_avail(pcm) == 1280, "%ld", snd_pcm_avail(pcm));
    }
    // With the threshold at the boundary it runs forever.
    set_thresholds(pcm, true, 640);
    CHECK(snd_pcm_writei(pcm, silence, 640) == 640, "write");
    pass_milliseconds(200);
    snd_pcm_sframes_t available = snd_pcm_avail(pcm), delay = -1;
    CHECK(available > 1280, "%ld", available);
    CHECK(snd_pcm_delay(pcm, &delay) == 0 && delay == 0, "%ld", delay);
    CHECK(snd_pcm_writei(pcm, silence, 320) == 320, "write");
    CHECK(snd_pcm_state(pcm) == SND_PCM_STATE_RUNNING, "%s", snd_pcm_state_name(snd_pcm_state(pcm)));
    // A late program can catch up.
    available = snd_pcm_avail(pcm);
    CHECK(snd_pcm_forward(pcm, available) == available, "forward");
    CHECK(snd_pcm_delay(pcm, &delay) == 0 && delay <= 1280, "%ld", delay);
    snd_pcm_close(pcm);
}

static void runs_over(const char *name)
{
    const struct setup setup = telephone(name, SND_PCM_STREAM_CAPTURE, 0);
    snd_pcm_t *pcm = open_pcm(&setup);
    CHECK(snd_pcm_start(pcm) == 0, "start");
    pass_milliseconds(200);
    snd_pcm_sframes_t result = snd_pcm_readi(pcm, scratch, 320);
    CHECK(result == -EPIPE, "%ld", result);
    set_thresholds(pcm, true, 1);
    CHECK(snd_pcm_prepare(pcm) == 0, "prepare");
    memset(scratch, 1, sizeof scratch);
    CHECK(snd_pcm_readi(pcm, scratch, 320) == 320, "read");
    CHECK(memcmp(scratch, silence, 640) == 0, "not silent");
    snd_pcm_close(pcm);
}

static void pauses(const char *name)
{
    const struct setup setup = telephone(name, SND_PCM_STREAM_PLAYBACK, 0);
    snd_pcm_t *pcm = open_pcm(&setup);
    set_thresholds(pcm, true, 1);
    CHECK(snd_pcm_writei(pcm, silence, 1280) == 1280, "write");
    CHECK(snd_pcm_state(pcm) == SND_PCM_STATE_RUNNING, "%s", snd_pcm_state_name(snd_pcm_state(pcm)));
    CHECK(snd_pcm_pause(pcm, 1) == 0, "pause");
    snd_pcm_sframes_t before = snd_pcm_avail(pcm);
    pass_milliseconds(150);
    CHECK(snd_pcm_avail(pcm) == before, "moved while paused");
    CHECK(snd_pcm_pause(pcm, 0) == 0, "resume");
    CHECK(snd_pcm_wait(pcm, 10000) == 1, "wait");
    CHECK(snd_pcm_avail(pcm) >= 320, "%ld", snd_pcm_avail(pcm));
    CHECK(snd_pcm_drop(pcm) == 0, "drop");
    CHECK(snd_pcm_state(pcm) == SND_PCM_STATE_SETUP, "%s", snd_pcm_state_name(snd_pcm_state(pcm)));
    CHECK(snd_pcm_prepare(pcm) == 0, "prepare");
    CHECK(snd_pcm_avail(pcm) == 1280, "%ld", snd_pcm_avail(pcm));
    snd_pcm_close(pcm);
}

static void drains(const char *name)
{
    struct setup setup = telephone(name, SND_PCM_STREAM_PLAYBACK, 0);
    setup.buffer = 5120;
    snd_pcm_t *pcm = open_pcm(&setup);
    const double begin = now();
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    CHECK(snd_pcm_writei(pcm, silence, 4800) == 4800, "write");
    CHECK(snd_pcm_drain(pcm) == 0, "drain");
    getrusage(RUSAGE_SELF, &after);
    const double took = now() - begin;
    // Never early.
    CHECK(took > 0.29, "300 ms drained in %f s", took);
    const double used = after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_stime.tv_sec
        + (after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec - before.ru_stime.tv_usec) / 1e6;
    CHECK(getenv("SLOW") != NULL || used < 0.5 * took, "spins for %f of %f s", used, took);
    CHECK(snd_pcm_state(pcm) == SND_PCM_STATE_SETUP, "%s", snd_pcm_state_name(snd_pcm_state(pcm)));
    snd_pcm_close(pcm);
    // Without blocking, by poll.
    setup.mode = SND_PCM_NONBLOCK;
    pcm = open_pcm(&setup);
    CHECK(snd_pcm_writei(pcm, silence, 5120) == 5120, "write");
    CHECK(snd_pcm_writei(pcm, silence, 5120) == -EAGAIN, "a full buffer took more");
    int result, turns = 0;
    struct pollfd polled;
    snd_pcm_poll_descriptors(pcm, &polled, 1);
    while ((result = snd_pcm_drain(pcm)) == -EAGAIN && turns++ < 1000) {
        poll(&polled, 1, 1000);
        unsigned short events;
        snd_pcm_poll_descriptors_revents(pcm, &polled, 1, &events);
    }
    CHECK(result == 0, "%s", snd_strerror(result));
    CHECK(turns < 100, "%d turns for 320 ms", turns);
    snd_pcm_close(pcm);
}

static void maps(const char *name)
{
    struct setup setup = telephone(name, SND_PCM_STREAM_PLAYBACK, 0);
    setup.access = SND_PCM_ACCESS_MMAP_INTERLEAVED;
    snd_pcm_t *pcm = open_pcm(&setup);
    set_thresholds(pcm, true, 1);
    for (int round = 0; round < 10; round++)
        CHECK(snd_pcm_mmap_writei(pcm, silence, 320) == 320, "mapped write %d", round);
    CHECK(snd_pcm_rewind(pcm, 100) == 100, "rewind");
    CHECK(snd_pcm_mmap_writei(pcm, silence, 100) == 100, "after a rewind");
    snd_pcm_close(pcm);
    setup.stream = SND_PCM_STREAM_CAPTURE;
    pcm = open_pcm(&setup);
    set_thresholds(pcm, true, 1);
    for (int round = 0; round < 10; round++)
        CHECK(snd_pcm_mmap_readi(pcm, scratch, 320) == 320, "mapped read %d", round);
    snd_pcm_close(pcm);
}

static void forks(const char *name)
{
    const struct setup setup = telephone(name, SND_PCM_STREAM_CAPTURE, 0);
    snd_pcm_t *pcm = open_pcm(&setup);
    // A fork takes long under valgrind.
    set_thresholds(pcm, true, 1);
    CHECK(snd_pcm_readi(pcm, scratch, 320) == 320, "read");
    pid_t child = fork();
    if (child == 0) {
        snd_pcm_close(pcm);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0, "child: %d", status);
    for (int round = 0; round < 10; round++)
        CHECK(snd_pcm_readi(pcm, scratch, 320) == 320, "after the fork");
    snd_pcm_close(pcm);
}

struct asked {
    snd_pcm_t *pcm;
    bool over;
    long questions;
};

static void *ask(void *argument)
{
    struct asked *asked = argument;
    snd_pcm_status_t *status;
    snd_pcm_status_alloca(&status);
    while (!__atomic_load_n(&asked->over, __ATOMIC_SEQ_CST)) {
        snd_pcm_sframes_t delay;
        CHECK(snd_pcm_delay(asked->pcm, &delay) == 0 && delay >= 0, "%ld", delay);
        CHECK(snd_pcm_status(asked->pcm, status) == 0, "status");
        CHECK(snd_pcm_avail(asked->pcm) >= 0, "avail");
        asked->questions++;
        pass_milliseconds(1);
    }
    return NULL;
}

/// One thread plays, another reads the position.
static void is_shared(const char *name)
{
    const struct setup setup = telephone(name, SND_PCM_STREAM_PLAYBACK, 0);
    snd_pcm_t *pcm = open_pcm(&setup);
    set_thresholds(pcm, true, 1);
    struct asked asked = { .pcm = pcm };
    pthread_t thread;
    pthread_create(&thread, NULL, ask, &asked);
    for (int round = 0; round < 30; round++)
        CHECK(snd_pcm_writei(pcm, silence, 320) == 320, "write %d", round);
    __atomic_store_n(&asked.over, true, __ATOMIC_SEQ_CST);
    pthread_join(thread, NULL);
    CHECK(asked.questions > 0, "nothing was asked");
    snd_pcm_close(pcm);
}

static void semantics(const char *name)
{
    runs_dry(name);
    runs_over(name);
    pauses(name);
    drains(name);
    maps(name);
    forks(name);
    is_shared(name);
}

// MARK: opens

static int descriptors(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

static void opens(const char *name, int count)
{
    const struct setup setups[2]
        = { telephone(name, SND_PCM_STREAM_PLAYBACK, 0), telephone(name, SND_PCM_STREAM_CAPTURE, 0) };
    int first = 0;
    for (int round = 0; round <= count; round++) {
        snd_pcm_t *pcm = NULL;
        if (round % 4 < 2) {
            pcm = open_pcm(&setups[round % 2]);
            if (round % 2 == 0)
                CHECK(snd_pcm_writei(pcm, silence, 1280) == 1280, "write");
            else
                CHECK(snd_pcm_start(pcm) == 0, "start");
        } else {
            CHECK(snd_pcm_open(&pcm, name, setups[round % 2].stream, 0) == 0, "open");
        }
        CHECK(snd_pcm_close(pcm) == 0, "close");
        if (round == 0)
            first = descriptors();
    }
    CHECK(descriptors() == first, "%d descriptors became %d", first, descriptors());
}

// MARK: play and record

/// Acts like a softphone; no error is accepted.
static void carry_on(const char *name, bool plays, double seconds, const char *path)
{
    struct setup setup = telephone(name, plays ? SND_PCM_STREAM_PLAYBACK : SND_PCM_STREAM_CAPTURE, 0);
    setup.period = 640;
    setup.buffer = 16 * setup.period;
    snd_pcm_t *pcm = open_pcm(&setup);
    FILE *file = fopen(path, "w");
    if (pcm == NULL || file == NULL)
        return;
    // Like players, it starts when the buffer is full.
    snd_pcm_sw_params_t *parameters;
    snd_pcm_sw_params_alloca(&parameters);
    snd_pcm_sw_params_current(pcm, parameters);
    snd_pcm_sw_params_set_start_threshold(pcm, parameters, plays ? setup.buffer : 1);
    CHECK(snd_pcm_sw_params(pcm, parameters) == 0, "sw_params");
    int16_t ramp = 0;
    int64_t program = 0, last = 0;
    if (!plays)
        snd_pcm_start(pcm);
    double begin = now(), looked = begin;
    while (now() - begin < seconds) {
        for (snd_pcm_uframes_t frame = 0; plays && frame < setup.period; frame++)
            scratch[frame] = ramp = ramp == INT16_MAX ? 1 : ramp + 1;
        snd_pcm_sframes_t result
            = plays ? snd_pcm_writei(pcm, scratch, setup.period) : snd_pcm_readi(pcm, scratch, setup.period);
        CHECK(result == (snd_pcm_sframes_t)setup.period, "%s after %f s",
            result < 0 ? snd_strerror((int)result) : "too few", now() - begin);
        if (result < 0)
            break;
        program += result;
        if (!plays)
            fwrite(scratch, 2, setup.period, file);
        snd_pcm_sframes_t available, delay;
        CHECK(snd_pcm_avail_delay(pcm, &available, &delay) == 0, "avail_delay");
        looked = now();
        CHECK(delay >= 0, "%ld", delay);
        const int64_t position = plays ? program - (int64_t)setup.buffer + available : program + available;
        CHECK(position >= last, "back from %lld to %lld", (long long)last, (long long)position);
        last = position;
        if (plays) {
            // The clock counts from the first sample on.
            if (snd_pcm_state(pcm) == SND_PCM_STATE_PREPARED)
                begin = now();
            fprintf(file, "%.3f %lld %ld\n", now() - begin, (long long)position, delay);
            fflush(file);
        }
    }
    const double took = looked - begin;
    printf("%lld frames in %.3f s\n", (long long)last, took);
    // Steps of 10 ms at either end, and 1 % of the time.
    CHECK(llabs(last - (int64_t)(took * setup.rate)) <= 320 + took * setup.rate / 100, "%lld frames in %f s",
        (long long)last, took);
    fclose(file);
    snd_pcm_drop(pcm);
    snd_pcm_close(pcm);
}

// MARK: dates

/// A recorder like ffmpeg: reads available samples about every 10 ms, and dates them by the time and the delay.
static void date(const char *name, double seconds)
{
    struct setup setup = telephone(name, SND_PCM_STREAM_CAPTURE, SND_PCM_NONBLOCK);
    setup.buffer = 16 * setup.period;
    snd_pcm_t *pcm = open_pcm(&setup);
    if (pcm == NULL)
        return;
    snd_pcm_start(pcm);
    const double begin = now();
    double last = 0, after = begin;
    int read = 0;
    while (after - begin < seconds) {
        const snd_pcm_sframes_t result = snd_pcm_readi(pcm, scratch, setup.period);
        if (result == -EAGAIN) {
            pass_milliseconds(10);
            continue;
        }
        CHECK(result > 0, "%s", snd_strerror((int)result));
        read++;
        snd_pcm_sframes_t delay;
        // The delay belongs to a moment between the two.
        const double before = now();
        CHECK(snd_pcm_delay(pcm, &delay) == 0 && delay >= 0, "%ld", delay);
        after = now();
        const double behind = (double)(delay + result) / setup.rate;
        CHECK(after - behind > last, "after %f s: back by %f s", after - begin, last - after + behind);
        // A delay is a whole number of frames.
        last = before - behind - 1.0 / setup.rate;
    }
    CHECK(read > seconds * 20, "%d times", read);
    snd_pcm_drop(pcm);
    snd_pcm_close(pcm);
}

int main(int count, char **arguments)
{
    const char *verb = count > 2 ? arguments[1] : "";
    if (strcmp(verb, "matrix") == 0 && count <= 11) {
        int periods[8] = { 10, 20, 30, 60 };
        for (int index = 3; index < count; index++)
            periods[index - 3] = atoi(arguments[index]);
        matrix(arguments[2], periods, count > 3 ? count - 3 : 4);
    } else if (strcmp(verb, "semantics") == 0) {
        semantics(arguments[2]);
    } else if (strcmp(verb, "opens") == 0 && count == 4) {
        opens(arguments[2], atoi(arguments[3]));
    } else if ((strcmp(verb, "play") == 0 || strcmp(verb, "record") == 0) && count == 5) {
        carry_on(arguments[2], verb[0] == 'p', atof(arguments[3]), arguments[4]);
    } else if (strcmp(verb, "date") == 0 && count == 4) {
        date(arguments[2], atof(arguments[3]));
    } else {
        fprintf(stderr, "see the head of %s\n", __FILE__);
        return 2;
    }
    snd_config_update_free_global();
    return failures == 0 ? 0 : 1;
}
