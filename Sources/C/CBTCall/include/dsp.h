/// C functions for signal processing on the real-time thread: part of the audited list, like realtime.h. None of these
/// functions allocates, locks or waits.
#ifndef BTCALL_DSP_H
#define BTCALL_DSP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "realtime_macro.h"

// MARK: Libraries, under our own names so that only these declarations reach the real-time modules

/// `sbc_encode` of libsbc 2.0 on a state set up by `sbc_init_msbc`, or by `sbc_init` and one earlier call of this; uses only
/// that state and the stack, also after a change of the bitpool.
BTCALL_REALTIME ssize_t btcall_sbc_encode(
    void *_Nonnull state, const void *_Nonnull input, size_t input_size, void *_Nonnull output, size_t output_size,
    ssize_t *_Nonnull written) __asm__("sbc_encode");

/// `sbc_decode` of libsbc 2.0, likewise.
BTCALL_REALTIME ssize_t btcall_sbc_decode(
    void *_Nonnull state, const void *_Nonnull input, size_t input_size, void *_Nonnull output, size_t output_size,
    size_t *_Nonnull written) __asm__("sbc_decode");

/// Samples of 16 bits: `LC3_PCM_FORMAT_S16`.
#define BTCALL_LC3_S16 0

/// `lc3_encode` of liblc3 1.0 on a state set up by `lc3_setup_encoder`; uses only that state and the stack. Returns 0. Only
/// with the package trait LC3.
BTCALL_REALTIME int btcall_lc3_encode(
    void *_Nonnull state, int format, const void *_Nonnull samples, int stride, int frame_bytes, void *_Nonnull frame)
    __asm__("lc3_encode");

/// `lc3_decode`, likewise; conceals a missing frame. Returns 0, 1 when it concealed, -1 when it refused.
BTCALL_REALTIME int btcall_lc3_decode(
    void *_Nonnull state, const void *_Nullable frame, int frame_bytes, int format, void *_Nonnull samples, int stride)
    __asm__("lc3_decode");

/// `speex_resampler_process_int` of speexdsp 1.2: allocates only when rates or quality change, which never happens.
BTCALL_REALTIME int btcall_speex_resample(
    void *_Nonnull state, uint32_t channel, const int16_t *_Nonnull input, uint32_t *_Nonnull input_frames,
    int16_t *_Nonnull output, uint32_t *_Nonnull output_frames) __asm__("speex_resampler_process_int");

/// `speex_resampler_process_interleaved_int`: the same for all channels of interleaved frames.
BTCALL_REALTIME int btcall_speex_resample_frames(
    void *_Nonnull state, const int16_t *_Nonnull input, uint32_t *_Nonnull input_frames, int16_t *_Nonnull output,
    uint32_t *_Nonnull output_frames) __asm__("speex_resampler_process_interleaved_int");

/// `speex_resampler_reset_mem`: forgets the input.
BTCALL_REALTIME int btcall_speex_reset(void *_Nonnull state) __asm__("speex_resampler_reset_mem");

/// `speex_echo_cancellation` of speexdsp 1.2 on a state of `speex_echo_state_init`: one block of that length of the
/// microphone and of the loudspeaker. Uses only that state and the stack; allocates nothing. It would print a message once
/// its output has been much louder than its input for 50 blocks: the caller resets it before.
BTCALL_REALTIME void btcall_speex_cancel(
    void *_Nonnull state, const int16_t *_Nonnull near, const int16_t *_Nonnull far, int16_t *_Nonnull output)
    __asm__("speex_echo_cancellation");

/// `speex_echo_state_reset`: forgets the echo path.
BTCALL_REALTIME void btcall_speex_reset_echo(void *_Nonnull state) __asm__("speex_echo_state_reset");

/// `speex_preprocess_run`: removes noise and residual echo from one block in place; likewise.
BTCALL_REALTIME int btcall_speex_preprocess(void *_Nonnull state, int16_t *_Nonnull samples)
    __asm__("speex_preprocess_run");

