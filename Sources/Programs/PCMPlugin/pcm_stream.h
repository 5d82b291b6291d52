// One stream of the PCM: its ring, its connection to the daemon, its clock, and the timer that wakes its program. The
// callbacks (pcm_btcall.c) call these functions with the stream's lock held; closing is the last call and takes no lock.
#ifndef BTCALL_PCM_STREAM_H
#define BTCALL_PCM_STREAM_H

#include <alsa/asoundlib.h>
#include <alsa/pcm_external.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "connection.h"

/// Step of the positions, the same as the daemon's: clients wake at most 100 times a second.
#define TICK (10 * MILLISECOND)

enum connection { AWAY, GREETING, CONNECTED };

struct stream {
    snd_pcm_ioplug_t io;
    /// alsa-lib calls some callbacks with its own lock and some without.
    pthread_mutex_t mutex;
    /// A forked process has the same poll set and connection: it must not use them.
    pid_t owner;
    uint8_t role;
    char path[sizeof((struct sockaddr_un *)0)->sun_path];

    int set;
    int timer;
    /// Time to which the timer is set.
    int64_t armed;

    enum connection connection;
    int socket;
    int wakeup;
    /// Time of the next attempt to reach the daemon (away), or of the timeout for its answer (greeting).
    int64_t deadline;
    int64_t looked;
    bool told;
    void *mapping;
    size_t mapped;

    struct btcall_pcm_hello hello;
    unsigned frame_bytes;
    unsigned tick_frames;
    unsigned ring_frames;
    /// Used while there is no connection.
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
    /// The daemon's count of its turns as the clock, as last seen.
    uint32_t engagement;
    /// The time to which `hardware` belongs.
    int64_t anchor;
    /// Time since the last frame before `hardware` was captured, and the time of that statement.
    int64_t age;
    int64_t aged;
};

static inline bool plays(const struct stream *stream)
{
    return stream->io.stream == SND_PCM_STREAM_PLAYBACK;
}

static inline bool engaged(const struct stream *stream)
{
    return stream->connection == CONNECTED && (stream->engagement & 1) != 0;
}

/// Frames that the program may write or read.
static inline int64_t available(const struct stream *stream)
{
    return plays(stream) ? (int64_t)(stream->hardware + stream->io.buffer_size - stream->application)
                         : (int64_t)(stream->hardware - stream->application);
}

#pragma GCC visibility push(hidden)

// The ring (pcm_stream.c)

/// Publishes the program's position to the daemon.
void stream_publish_application(struct stream *stream);

/// Copies between the ring at `position` and the program's `frames`; without a program, writes silence into the ring.
void stream_copy(struct stream *stream, uint64_t position, uint8_t *program, uint64_t frames, bool into_ring);

/// Follows the program's pointer, which also moves without a callback (rewind, forward, commit of a mapped capture).
void stream_follow_application(struct stream *stream);

// The connection (pcm_stream.c)

/// Closes the connection; the next attempt to reach the daemon comes after `retry` nanoseconds.
void stream_hang_up(struct stream *stream, int64_t retry);

/// Continues with our own ring instead of the daemon's.
void stream_lose(struct stream *stream, int64_t retry);

/// Sends the daemon a message without arguments, if it is connected.
void stream_tell(struct stream *stream, uint32_t kind);

/// Connects to the daemon and sends the hello.
void stream_greet(struct stream *stream);

/// Checks the connection. Returns false when it has ended; the caller then calls `stream_lose`.
bool stream_look(struct stream *stream, int64_t now);

// The clock (pcm_clock.c)

/// Advances `hardware` to now, by either clock, and maintains the connection.
void stream_follow(struct stream *stream);

/// Starts the clock, and notifies the daemon.
void stream_run(struct stream *stream);

/// Stops the clock; positions stay.
void stream_halt(struct stream *stream);

// Waking (pcm_clock.c)

/// The events that a poll reports, as the kernel's PCMs do.
unsigned short stream_events(const struct stream *stream);

/// Sets the timer, so that the poll set is readable as long as there is an event to report.
void stream_arm(struct stream *stream);

#pragma GCC visibility pop

#endif
