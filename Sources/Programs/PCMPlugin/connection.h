// What the two plug-ins have in common: saying hello to the daemon and taking its answer, without ever waiting.
#ifndef BTCALL_PCM_CONNECTION_H
#define BTCALL_PCM_CONNECTION_H

#include <alsa/asoundlib.h>
#include <stdint.h>

#include "pcm_protocol.h"

#define MILLISECOND INT64_C(1000000)
#define SECOND (1000 * MILLISECOND)
/// How often the daemon is looked for; after it said no, less often.
#define RETRY (100 * MILLISECOND)
#define RETRY_REFUSED SECOND
/// A daemon that has taken the hello answers within this time, or is given up.
#define PATIENCE (2 * SECOND)

// A plug-in shows alsa-lib its entry only.
#pragma GCC visibility push(hidden)

/// Nanoseconds of the monotonic clock.
int64_t btcall_now(void);

/// Fills in what every hello has: magic, version, the program's name.
void btcall_begin_hello(struct btcall_pcm_hello *hello);

/// Connects and says hello. Returns a non-blocking descriptor, or a negative errno: the daemon is away, or may not be reached.
int btcall_connect(const char *path, const struct btcall_pcm_hello *hello);

/// Says on standard error why the daemon is not reached, where a user can do something about it. Returns whether it spoke.
int btcall_explain(const char *path, int error);

/// Takes the answer. Returns 1 when it is there and is one, 0 when it is not there yet, or a negative errno: EPROTO for nonsense.
/// `descriptors` are the caller's then, -1 where there is none; on anything but 1 they are closed.
int btcall_take_answer(int descriptor, struct btcall_pcm_answer *answer, int descriptors[2]);

/// Takes one message. Returns 1 for a message, 0 when there is none, or a negative errno: EPIPE at the end, EPROTO for nonsense.
int btcall_take_message(int descriptor, struct btcall_pcm_message *message);

/// Sends one message without waiting and without a signal. Returns 0 or a negative errno.
int btcall_send_message(int descriptor, uint32_t kind, uint32_t element, int32_t value);

/// Makes the descriptor that programs poll, with a timer in it. Returns 0 or a negative errno.
int btcall_open_poll(int *set, int *timer);
int btcall_watch(int set, int descriptor);
/// Takes it out of the poll set and closes it: a copy of it in a forked process would keep it in the set.
void btcall_close_watched(int set, int *descriptor);
/// Absolute monotonic nanoseconds; 0 is never, 1 is now and for good.
void btcall_set_timer(int timer, int64_t at);

/// Reads what stands beside `type` in the configuration: `socket` into `path`, which has room for a socket address and gets
/// the usual one where it is left out, and, of a PCM, the node of `role` into `role` (NULL: it has none). 0, or -EINVAL with a
/// message.
int btcall_read_settings(snd_config_t *configuration, char *path, size_t size, snd_config_t **role);

#pragma GCC visibility pop

#endif