/// `speex_preprocess_ctl`: sets a value in the state.
BTCALL_REALTIME int btcall_speex_preprocess_set(void *_Nonnull state, int request, void *_Nullable value)
    __asm__("speex_preprocess_ctl");

// MARK: Kernels

/// Copies `count` bytes; the two may overlap.
BTCALL_REALTIME void btcall_move(void *_Nonnull to, const void *_Nonnull from, size_t count);

/// Copies the bytes before the first 0 of `count` bytes, all of them without one; returns how many. The two must not overlap.
BTCALL_REALTIME size_t btcall_copy_until_zero(uint8_t *_Nonnull to, const uint8_t *_Nonnull from, size_t count);

/// The inner product of `samples` with the filter that lies `fraction` (0 to 1) between the filters `low` and `high`,
/// all of `count` values.
BTCALL_REALTIME float btcall_interpolated_product(
    const float *_Nonnull samples, const float *_Nonnull low, const float *_Nonnull high, size_t count, float fraction);

/// The inner product of `count` values.
BTCALL_REALTIME float btcall_inner_product(const float *_Nonnull left, const float *_Nonnull right, size_t count);

/// Values of a half-band filter beside its middle, and most frames of the lower rate that are converted at once.
#define BTCALL_HALF_BAND_VALUES 32
#define BTCALL_HALF_BAND_PIECE 80

/// State of a conversion between two rates, one of which is twice the other; all zero at first. One direction each.
struct btcall_half_band {
    /// The last frames that are filtered, and those that are only delayed, each with room for a piece.
    int16_t filtered[BTCALL_HALF_BAND_VALUES - 1 + BTCALL_HALF_BAND_PIECE];
    int16_t delayed[BTCALL_HALF_BAND_VALUES / 2 - 1 + BTCALL_HALF_BAND_PIECE];
    /// Frames of an incomplete pair, 0 or 1, and that frame.
    int32_t waiting;
    int16_t first;
};

/// Doubles the rate of `frames` frames. The even frames of the output are the input, 16 frames late; those between them are
/// filtered. `output` has room for twice as many.
BTCALL_REALTIME void btcall_half_band_up(
    struct btcall_half_band *_Nonnull band, const int16_t *_Nonnull input, size_t frames, int16_t *_Nonnull output);

/// Halves the rate of `frames` frames; returns how many frames of `output` it made, one for each complete pair, 15 of its
/// frames late.
///
/// `is_doubled`: the input comes from `btcall_half_band_up`, alone or added to others of its kind, so that its even frames are
/// all there is to keep: they are copied. The delay is the same, so that the two ways may alternate.
BTCALL_REALTIME size_t btcall_half_band_down(
    struct btcall_half_band *_Nonnull band, const int16_t *_Nonnull input, size_t frames, int16_t *_Nonnull output,
    bool is_doubled);

/// Forgets the input.
BTCALL_REALTIME void btcall_half_band_reset(struct btcall_half_band *_Nonnull band);

/// Weighted sums over a received wave (`heard`), the wave one period earlier (`before`), and its derivatives by the period
/// (`slope`) and by the period's glide (`turn`).
struct btcall_period_sums {
    float heard_heard, heard_before, before_before;
    float slope_slope, slope_turn, turn_turn;
    float heard_slope, heard_turn, before_slope, before_turn;
};

/// Compares the end of a history with the values one period earlier, interpolated by a cubic, at every `stride`-th value.
/// The period is `period` at the end and grows by `glide` from value to value.
///
/// `history` has `frames` values; `heard_values` are `steps` of them, the last one `stride` before the end, with their
/// `weights`.
BTCALL_REALTIME struct btcall_period_sums btcall_compare_periods(
    const float *_Nonnull history, int frames, const float *_Nonnull heard_values, const float *_Nonnull weights,
    int steps, int stride, float period, float glide);

/// The square root of a value that is not negative.
BTCALL_REALTIME float btcall_square_root(float value);

/// The exponential function.
BTCALL_REALTIME float btcall_exponential(float value);

/// The natural logarithm of a value above zero.
BTCALL_REALTIME float btcall_logarithm(float value);

#endif
