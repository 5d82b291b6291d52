// Common parts of the two plug-ins: the hello to the daemon and its answer, without ever waiting.
#ifndef BTCALL_PCM_CONNECTION_H
#define BTCALL_PCM_CONNECTION_H

#include <alsa/asoundlib.h>
#include <stdint.h>

#include "pcm_protocol.h"

#define MILLISECOND INT64_C(1000000)
#define SECOND (1000 * MILLISECOND)
/// Interval between attempts to reach the daemon; longer after it refused.
#define RETRY (100 * MILLISECOND)
#define RETRY_REFUSED SECOND
/// Timeout for the daemon's answer to a hello.
#define ANSWER_TIMEOUT (2 * SECOND)

// A plug-in exports only its entry point to alsa-lib.
#pragma GCC visibility push(hidden)

/// Nanoseconds of the monotonic clock.
int64_t btcall_now(void);

/// Fills in the fields of every hello: magic, version, the program's name.
void btcall_begin_hello(struct btcall_pcm_hello *hello);

/// Connects and sends the hello. Returns a non-blocking descriptor, or a negative errno: the daemon is away, or access is
/// denied.
int btcall_connect(const char *path, const struct btcall_pcm_hello *hello);

/// Prints on standard error why the daemon cannot be reached, if the user can do something about it. Returns whether it
/// printed.
int btcall_explain(const char *path, int error);

/// Receives the answer. Returns 1 for a valid answer, 0 when none has arrived yet, or a negative errno: EPROTO when it is
/// invalid. With 1, `descriptors` belong to the caller, -1 for absent ones; otherwise they are closed.
int btcall_receive_answer(int descriptor, struct btcall_pcm_answer *answer, int descriptors[2]);

/// Receives one message. Returns 1 for a message, 0 when none has arrived, or a negative errno: EPIPE at the end, EPROTO
/// when invalid.
int btcall_receive_message(int descriptor, struct btcall_pcm_message *message);

/// Sends one message without waiting and without a signal. Returns 0 or a negative errno.
int btcall_send_message(int descriptor, uint32_t kind, uint32_t element, int32_t value);

/// Creates the descriptor that programs poll, with a timer in it. Returns 0 or a negative errno.
int btcall_open_poll(int *set, int *timer);
int btcall_watch(int set, int descriptor);
/// Removes the descriptor from the poll set and closes it: a copy in a forked process would keep it in the set.
void btcall_close_watched(int set, int *descriptor);
/// Absolute monotonic nanoseconds; 0 is never, 1 is immediately and permanently.
void btcall_set_timer(int timer, int64_t at);

/// Reads the keys beside `type` in the configuration: `socket` into `path`, which has room for a socket address (the usual
/// path when the key is absent), and, for a PCM, the node of `role` into `role` (NULL for a control). Returns 0, or -EINVAL
/// with a message.
int btcall_read_settings(snd_config_t *configuration, char *path, size_t size, snd_config_t **role);

#pragma GCC visibility pop

#endif
