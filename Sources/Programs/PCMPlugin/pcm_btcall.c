// The PCM `btcall`: an ALSA I/O plug-in that never vanishes. While the daemon carries the stream's audio, its ring and its clock
// are used; while it is away or has nothing to do with the stream, the plug-in is the clock, drops what is played and records
// silence. It has no thread: all of it happens in the program's own calls, and a timer in the poll set brings those about.
#define _GNU_SOURCE
#include <alsa/asoundlib.h>
#include <alsa/pcm_external.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "connection.h"

// The positions move on by this much at a time, as the daemon's do: clients wake 100 times a second at most.
#define TICK (10 * MILLISECOND)
// A daemon that is the clock and does not move on for so long has stopped; the stream must not.
#define STALL (300 * MILLISECOND)
// While the daemon is the clock, how soon we look whether it still is.
#define GUARD (30 * MILLISECOND)
// Between two looks at the connection by calls that do not come from a poll.
#define LOOK (5 * MILLISECOND)
#define MAXIMUM_MAPPING (1u << 24)
/// Read at once; more of them leave the poll set readable.
#define MAXIMUM_WAKE_UPS 64

enum connection { AWAY, GREETING, CONNECTED };

struct stream {
    snd_pcm_ioplug_t io;
    /// alsa-lib calls some of the callbacks with its own lock and some without.
    pthread_mutex_t mutex;
    /// A forked process has the same poll set and connection: it leaves them alone.
    pid_t owner;
    uint8_t role;
    char path[sizeof((struct sockaddr_un *)0)->sun_path];

    int set;
    int timer;
    /// What the timer is set to.
    int64_t armed;

    enum connection connection;
    int socket;
    int wakeup;
    /// When to look for the daemon again (away), or to give up waiting for its answer (greeting).
    int64_t deadline;
    int64_t looked;
    bool told;
    void *mapping;
    size_t mapped;

    struct btcall_pcm_hello hello;
    unsigned frame_bytes;
    unsigned tick_frames;
    unsigned ring_frames;
    /// What is used while there is no connection.
    struct btcall_pcm_ring own_ring;
    uint8_t *own_samples;
    /// Ours or the daemon's.
    struct btcall_pcm_ring *ring;
    uint8_t *samples;

    /// Positions of the ring: where the stream was prepared, and the two ends as last seen.
    uint64_t base;
    uint64_t hardware;
    uint64_t application;
    snd_pcm_uframes_t application_pointer;
    snd_pcm_uframes_t boundary;
    snd_pcm_uframes_t wake_at;
    snd_pcm_uframes_t stop_at;

    bool running;
    /// The stream has not run since it was prepared.
    bool fresh;
    /// The daemon's count of turns when we last looked.
    uint32_t engagement;
    /// The time for which `hardware` is right.
    int64_t anchor;
    /// How long ago the last frame before `hardware` was captured, and when that was said.
    int64_t age;
    int64_t aged;
};

static bool plays(const struct stream *stream)
{
    return stream->io.stream == SND_PCM_STREAM_PLAYBACK;
}

static bool engaged(const struct stream *stream)
{
    return stream->connection == CONNECTED && (stream->engagement & 1) != 0;
}

/// Frames that the program may write or read.
static int64_t available(const struct stream *stream)
{
    return plays(stream) ? (int64_t)(stream->hardware + stream->io.buffer_size - stream->application)
                         : (int64_t)(stream->hardware - stream->application);
}

// MARK: The ring

static void publish_application(struct stream *stream)
{
    __atomic_store_n(&stream->ring->application, stream->application, __ATOMIC_SEQ_CST);
}

/// Copies between the ring at `position` and the program's `frames`; without a program: silence into the ring.
static void copy(struct stream *stream, uint64_t position, uint8_t *program, uint64_t frames, bool into_ring)
{
    const unsigned size = stream->frame_bytes;
    while (frames > 0) {
        uint64_t index = position % stream->ring_frames;
        uint64_t part = stream->ring_frames - index;
        if (part > frames)
            part = frames;
        uint8_t *place = stream->samples + index * size;
        if (program == NULL)
            memset(place, 0, part * size);
        else if (into_ring)
            memcpy(place, program, part * size);
        else
            memcpy(program, place, part * size);
        if (program != NULL)
            program += part * size;
        position += part;
        frames -= part;
    }
}

