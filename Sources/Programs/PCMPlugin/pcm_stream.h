// One stream of the PCM: its ring, its connection to the daemon, its clock, and the timer that wakes its program. The callbacks
// (pcm_btcall.c) call these with the stream's lock held; closing is the last call and takes no lock.
#ifndef BTCALL_PCM_STREAM_H
#define BTCALL_PCM_STREAM_H

#include <alsa/asoundlib.h>
#include <alsa/pcm_external.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "connection.h"

/// The positions move on by this much at a time, as the daemon's do: clients wake 100 times a second at most.
#define TICK (10 * MILLISECOND)

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

/// Shows the daemon how far the program is.
void stream_publish_application(struct stream *stream);

/// Copies between the ring at `position` and the program's `frames`; without a program: silence into the ring.
void stream_copy(struct stream *stream, uint64_t position, uint8_t *program, uint64_t frames, bool into_ring);

/// The program moves its pointer without a callback too (rewind, forward, commit of a mapped capture).
void stream_follow_application(struct stream *stream);

// The connection (pcm_stream.c)

/// Closes the connection; the daemon is looked for again after `retry` nanoseconds.
void stream_hang_up(struct stream *stream, int64_t retry);

/// Goes on with our own ring where the daemon's was.
void stream_lose(struct stream *stream, int64_t retry);

/// Sends the daemon a message without arguments, if it is connected.
void stream_tell(struct stream *stream, uint32_t kind);

/// Connects to the daemon and says hello.
void stream_greet(struct stream *stream);

/// Looks at the connection. Returns false when it is over; then `stream_lose` is due.
bool stream_look(struct stream *stream, int64_t now);

// The clock (pcm_clock.c)

/// Brings `hardware` up to now, whoever is the clock, and keeps the connection.
void stream_follow(struct stream *stream);

/// Starts the clock, and tells the daemon.
void stream_run(struct stream *stream);

/// Stops it; positions stay.
void stream_halt(struct stream *stream);

// Waking (pcm_clock.c)

/// What a poll reports, as the kernel's PCMs do.
unsigned short stream_events(const struct stream *stream);

/// Sets the timer, so that the poll set is readable when there is something to report and for as long as there is.
void stream_arm(struct stream *stream);

#pragma GCC visibility pop

#endif
