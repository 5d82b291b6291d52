/// C functions that the real-time thread may call: the audited list (`@_noLocks`). None of them allocates, locks or waits,
/// apart from `btcall_poll`, in which the thread sleeps. Adding a line is the audit.
#ifndef BTCALL_REALTIME_H
#define BTCALL_REALTIME_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "realtime_macro.h"

struct _snd_pcm;
struct btcall_pcm_ring;

// MARK: Real-time thread

/// CLOCK_MONOTONIC in nanoseconds.
BTCALL_REALTIME int64_t btcall_monotonic_nanoseconds(void);

/// ppoll on `count` descriptors for at most `timeout` nanoseconds (negative: for ever).
/// Returns the number of ready descriptors, 0 also after a signal, or -errno.
BTCALL_REALTIME int btcall_poll(struct pollfd *_Nonnull descriptors, unsigned count, int64_t timeout);

/// Receives one packet of a synchronous link without waiting; `status` becomes the controller's packet status
/// (BT_PKT_STATUS; 0 = correctly received, also on sockets that do not report one).
/// Returns its length, 0 when the peer has closed, or -errno (-EAGAIN: none available).
BTCALL_REALTIME ssize_t btcall_receive_packet(
    int descriptor, void *_Nonnull buffer, size_t size, int *_Nonnull status);

/// Receives one message without waiting. Returns its real length, which exceeds `size` when it was cut, 0 when the peer has
/// closed, or -errno. A message with descriptors stays in the socket (-EBADMSG), because closing one may block for as long
/// as its sender likes. The control plane then closes the socket (`btcall_close_peer`).
BTCALL_REALTIME ssize_t btcall_receive_block(int descriptor, void *_Nonnull buffer, size_t size);

/// Receives available bytes of a stream, at most `size`, without waiting. Returns their number, 0 at the stream's end, or
/// -errno; -EBADMSG as above.
BTCALL_REALTIME ssize_t btcall_receive_part(int descriptor, void *_Nonnull buffer, size_t size);

/// Bytes waiting in a socket, all messages together; 0 if unknown.
BTCALL_REALTIME ssize_t btcall_waiting_bytes(int descriptor);

/// Sends one message without waiting and without SIGPIPE. Returns its length or -errno.
BTCALL_REALTIME ssize_t btcall_send_packet(int descriptor, const void *_Nonnull buffer, size_t size);

/// The pending error of a socket (SO_ERROR), 0 for none.
BTCALL_REALTIME int btcall_socket_error(int descriptor);

/// Adds one to a non-blocking eventfd; a full counter is already readable.
BTCALL_REALTIME void btcall_eventfd_signal(int descriptor);

/// Reads a non-blocking eventfd back to zero.
BTCALL_REALTIME void btcall_eventfd_clear(int descriptor);

// Access to a ring that an ALSA PCM client shares (pcm_protocol.h): only by `__atomic` builtins. Values read from it may be
// anything, at any moment.

/// Frames that the client has written or read beyond `hardware`; negative when it is behind.
BTCALL_REALTIME int64_t btcall_pcm_ahead(const struct btcall_pcm_ring *_Nonnull ring);

/// Frames already played or captured.
BTCALL_REALTIME uint64_t btcall_pcm_hardware(const struct btcall_pcm_ring *_Nonnull ring);

/// Adds to the frames already played or captured.
BTCALL_REALTIME void btcall_pcm_advance(struct btcall_pcm_ring *_Nonnull ring, uint64_t frames);

/// Makes the ring's `engagement` odd or even, whatever its value was.
BTCALL_REALTIME void btcall_pcm_engage(struct btcall_pcm_ring *_Nonnull ring, int engaged);

BTCALL_REALTIME void btcall_pcm_set_latency(struct btcall_pcm_ring *_Nonnull ring, uint32_t frames);
BTCALL_REALTIME uint64_t btcall_pcm_missing(const struct btcall_pcm_ring *_Nonnull ring);
BTCALL_REALTIME void btcall_pcm_add_missing(struct btcall_pcm_ring *_Nonnull ring, uint64_t frames);

/// Wakes a client: sends 8 bytes to the thread's end of `btcall_pcm_wake_pair`. A client that does not read misses wake-ups,
/// and delays nobody: the call never waits, whatever flags the client's end has.
BTCALL_REALTIME void btcall_pcm_signal(int descriptor);