/// The program moves its pointer without a callback too (rewind, forward, commit of a mapped capture).
static void follow_application(struct stream *stream)
{
    const snd_pcm_uframes_t pointer = stream->io.appl_ptr, boundary = stream->boundary;
    if (pointer == stream->application_pointer)
        return;
    snd_pcm_uframes_t step = pointer >= stream->application_pointer
        ? pointer - stream->application_pointer
        : pointer + (boundary - stream->application_pointer);
    if (step > boundary / 2)
        stream->application -= boundary - step;
    else
        stream->application += step;
    stream->application_pointer = pointer;
    publish_application(stream);
}

// MARK: The connection

static void hang_up(struct stream *stream, int64_t retry)
{
    btcall_close_watched(stream->set, &stream->socket);
    btcall_close_watched(stream->set, &stream->wakeup);
    if (stream->mapping != NULL)
        munmap(stream->mapping, stream->mapped);
    stream->mapping = NULL;
    stream->connection = AWAY;
    stream->deadline = btcall_now() + retry;
}

/// Goes on with our own ring where the daemon's was.
static void lose(struct stream *stream, int64_t retry)
{
    if (stream->connection == CONNECTED) {
        memcpy(stream->own_samples, stream->samples, (size_t)stream->ring_frames * stream->frame_bytes);
        memset(&stream->own_ring, 0, sizeof stream->own_ring);
        stream->own_ring.hardware = stream->hardware;
        stream->own_ring.application = stream->application;
        stream->ring = &stream->own_ring;
        stream->samples = stream->own_samples;
        stream->engagement = 0;
    }
    hang_up(stream, retry);
}

static void tell(struct stream *stream, uint32_t kind)
{
    if (stream->connection == CONNECTED && stream->owner == getpid()
        && btcall_send_message(stream->socket, kind, 0, 0) < 0)
        lose(stream, RETRY);
}

static void greet(struct stream *stream)
{
    stream->socket = btcall_connect(stream->path, &stream->hello);
    if (stream->socket < 0) {
        if (!stream->told)
            stream->told = btcall_explain(stream->path, stream->socket);
        hang_up(stream, RETRY);
    } else if (btcall_watch(stream->set, stream->socket) < 0) {
        hang_up(stream, RETRY);
    } else {
        stream->connection = GREETING;
        stream->deadline = btcall_now() + PATIENCE;
    }
}

