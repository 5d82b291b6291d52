// The PCM `btcall`: an ALSA I/O plug-in that never disappears. While the daemon carries the stream's audio, its ring and its
// clock are used; while it is away or does not use the stream, the plug-in is the clock, drops played audio and records
// silence. It has no thread: everything happens in the program's own calls, which a timer in the poll set triggers.
#define _GNU_SOURCE
#include <alsa/asoundlib.h>
#include <alsa/pcm_external.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pcm_stream.h"

/// Wake-ups read at once; the rest leave the poll set readable.
#define MAXIMUM_WAKE_UPS 64

/// A program's longest period, in frames of two channels in floating point: 60 ms at 48 kHz.
#define LONGEST_PERIOD 2880

// MARK: Callbacks

static struct stream *enter(snd_pcm_ioplug_t *io)
{
    struct stream *stream = io->private_data;
    pthread_mutex_lock(&stream->mutex);
    return stream;
}

static void leave(struct stream *stream)
{
    pthread_mutex_unlock(&stream->mutex);
}

static int btcall_start(snd_pcm_ioplug_t *io)
{
    struct stream *stream = enter(io);
    stream_follow_application(stream);
    stream_run(stream);
    // alsa-lib sets RUNNING after this.
    stream->armed = -1;
    btcall_set_timer(stream->timer, 1);
    leave(stream);
    return 0;
}

static int btcall_stop(snd_pcm_ioplug_t *io)
{
    struct stream *stream = enter(io);
    stream_halt(stream);
    stream->armed = -1;
    if (stream->owner == getpid())
        btcall_set_timer(stream->timer, 1);
    leave(stream);
    return 0;
}

static int btcall_pause(snd_pcm_ioplug_t *io, int enable)
{
    struct stream *stream = enter(io);
    stream_follow_application(stream);
    if (enable) {
        stream_follow(stream);
        stream_halt(stream);
    } else {
        stream_run(stream);
    }
    stream_arm(stream);
    leave(stream);
    return 0;
}

static snd_pcm_sframes_t btcall_pointer(snd_pcm_ioplug_t *io)
{
    struct stream *stream = enter(io);
    stream_follow_application(stream);
    stream_follow(stream);
    uint64_t position = stream->hardware - stream->base;
    snd_pcm_sframes_t result = 0;
    if (io->state == SND_PCM_STATE_XRUN)
        result = -EPIPE;
    else if (io->state == SND_PCM_STATE_DRAINING && plays(stream) && stream->hardware > stream->application)
        position = stream->application - stream->base;
    else if (io->state == SND_PCM_STATE_RUNNING && stream->stop_at < stream->boundary
        && available(stream) >= (int64_t)stream->stop_at) {
        stream_halt(stream);
        result = -EPIPE;
    }
    if (result == 0)
        result = (snd_pcm_sframes_t)(position % stream->boundary);
    leave(stream);
    return result;
}

static snd_pcm_sframes_t btcall_transfer(
    snd_pcm_ioplug_t *io, const snd_pcm_channel_area_t *areas, snd_pcm_uframes_t offset, snd_pcm_uframes_t size)
{
    struct stream *stream = enter(io);
    stream_follow_application(stream);
    uint8_t *program = (uint8_t *)areas->addr + areas->first / 8 + offset * stream->frame_bytes;
    stream_copy(stream, stream->application, program, size, plays(stream));
    // Anticipates alsa-lib's next step, so that the timer is right; a mapped capture that is not committed is corrected
    // later.
    stream->application += size;
    stream->application_pointer = (stream->application_pointer + size) % stream->boundary;
    stream_publish_application(stream);
    stream_arm(stream);
    leave(stream);
    return (snd_pcm_sframes_t)size;
}

static int btcall_delay(snd_pcm_ioplug_t *io, snd_pcm_sframes_t *delay)
{
    struct stream *stream = enter(io);
    int result = 0;
    if (io->state == SND_PCM_STATE_XRUN) {
        result = -EPIPE;
    } else {
        stream_follow_application(stream);
        stream_follow(stream);
        int64_t frames = plays(stream) ? (int64_t)(stream->application - stream->hardware) : available(stream);
        if (!plays(stream) && stream->running)
            frames += stream->age * io->rate / SECOND;
        if (frames < 0)
            frames = 0;
        if (engaged(stream)) {
            const uint32_t latency = __atomic_load_n(&stream->ring->latency, __ATOMIC_SEQ_CST);
            frames += latency < io->rate ? latency : io->rate;
        }
        *delay = frames;
    }
    leave(stream);
    return result;
}

static void release(struct stream *stream)
{
    stream_halt(stream);
    if (stream->owner == getpid()) {
        stream_hang_up(stream, 0);
    } else {
        if (stream->socket >= 0)
            close(stream->socket);
        if (stream->wakeup >= 0)
            close(stream->wakeup);
        if (stream->mapping != NULL)
            munmap(stream->mapping, stream->mapped);
        stream->socket = stream->wakeup = -1;
        stream->mapping = NULL;
    }
    stream->ring = &stream->own_ring;
    stream->samples = NULL;
    free(stream->own_samples);
    stream->own_samples = NULL;
}

