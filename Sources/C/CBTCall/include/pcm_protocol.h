/// Protocol between the ALSA plug-in and the daemon: one SOCK_SEQPACKET connection to `BTCALL_PCM_SOCKET` for each open
/// stream. The client sends `btcall_pcm_hello`; the daemon answers `btcall_pcm_answer` with two descriptors (SCM_RIGHTS): a
/// sealed memfd that holds a `btcall_pcm_ring`, and a socket to which it sends 8 bytes to wake the client, which the client
/// reads until it is empty. From then on samples and positions are in the memfd; the connection carries only
/// `btcall_pcm_message`.
///
/// The daemon wakes a client that records after each advance. It wakes a client that plays when `period_frames` have been
/// played since the last time, as soon as `period_frames` can be written, and after each advance while nothing is left to
/// play. It wakes both when `engagement` changes. Positions advance in between, too.
///
/// The clock is the side that moves `hardware` on. While `engagement` is odd it is the daemon, 10 ms at a time; of playback
/// with a longer period, up to 30 ms at once, never more than a period or a quarter of the buffer. While it is even, and
/// when the connection is down, it is the client, by the monotonic clock: it drops what is played and reads silence. Both
/// add to `hardware` and never set it once the stream has started, so it never goes back.
///
/// After a lost connection the client sends a new hello, fills in `hardware`, `application` and the samples that are still
/// to be played, and sends `start` if it was running.
///
/// All numbers are in the machine's byte order. Each side checks received data and closes the connection on invalid data.
#ifndef BTCALL_PCM_PROTOCOL_H
#define BTCALL_PCM_PROTOCOL_H

#include <stdint.h>

#define BTCALL_PCM_SOCKET "/run/btcall/pcm.sock"
#define BTCALL_PCM_MAGIC 0x4d435042u
#define BTCALL_PCM_VERSION 1u
/// A period is 10 ms at least; the buffer has at least two.
#define BTCALL_PCM_MAXIMUM_PERIOD 24000u
#define BTCALL_PCM_MAXIMUM_BUFFER 48000u
#define BTCALL_PCM_MAXIMUM_CHANNELS 2u

enum btcall_pcm_role {
    BTCALL_PCM_CALL = 0,
    BTCALL_PCM_RING = 1,
    BTCALL_PCM_PAGE = 2,
    /// No samples: volumes only, for the control plug-in. The answer carries no descriptors.
    BTCALL_PCM_CONTROL = 3,
};

enum btcall_pcm_direction {
    BTCALL_PCM_PLAYBACK = 0,
    /// Role `call` only.
    BTCALL_PCM_CAPTURE = 1,
};

enum btcall_pcm_format {
    BTCALL_PCM_S16 = 0,
    BTCALL_PCM_F32 = 1,
};

struct btcall_pcm_hello {
    uint32_t magic;
    uint32_t version;
    uint8_t role;
    uint8_t direction;
    uint8_t format;
    /// 1 or 2, interleaved.
    uint8_t channels;
    /// Sample rate in Hz: 8000, 16000, 24000, 32000, 44100 or 48000.
    uint32_t rate;
    /// In frames; the ring has `buffer_frames`. How often a client that plays is woken.
    uint32_t period_frames;
    uint32_t buffer_frames;
    /// The program's name, for messages to people; ends with a zero.
    char program[32];
};

struct btcall_pcm_answer {
    uint32_t magic;
    uint32_t version;
    /// 0, or an errno, after which the connection is closed.
    int32_t error;
    /// Size of the memfd, and offset of the samples in it: frame `n` of the stream is at `n % buffer_frames`.
    uint32_t bytes;
    uint32_t samples_offset;
    /// Why it was refused and what is accepted; ends with a zero.
    char reason[112];
};

/// At the beginning of the memfd. Both sides access it with the `__atomic` builtins only, sequentially consistent.
struct btcall_pcm_ring {
    /// Frames already played or captured. Both sides add to it; see above.
    uint64_t hardware;
    /// Frames that the client has written (playback) or read (capture).
    uint64_t application;
    /// Odd: the daemon is the clock. Incremented at each change.
    uint32_t engagement;
    /// Delay in frames between the ring and the ear, or the mouth and the ring, as well as it is known.
    uint32_t latency;
    /// Missing frames when they were due (playback), since the stream began. For people.
    uint64_t missing;
};

enum btcall_pcm_message_kind {
    /// Client: the stream has started or stopped (drop, pause, drained).
    BTCALL_PCM_START = 1,
    BTCALL_PCM_STOP = 2,
    /// Both, role `control`: `element` has `value`. The daemon sends all elements after the answer, and each one that
    /// changes.
    BTCALL_PCM_VALUE = 3,
};

enum btcall_pcm_element {
    /// 0…100, volume of the device that carries calls.
    BTCALL_PCM_PLAYBACK_VOLUME = 0,
    /// 0…100, volume towards the far end.
    BTCALL_PCM_CAPTURE_VOLUME = 1,
    /// 1: the far end hears; 0: muted.
    BTCALL_PCM_CAPTURE_SWITCH = 2,
};

struct btcall_pcm_message {
    uint32_t kind;
    uint32_t element;
    int32_t value;
};

#endif
