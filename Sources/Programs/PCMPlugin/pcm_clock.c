// A stream's clock, either the daemon's or our own, and the timer that wakes its program.
#define _GNU_SOURCE
#include "pcm_stream.h"

#include <string.h>
#include <unistd.h>

// A daemon whose clock has not advanced for this time has stopped; the stream must continue.
#define STALL (300 * MILLISECOND)
// While the daemon is the clock, the interval for checking that it still is. The daemon wakes the program when it has to do
// anything, so more often would only cost time.
#define GUARD (STALL / 3)
// Shortest interval between checks of the connection in calls that do not come from a poll.
#define LOOK (5 * MILLISECOND)

// MARK: The clock

/// Advances `hardware` by our own clock, up to `now`. When taking over from the daemon, stops before the program would
/// underrun or overrun: time lost with the daemon is not the program's fault.
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
        stream_copy(stream, stream->hardware, NULL, frames > stream->ring_frames ? stream->ring_frames : (uint64_t)frames, true);
    stream->hardware += frames;
    __atomic_fetch_add(&stream->ring->hardware, frames, __ATOMIC_SEQ_CST);
}

/// Advances `age` like a steady clock, although `hardware` advances by steps of 10 ms that may be late and changes clocks. A
/// recorder that computes dates from time and delay must see them increase: a correction is at most a tenth of the elapsed
/// time. Steps are late and never early, so it follows the earliest of them.
static void grow_older(struct stream *stream, int64_t now, int64_t moved)
{
    const int64_t passed = now - stream->aged;
    stream->aged = now;
    // Slow enough for any sound card's clock.
    stream->age += passed - moved * SECOND / stream->io.rate - passed / 500;
    if (stream->age < 0)
        stream->age += -stream->age < passed / 10 ? -stream->age : passed / 10;
    // Time that was not captured, and never will be.
    if (moved > 0 && stream->age > 3 * TICK)
        stream->age = TICK;
}

static void follow_clock(struct stream *stream, int64_t now)
{
    bool alive = true;
    if (now - stream->looked >= LOOK)
        alive = stream_look(stream, now);
    if (!stream->running) {
        if (!alive)
            stream_lose(stream, RETRY);
        return;
    }
    const bool was_engaged = engaged(stream);
    const uint32_t engagement = __atomic_load_n(&stream->ring->engagement, __ATOMIC_SEQ_CST);
    const uint64_t hardware = __atomic_load_n(&stream->ring->hardware, __ATOMIC_SEQ_CST);
    const int64_t elapsed = now - stream->anchor, rate = stream->io.rate;
    int64_t moved = (int64_t)(hardware - stream->hardware);
    if (moved < 0 || moved > rate + elapsed / MILLISECOND * rate / 800) {
        // Backwards, or ahead by more than 1 s plus a quarter of the elapsed time: not a clock.
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
        stream_lose(stream, RETRY);
    if (!engaged(stream)) {
        advance(stream, now, was_engaged);
        return;
    }
    // From now on the daemon counts. A gap of less than two of its steps may be counted already.
    if (now - stream->anchor >= 2 * TICK)
        advance(stream, now, true);
    stream->anchor = now;
}

void stream_follow(struct stream *stream)
{
    if (stream->owner != getpid() || stream->own_samples == NULL)
        return;
    const int64_t now = btcall_now();
    const uint64_t before = stream->hardware;
    follow_clock(stream, now);
    if (stream->running)
        grow_older(stream, now, (int64_t)(stream->hardware - before));
}

/// Skips steps that a daemon made before it learnt of the stop: they do not belong to the newly prepared stream.
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
    stream_publish_application(stream);
}

void stream_run(struct stream *stream)
{
    if (stream->fresh)
        rebase(stream);
    stream->fresh = false;
    stream->running = true;
    stream->anchor = stream->aged = btcall_now();
    stream->age = 0;
    stream->engagement = __atomic_load_n(&stream->ring->engagement, __ATOMIC_SEQ_CST);
    stream_tell(stream, BTCALL_PCM_START);
}

void stream_halt(struct stream *stream)
{
    if (stream->running)
        stream_tell(stream, BTCALL_PCM_STOP);
    stream->running = false;
}

// MARK: Waking

unsigned short stream_events(const struct stream *stream)
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

void stream_arm(struct stream *stream)
{
    if (stream->owner != getpid())
        return;
    int64_t at = 0;
    if (stream_events(stream) != 0) {
        at = 1;
    } else if (stream->running) {
        const int64_t now = btcall_now();
        if (engaged(stream)) {
            at = now + GUARD;
            // The daemon wakes us; the timer is renewed only now and then.
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