static int btcall_hw_params(snd_pcm_ioplug_t *io, snd_pcm_hw_params_t *parameters)
{
    (void)parameters;
    struct stream *stream = enter(io);
    release(stream);
    int result = 0;
    const unsigned tick = io->rate / 100;
    stream->tick_frames = tick;
    stream->ring_frames = (unsigned)io->buffer_size;
    stream->frame_bytes = io->channels * (unsigned)snd_pcm_format_physical_width(io->format) / 8;
    if (io->buffer_size < 2 * tick || io->buffer_size > BTCALL_PCM_MAXIMUM_BUFFER) {
        SNDERR("btcall: a buffer of %lu frames; it has 20 ms (%u frames) at least and %u frames at most", io->buffer_size,
            2 * tick, BTCALL_PCM_MAXIMUM_BUFFER);
        result = -EINVAL;
    } else if ((stream->own_samples = calloc(stream->ring_frames, stream->frame_bytes)) == NULL) {
        result = -ENOMEM;
    } else {
        // How often the daemon wakes the program: not more often than a sound card would.
        unsigned period = (unsigned)io->period_size;
        if (period < tick)
            period = tick;
        if (period > stream->ring_frames / 2)
            period = stream->ring_frames / 2;
        btcall_begin_hello(&stream->hello);
        stream->hello.role = stream->role;
        stream->hello.direction = plays(stream) ? BTCALL_PCM_PLAYBACK : BTCALL_PCM_CAPTURE;
        stream->hello.format = io->format == SND_PCM_FORMAT_S16 ? BTCALL_PCM_S16 : BTCALL_PCM_F32;
        stream->hello.channels = (uint8_t)io->channels;
        stream->hello.rate = io->rate;
        stream->hello.period_frames = period;
        stream->hello.buffer_frames = stream->ring_frames;
        memset(&stream->own_ring, 0, sizeof stream->own_ring);
        stream->samples = stream->own_samples;
        stream->base = stream->hardware = stream->application = 0;
        stream->application_pointer = io->appl_ptr;
        // alsa-lib sets these immediately afterwards, by sw_params.
        stream->boundary = io->buffer_size;
        stream->wake_at = io->period_size;
        stream->stop_at = io->buffer_size;
        stream_greet(stream);
    }
    leave(stream);
    return result;
}

static int btcall_hw_free(snd_pcm_ioplug_t *io)
{
    struct stream *stream = enter(io);
    release(stream);
    leave(stream);
    return 0;
}

static int btcall_sw_params(snd_pcm_ioplug_t *io, snd_pcm_sw_params_t *parameters)
{
    struct stream *stream = enter(io);
    snd_pcm_sw_params_get_boundary(parameters, &stream->boundary);
    snd_pcm_sw_params_get_avail_min(parameters, &stream->wake_at);
    snd_pcm_sw_params_get_stop_threshold(parameters, &stream->stop_at);
    stream_arm(stream);
    leave(stream);
    return 0;
}

static int btcall_prepare(snd_pcm_ioplug_t *io)
{
    struct stream *stream = enter(io);
    stream_halt(stream);
    stream_follow(stream);
    const uint64_t hardware = __atomic_load_n(&stream->ring->hardware, __ATOMIC_SEQ_CST);
    if (hardware - stream->hardware <= io->rate)
        stream->hardware = hardware;
    stream->base = stream->application = stream->hardware;
    stream->application_pointer = io->appl_ptr;
    stream->fresh = true;
    stream_publish_application(stream);
    // alsa-lib sets PREPARED after this.
    stream->armed = -1;
    btcall_set_timer(stream->timer, 1);
    leave(stream);
    return 0;
}

static int btcall_poll_revents(snd_pcm_ioplug_t *io, struct pollfd *polled, unsigned count, unsigned short *reported)
{
    if (count != 1)
        return -EINVAL;
    struct stream *stream = enter(io);
    uint64_t step;
    if (stream->wakeup >= 0 && stream->owner == getpid())
        for (int left = MAXIMUM_WAKE_UPS; left > 0 && read(stream->wakeup, &step, sizeof step) > 0; left--)
            ;
    stream->looked = 0;
    leave(stream);
    // Also advances alsa-lib's own pointers, and may find an underrun or a finished drain.
    snd_pcm_avail_update(io->pcm);
    enter(io);
    *reported = stream_events(stream) | (polled->revents & (POLLERR | POLLNVAL));
    stream_arm(stream);
    leave(stream);
    return 0;
}

static void btcall_dump(snd_pcm_ioplug_t *io, snd_output_t *output)
{
    static const char *const roles[] = { "call", "ring", "page" };
    static const char *const connections[] = { "away", "asked", "there" };
    struct stream *stream = enter(io);
    snd_output_printf(output, "btcall PCM: role %s; the daemon at %s is %s%s\n", roles[stream->role], stream->path,
        connections[stream->connection], engaged(stream) ? " and carries the audio" : "");
    leave(stream);
    snd_pcm_dump_setup(io->pcm, output);
}