/// Maps the daemon's ring. It must not be able to shrink under us, for that would be a SIGBUS.
static bool map(struct stream *stream, const struct btcall_pcm_answer *answer, int memory)
{
    const uint64_t samples = (uint64_t)stream->ring_frames * stream->frame_bytes;
    struct stat status;
    int seals = fcntl(memory, F_GET_SEALS);
    if (answer->samples_offset < sizeof(struct btcall_pcm_ring) || answer->samples_offset % 8 != 0
        || answer->samples_offset + samples > answer->bytes || answer->bytes > MAXIMUM_MAPPING
        || seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(memory, &status) < 0
        || status.st_size < (off_t)answer->bytes)
        return false;
    void *mapping = mmap(NULL, answer->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (mapping == MAP_FAILED)
        return false;
    stream->mapping = mapping;
    stream->mapped = answer->bytes;
    return true;
}

static void adopt(struct stream *stream, const struct btcall_pcm_answer *answer, const int descriptors[2])
{
    stream->wakeup = descriptors[1];
    const char *problem = NULL;
    if (answer->error != 0)
        problem = answer->reason[0] != '\0' ? answer->reason : snd_strerror(answer->error < 0 ? -EPROTO : -answer->error);
    else if (descriptors[0] < 0 || descriptors[1] < 0 || !map(stream, answer, descriptors[0])
        || fcntl(stream->wakeup, F_SETFL, O_NONBLOCK) < 0 || btcall_watch(stream->set, stream->wakeup) < 0)
        problem = "its answer makes no sense; are daemon and plug-in of the same version?";
    if (descriptors[0] >= 0)
        close(descriptors[0]);
    if (problem != NULL) {
        if (!stream->told)
            SNDERR("btcall: the daemon at %s refuses this stream: %s", stream->path, problem);
        stream->told = true;
        hang_up(stream, RETRY_REFUSED);
        return;
    }
    stream->ring = stream->mapping;
    stream->samples = (uint8_t *)stream->mapping + answer->samples_offset;
    memcpy(stream->samples, stream->own_samples, (size_t)stream->ring_frames * stream->frame_bytes);
    __atomic_store_n(&stream->ring->hardware, stream->hardware, __ATOMIC_SEQ_CST);
    publish_application(stream);
    stream->connection = CONNECTED;
    stream->engagement = 0;
    if (stream->running)
        tell(stream, BTCALL_PCM_START);
}

/// Looks at the connection. Returns false when it is over; then `lose` is due.
static bool look(struct stream *stream, int64_t now)
{
    stream->looked = now;
    if (stream->connection == AWAY) {
        if (now >= stream->deadline)
            greet(stream);
    }
    if (stream->connection == GREETING) {
        struct btcall_pcm_answer answer;
        int descriptors[2];
        int result = btcall_take_answer(stream->socket, &answer, descriptors);
        if (result > 0) {
            adopt(stream, &answer, descriptors);
        } else if (result == -EPROTO) {
            if (!stream->told)
                SNDERR("btcall: %s is not answered by a btcall daemon of this version", stream->path);
            stream->told = true;
            hang_up(stream, RETRY_REFUSED);
        } else if (result < 0 || now >= stream->deadline) {
            hang_up(stream, RETRY);
        }
        return true;
    }
    // The daemon has nothing to say here; what a later version says is read and left.
    struct btcall_pcm_message message;
    int result = 1;
    for (int count = 0; stream->connection == CONNECTED && result > 0 && count < 16; count++)
        result = btcall_take_message(stream->socket, &message);
    return result >= 0;
}

// MARK: The clock

/// Moves `hardware` on by our own clock, up to `now`. After the daemon was the clock it ends before the program would run dry
/// or over: what was lost in the daemon's going is not the program's fault.
static void advance(struct stream *stream, int64_t now, bool gently)
{
    const int64_t ticks = (now - stream->anchor) / TICK;
    if (ticks <= 0)
        return;
    stream->anchor += ticks * TICK;
    int64_t frames = ticks * stream->tick_frames;
    if (gently && stream->stop_at < stream->boundary) {
        const int64_t room = (int64_t)stream->stop_at - available(stream) - stream->tick_frames;
        if (frames > room)
            frames = room > 0 ? room : 0;
    }
    if (!plays(stream))
        copy(stream, stream->hardware, NULL, frames > stream->ring_frames ? stream->ring_frames : (uint64_t)frames, true);
    stream->hardware += frames;
    __atomic_fetch_add(&stream->ring->hardware, frames, __ATOMIC_SEQ_CST);
}

/// Goes on with `age`, as a steady clock has it, where `hardware` goes by steps of 10 ms that may be late, and changes clocks.
/// A recorder that dates what it reads by the time and the delay has to find that dates go forward: they are put back by a
/// tenth of what passes at most. Steps are late and never early, so it keeps to the earliest of them.
static void grow_older(struct stream *stream, int64_t now, int64_t moved)
{
    const int64_t passed = now - stream->aged;
    stream->aged = now;
    // Slow enough for any sound card's clock.
    stream->age += passed - moved * SECOND / stream->io.rate - passed / 500;
    if (stream->age < 0)
        stream->age += -stream->age < passed / 10 ? -stream->age : passed / 10;
    // Time that nobody captured, and that nobody will bring after.
    if (moved > 0 && stream->age > 3 * TICK)
        stream->age = TICK;
}

static void follow_clock(struct stream *stream, int64_t now)
{
    bool alive = true;
    if (now - stream->looked >= LOOK)
        alive = look(stream, now);
    if (!stream->running) {
        if (!alive)
            lose(stream, RETRY);
        return;
    }
    const bool was_engaged = engaged(stream);
    const uint32_t engagement = __atomic_load_n(&stream->ring->engagement, __ATOMIC_SEQ_CST);
    const uint64_t hardware = __atomic_load_n(&stream->ring->hardware, __ATOMIC_SEQ_CST);
    const int64_t elapsed = now - stream->anchor, rate = stream->io.rate;
    int64_t moved = (int64_t)(hardware - stream->hardware);
    if (moved < 0 || moved > rate + elapsed / MILLISECOND * rate / 800) {
        // Back, or a second and a quarter of the time too far ahead: not a clock.
        moved = 0;
        alive = false;
    }
    stream->hardware += moved;
    if (alive && was_engaged && engagement == stream->engagement) {
        if (moved > 0)
            stream->anchor = now;
        if (now - stream->anchor < STALL)
            return;
        stream->anchor = now - TICK;
        alive = false;
    } else {
        stream->anchor += moved * SECOND / rate;
        if (stream->anchor > now)
            stream->anchor = now;
    }
    if (alive)
        stream->engagement = engagement;
    else
        lose(stream, RETRY);
    if (!engaged(stream)) {
        advance(stream, now, was_engaged);
        return;
    }
    // From now on the daemon counts. What is less than two of its steps may be counted by it already.
    if (now - stream->anchor >= 2 * TICK)
        advance(stream, now, true);
    stream->anchor = now;
}

/// Brings `hardware` up to now, whoever is the clock, and keeps the connection.
static void follow(struct stream *stream)
{
    if (stream->owner != getpid() || stream->own_samples == NULL)
        return;
    const int64_t now = btcall_now();
    const uint64_t before = stream->hardware;
    follow_clock(stream, now);
    if (stream->running)
        grow_older(stream, now, (int64_t)(stream->hardware - before));
}

/// Steps of a daemon that had not heard of the stop yet are no part of a stream that was prepared since.
static void rebase(struct stream *stream)
{
    const uint64_t late = __atomic_load_n(&stream->ring->hardware, __ATOMIC_SEQ_CST) - stream->hardware;
    if (late == 0 || late > stream->io.rate)
        return;
    for (uint64_t position = stream->application; position > stream->base; position--)
        memcpy(stream->samples + (position - 1 + late) % stream->ring_frames * stream->frame_bytes,
            stream->samples + (position - 1) % stream->ring_frames * stream->frame_bytes, stream->frame_bytes);
    stream->base += late;
    stream->hardware += late;
    stream->application += late;
    publish_application(stream);
}

static void run(struct stream *stream)
{
    if (stream->fresh)
        rebase(stream);
    stream->fresh = false;
    stream->running = true;
    stream->anchor = stream->aged = btcall_now();
    stream->age = 0;
    stream->engagement = __atomic_load_n(&stream->ring->engagement, __ATOMIC_SEQ_CST);
    tell(stream, BTCALL_PCM_START);
}

static void halt(struct stream *stream)
{
    if (stream->running)
        tell(stream, BTCALL_PCM_STOP);
    stream->running = false;
}

// MARK: Waking

/// What a poll reports, as the kernel's PCMs do.
static unsigned short events(const struct stream *stream)
{
    const unsigned short mask = plays(stream) ? POLLOUT : POLLIN;
    switch (stream->io.state) {
    case SND_PCM_STATE_PREPARED:
    case SND_PCM_STATE_RUNNING:
    case SND_PCM_STATE_PAUSED:
        return available(stream) >= (int64_t)stream->wake_at ? mask : 0;
    case SND_PCM_STATE_DRAINING:
        if (plays(stream))
            return 0;
        return available(stream) > 0 ? mask : mask | POLLERR;
    default:
        return mask | POLLERR;
    }
}

/// Sets the timer, so that the poll set is readable when there is something to report and for as long as there is.
static void arm(struct stream *stream)
{
    if (stream->owner != getpid())
        return;
    int64_t at = 0;
    if (events(stream) != 0) {
        at = 1;
    } else if (stream->running) {
        const int64_t now = btcall_now();
        if (engaged(stream)) {
            at = now + GUARD;
            // The daemon wakes us; the timer is set anew only now and then.
            if (stream->armed > now + GUARD / 2 && stream->armed < at)
                at = stream->armed;
        } else {
            snd_pcm_uframes_t goal = stream->wake_at < stream->stop_at ? stream->wake_at : stream->stop_at;
            if (stream->io.state == SND_PCM_STATE_DRAINING || goal > stream->io.buffer_size)
                goal = stream->io.buffer_size;
            const int64_t frames = (int64_t)goal - available(stream);
            const int64_t ticks = (frames + stream->tick_frames - 1) / stream->tick_frames;
            at = stream->anchor + (ticks > 1 ? ticks : 1) * TICK;
            if (stream->connection != CONNECTED && stream->deadline < at)
                at = stream->deadline;
            if (at <= now)
                at = now + MILLISECOND;
        }
    }
    if (at == stream->armed)
        return;
    btcall_set_timer(stream->timer, at);
    stream->armed = at;
}

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
    follow_application(stream);
    run(stream);
    // alsa-lib says RUNNING after this.
    stream->armed = -1;
    btcall_set_timer(stream->timer, 1);
    leave(stream);
    return 0;
}