// alsa-lib 1.2.8 on `hw:`: one ioctl each, no allocation, and no lock (`need_lock` is off for hw, and
// LIBASOUND_THREAD_SAFE=0 turns it off everywhere). snd_pcm_delay, snd_pcm_hwsync and snd_pcm_recover are left out on
// purpose: on an xrun they print a message. With plug-ins the same calls copy and convert within buffers made by
// snd_pcm_hw_params.
BTCALL_REALTIME long snd_pcm_readi(struct _snd_pcm *_Nonnull pcm, void *_Nonnull buffer, unsigned long frames);
BTCALL_REALTIME long snd_pcm_writei(struct _snd_pcm *_Nonnull pcm, const void *_Nonnull buffer, unsigned long frames);
BTCALL_REALTIME long snd_pcm_avail_update(struct _snd_pcm *_Nonnull pcm);
/// One of alsa-lib's SND_PCM_STATE_; BTCALL_PCM_DISCONNECTED when the card was pulled out.
BTCALL_REALTIME int snd_pcm_state(struct _snd_pcm *_Nonnull pcm);
enum { BTCALL_PCM_DISCONNECTED = 8 };
BTCALL_REALTIME int snd_pcm_prepare(struct _snd_pcm *_Nonnull pcm);
BTCALL_REALTIME int snd_pcm_start(struct _snd_pcm *_Nonnull pcm);
BTCALL_REALTIME int snd_pcm_drop(struct _snd_pcm *_Nonnull pcm);
BTCALL_REALTIME int snd_pcm_poll_descriptors_revents(
    struct _snd_pcm *_Nonnull pcm, struct pollfd *_Nonnull descriptors, unsigned count, unsigned short *_Nonnull events);

// MARK: Control side of the same thread

/// A running real-time thread.
struct btcall_realtime_thread {
    unsigned long handle;
    /// SCHED_FIFO was granted.
    int is_realtime;
};

/// Starts a thread named "btcall-rt" with a small stack, touched beforehand, with denormals flushed to zero and all signals
/// blocked. It requests SCHED_FIFO with `priority` (0: no request) and runs without it when refused. Returns 0 or an errno.
int btcall_realtime_thread_start(
    struct btcall_realtime_thread *_Nonnull thread, int priority, void (*_Nonnull body)(void *_Nonnull),
    void *_Nonnull context);

/// Waits for the end of the thread. Returns 0 or an errno.
int btcall_realtime_thread_join(struct btcall_realtime_thread *_Nonnull thread);

/// Locks present and future pages into memory as they are touched. Only without a limit, because a limit would make later
/// allocations fail. Returns 0 or an errno (EPERM: limited).
int btcall_lock_memory(void);

/// Loads all code that the thread may run into memory: the program, alsa-lib and the codecs. Otherwise the first call of a
/// function could wait for the disk, which is a drop-out: 100 ms were seen on a network file system.
void btcall_prefault_code(void);

/// A new non-blocking eventfd, or -errno.
int btcall_realtime_eventfd(void);

/// A pair of sockets that wakes the reader of a ring, such as a client of the ALSA PCM: [0] for the writer, [1] for the
/// reader. Each has its own flags; an eventfd would be one file with one set of flags, which a client could change under the
/// thread. The reader cannot send to [0]. Returns 0 or -errno.
int btcall_pcm_wake_pair(int *_Nonnull descriptors);

/// Descriptors to poll for a PCM; declared here so that one file needs only this header.
int snd_pcm_type(struct _snd_pcm *_Nonnull pcm);
int snd_pcm_poll_descriptors_count(struct _snd_pcm *_Nonnull pcm);
int snd_pcm_poll_descriptors(struct _snd_pcm *_Nonnull pcm, struct pollfd *_Nonnull descriptors, unsigned space);

/// The address of a handler for `snd_lib_error_set_handler` that keeps the latest message of the calling thread's
/// last failure instead of printing it.
void *_Nonnull btcall_alsa_message_handler(void);

/// The message kept since the last call, or an empty string. Control thread only.
const char *_Nonnull btcall_alsa_last_message(void);

#endif