static int btcall_close(snd_pcm_ioplug_t *io)
{
    struct stream *stream = io->private_data;
    release(stream);
    close(stream->timer);
    close(stream->set);
    pthread_mutex_destroy(&stream->mutex);
    free(stream);
    return 0;
}

static const snd_pcm_ioplug_callback_t callbacks = {
    .start = btcall_start,
    .stop = btcall_stop,
    .pointer = btcall_pointer,
    .transfer = btcall_transfer,
    .close = btcall_close,
    .hw_params = btcall_hw_params,
    .hw_free = btcall_hw_free,
    .sw_params = btcall_sw_params,
    .prepare = btcall_prepare,
    .pause = btcall_pause,
    .poll_revents = btcall_poll_revents,
    .dump = btcall_dump,
    .delay = btcall_delay,
};

// MARK: Opening

static int constrain(snd_pcm_ioplug_t *io)
{
    static const unsigned accesses[] = { SND_PCM_ACCESS_RW_INTERLEAVED, SND_PCM_ACCESS_MMAP_INTERLEAVED };
    static const unsigned formats[] = { SND_PCM_FORMAT_S16, SND_PCM_FORMAT_FLOAT };
    static const unsigned channels[] = { 1, 2 };
    static const unsigned rates[] = { 8000, 16000, 24000, 32000, 44100, 48000 };
    int result;
    // alsa-lib limits bytes only: from 10 ms at 8 kHz to 60 ms at 48 kHz, and the size of 48000 frames of one channel in
    // S16.
    if ((result = snd_pcm_ioplug_set_param_list(io, SND_PCM_IOPLUG_HW_ACCESS, 2, accesses)) < 0
        || (result = snd_pcm_ioplug_set_param_list(io, SND_PCM_IOPLUG_HW_FORMAT, 2, formats)) < 0
        || (result = snd_pcm_ioplug_set_param_list(io, SND_PCM_IOPLUG_HW_CHANNELS, 2, channels)) < 0
        || (result = snd_pcm_ioplug_set_param_list(io, SND_PCM_IOPLUG_HW_RATE, 6, rates)) < 0
        || (result = snd_pcm_ioplug_set_param_minmax(io, SND_PCM_IOPLUG_HW_PERIODS, 2, 16)) < 0
        || (result = snd_pcm_ioplug_set_param_minmax(io, SND_PCM_IOPLUG_HW_PERIOD_BYTES, 160, 8 * LONGEST_PERIOD)) < 0
        || (result = snd_pcm_ioplug_set_param_minmax(io, SND_PCM_IOPLUG_HW_BUFFER_BYTES, 320, 2 * BTCALL_PCM_MAXIMUM_BUFFER)) < 0)
        return result;
    return 0;
}

static int read_role(snd_config_t *node, uint8_t *role)
{
    const char *value;
    if (snd_config_get_string(node, &value) < 0)
        value = "";
    if (strcmp(value, "call") == 0)
        *role = BTCALL_PCM_CALL;
    else if (strcmp(value, "ring") == 0)
        *role = BTCALL_PCM_RING;
    else if (strcmp(value, "page") == 0)
        *role = BTCALL_PCM_PAGE;
    else {
        SNDERR("btcall: '%s' is no role: call, ring or page", value);
        return -EINVAL;
    }
    return 0;
}

SND_PCM_PLUGIN_DEFINE_FUNC(btcall)
{
    (void)root;
    struct stream *made = calloc(1, sizeof *made);
    if (made == NULL)
        return -ENOMEM;
    snd_config_t *role = NULL;
    int result = btcall_read_settings(conf, made->path, sizeof made->path, &role);
    if (result == 0 && role != NULL)
        result = read_role(role, &made->role);
    if (result == 0 && stream == SND_PCM_STREAM_CAPTURE && made->role != BTCALL_PCM_CALL) {
        SNDERR("btcall: only btcall:call can be recorded from");
        result = -EINVAL;
    }
    if (result < 0 || (result = btcall_open_poll(&made->set, &made->timer)) < 0) {
        free(made);
        return result;
    }
    pthread_mutex_init(&made->mutex, NULL);
    made->owner = getpid();
    made->socket = made->wakeup = -1;
    made->ring = &made->own_ring;
    made->boundary = 1;
    made->io.version = SND_PCM_IOPLUG_VERSION;
    made->io.name = "btcall";
    made->io.flags = SND_PCM_IOPLUG_FLAG_LISTED | SND_PCM_IOPLUG_FLAG_MONOTONIC | SND_PCM_IOPLUG_FLAG_BOUNDARY_WA;
    made->io.poll_fd = made->set;
    made->io.poll_events = POLLIN;
    made->io.callback = &callbacks;
    made->io.private_data = made;
    result = snd_pcm_ioplug_create(&made->io, name, stream, mode);
    if (result < 0) {
        btcall_close(&made->io);
        return result;
    }
    result = constrain(&made->io);
    if (result < 0) {
        // Calls the callback that frees everything.
        snd_pcm_ioplug_delete(&made->io);
        return result;
    }
    *pcmp = made->io.pcm;
    return 0;
}

SND_PCM_PLUGIN_SYMBOL(btcall);