static int btcall_stop(snd_pcm_ioplug_t *io)
{
    struct stream *stream = enter(io);
    halt(stream);
    stream->armed = -1;
    if (stream->owner == getpid())
        btcall_set_timer(stream->timer, 1);
    leave(stream);
    return 0;
}

static int btcall_pause(snd_pcm_ioplug_t *io, int enable)
{
    struct stream *stream = enter(io);
    follow_application(stream);
    if (enable) {
        follow(stream);
        halt(stream);
    } else {
        run(stream);
    }
    arm(stream);
    leave(stream);
    return 0;
}

static snd_pcm_sframes_t btcall_pointer(snd_pcm_ioplug_t *io)
{
    struct stream *stream = enter(io);
    follow_application(stream);
    follow(stream);
    uint64_t position = stream->hardware - stream->base;
    snd_pcm_sframes_t result = 0;
    if (io->state == SND_PCM_STATE_XRUN)
        result = -EPIPE;
    else if (io->state == SND_PCM_STATE_DRAINING && plays(stream) && stream->hardware > stream->application)
        position = stream->application - stream->base;
    else if (io->state == SND_PCM_STATE_RUNNING && stream->stop_at < stream->boundary
        && available(stream) >= (int64_t)stream->stop_at) {
        halt(stream);
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
    follow_application(stream);
    uint8_t *program = (uint8_t *)areas->addr + areas->first / 8 + offset * stream->frame_bytes;
    copy(stream, stream->application, program, size, plays(stream));
    // What alsa-lib does next, so that the timer is right; a mapped capture that is not committed is corrected later.
    stream->application += size;
    stream->application_pointer = (stream->application_pointer + size) % stream->boundary;
    publish_application(stream);
    arm(stream);
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
        follow_application(stream);
        follow(stream);
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
    halt(stream);
    if (stream->owner == getpid()) {
        hang_up(stream, 0);
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
        // To the daemon a period is 10 to 60 ms; what the program calls one decides only when it is woken.
        unsigned period = (unsigned)io->period_size;
        if (period < tick)
            period = tick;
        if (period > 6 * tick)
            period = 6 * tick;
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
        // alsa-lib sets these right after, by sw_params.
        stream->boundary = io->buffer_size;
        stream->wake_at = io->period_size;
        stream->stop_at = io->buffer_size;
        greet(stream);
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
    arm(stream);
    leave(stream);
    return 0;
}

static int btcall_prepare(snd_pcm_ioplug_t *io)
{
    struct stream *stream = enter(io);
    halt(stream);
    follow(stream);
    const uint64_t hardware = __atomic_load_n(&stream->ring->hardware, __ATOMIC_SEQ_CST);
    if (hardware - stream->hardware <= io->rate)
        stream->hardware = hardware;
    stream->base = stream->application = stream->hardware;
    stream->application_pointer = io->appl_ptr;
    stream->fresh = true;
    publish_application(stream);
    // alsa-lib says PREPARED after this.
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
    // Moves alsa-lib's own pointers on as well, and may find that the stream ran dry or is drained.
    snd_pcm_avail_update(io->pcm);
    enter(io);
    *reported = events(stream) | (polled->revents & (POLLERR | POLLNVAL));
    arm(stream);
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
    // alsa-lib bounds bytes only: from 10 ms at 8 kHz to 60 ms at 48 kHz, and what is 48000 frames of one channel in S16.
    if ((result = snd_pcm_ioplug_set_param_list(io, SND_PCM_IOPLUG_HW_ACCESS, 2, accesses)) < 0
        || (result = snd_pcm_ioplug_set_param_list(io, SND_PCM_IOPLUG_HW_FORMAT, 2, formats)) < 0
        || (result = snd_pcm_ioplug_set_param_list(io, SND_PCM_IOPLUG_HW_CHANNELS, 2, channels)) < 0
        || (result = snd_pcm_ioplug_set_param_list(io, SND_PCM_IOPLUG_HW_RATE, 6, rates)) < 0
        || (result = snd_pcm_ioplug_set_param_minmax(io, SND_PCM_IOPLUG_HW_PERIODS, 2, 16)) < 0
        || (result = snd_pcm_ioplug_set_param_minmax(io, SND_PCM_IOPLUG_HW_PERIOD_BYTES, 160, 8 * BTCALL_PCM_MAXIMUM_PERIOD)) < 0
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
        // Calls the callback that frees it all.
        snd_pcm_ioplug_delete(&made->io);
        return result;
    }
    *pcmp = made->io.pcm;
    return 0;
}

SND_PCM_PLUGIN_SYMBOL(btcall);
