#include "dsp.h"

#include <math.h>
#include <string.h>

void btcall_move(void *to, const void *from, size_t count)
{
    memmove(to, from, count);
}

size_t btcall_copy_until_zero(uint8_t *to, const uint8_t *from, size_t count)
{
    const uint8_t *zero = memchr(from, 0, count);
    const size_t length = zero ? (size_t)(zero - from) : count;
    memcpy(to, from, length);
    return length;
}

// Reordering of sums is allowed, so that the compiler can use vectors.
float btcall_interpolated_product(
    const float *samples, const float *low, const float *high, size_t count, float fraction)
{
#pragma clang fp reassociate(on) contract(fast)
    float low_sum = 0;
    float high_sum = 0;
    for (size_t index = 0; index < count; index++) {
        low_sum += samples[index] * low[index];
        high_sum += samples[index] * high[index];
    }
    return low_sum + fraction * (high_sum - low_sum);
}

float btcall_inner_product(const float *left, const float *right, size_t count)
{
#pragma clang fp reassociate(on) contract(fast)
    float sum = 0;
    for (size_t index = 0; index < count; index++)
        sum += left[index] * right[index];
    return sum;
}

#define VALUES BTCALL_HALF_BAND_VALUES
#define PIECE BTCALL_HALF_BAND_PIECE

// A half-band filter of 63 values, in units of 1/16384: its middle is 1, every other value beside it is here, the rest are 0.
// Flat within 0.01 dB to 0.85 of the lower band, 76 dB down from 1.15 on (Kaiser's window, beta 7.4, then adjusted for
// the largest of these errors). The sum is exactly 1: an offset must not become a tone.
static const int16_t half_band[VALUES] = {
    -3,    9,     -18,  34,   -58,  94,   -145, 216,  -313, 444,  -624, 878,  -1261, 1917, -3373, 10395,
    10395, -3373, 1917, -1261, 878, -624, 444,  -313, 216,  -145, 94,   -58,  34,    -18,  9,     -3,
};

// The filtered value, plus `middle`, in 2^-shift. Neither can overflow: all values together are 2.42 times their sum. Of its own
// accord clang takes vectors of half the width, and three times the instructions.
static inline int16_t half_band_value(const int16_t *values, int32_t middle, int shift)
{
    int32_t sum = middle + (1 << (shift - 1));
#pragma clang loop vectorize_width(8) interleave_count(4)
    for (int index = 0; index < VALUES; index++)
        sum += values[index] * half_band[index];
    sum >>= shift;
    return (int16_t)(sum > INT16_MAX ? INT16_MAX : sum < INT16_MIN ? INT16_MIN : sum);
}

void btcall_half_band_up(struct btcall_half_band *band, const int16_t *input, size_t frames, int16_t *output)
{
    int16_t *filtered = band->filtered;
    while (frames > 0) {
        const size_t count = frames < PIECE ? frames : PIECE;
        memcpy(filtered + VALUES - 1, input, count * sizeof *input);
        for (size_t index = 0; index < count; index++) {
            output[2 * index] = filtered[index + VALUES / 2 - 1];
            output[2 * index + 1] = half_band_value(filtered + index, 0, 14);
        }
        memmove(filtered, filtered + count, (VALUES - 1) * sizeof *filtered);
        input += count;
        output += 2 * count;
        frames -= count;
    }
}

size_t btcall_half_band_down(
    struct btcall_half_band *band, const int16_t *input, size_t frames, int16_t *output, bool is_doubled)
{
    if (frames == 0)
        return 0;
    int16_t *filtered = band->filtered;
    int16_t *delayed = band->delayed;
    const size_t waiting = band->waiting ? 1 : 0;
    const size_t pairs = (frames + waiting) / 2;
    // With a frame from before, the odd frames of `input` are the first ones of pairs: nothing can be copied.
    const bool copies = is_doubled && !waiting;
    const int16_t *second = input + (waiting ? 0 : 1);
    for (size_t done = 0; done < pairs;) {
        const size_t count = pairs - done < PIECE ? pairs - done : PIECE;
        int16_t *new_delayed = delayed + VALUES / 2 - 1;
        int16_t *new_filtered = filtered + VALUES - 1;
        const size_t known = done == 0 && waiting ? 1 : 0;
        if (known)
            new_delayed[0] = band->first;
        for (size_t index = known; index < count; index++)
            new_delayed[index] = second[2 * (done + index) - 1];
        for (size_t index = 0; index < count; index++)
            new_filtered[index] = second[2 * (done + index)];
        if (copies) {
            memcpy(output + done, delayed, count * sizeof *output);
        } else {
            for (size_t index = 0; index < count; index++)
                output[done + index] = half_band_value(filtered + index, delayed[index] * (1 << 14), 15);
        }
        memmove(delayed, delayed + count, (VALUES / 2 - 1) * sizeof *delayed);
        memmove(filtered, filtered + count, (VALUES - 1) * sizeof *filtered);
        done += count;
    }
    band->waiting = (int32_t)((frames + waiting) % 2);
    band->first = input[frames - 1];
    return pairs;
}

void btcall_half_band_reset(struct btcall_half_band *band)
{
    memset(band, 0, sizeof *band);
}

// With `int` steps and only the cubic's four values gathered, clang vectorises this: it takes half the time.
struct btcall_period_sums btcall_compare_periods(
    const float *history, int frames, const float *heard_values, const float *weights, int steps, int stride,
    float period, float glide)
{
#pragma clang fp reassociate(on) contract(fast)
    float heard_heard = 0, heard_before = 0, before_before = 0, slope_slope = 0, slope_turn = 0, turn_turn = 0;
    float heard_slope = 0, heard_turn = 0, before_slope = 0, before_turn = 0;
    for (int step = 0; step < steps; step++) {
        const float back = (float)((step - steps) * stride);
        const float source = (float)frames + back - (period + glide * back);
        const int place = (int)source;
        const float part = source - (float)place;
        const float *base = history + place;
        const float a = base[-1], b = base[0], c = base[1], d = base[2];
        const float first = 0.5f * (c - a);
        const float second = 0.5f * (2 * a - 5 * b + 4 * c - d);
        const float third = 0.5f * (3 * (b - c) + d - a);
        const float before = b + part * (first + part * (second + part * third));
        const float slope = -(first + part * (2 * second + 3 * part * third));
        const float turn = slope * back;
        const float heard = heard_values[step];
        const float weight = weights[step];
        const float weighted_heard = weight * heard, weighted_before = weight * before, weighted_slope = weight * slope;
        heard_heard += weighted_heard * heard;
        heard_before += weighted_heard * before;
        before_before += weighted_before * before;
        slope_slope += weighted_slope * slope;
        slope_turn += weighted_slope * turn;
        turn_turn += weight * turn * turn;
        heard_slope += weighted_heard * slope;
        heard_turn += weighted_heard * turn;
        before_slope += weighted_before * slope;
        before_turn += weighted_before * turn;
    }
    return (struct btcall_period_sums){
        heard_heard, heard_before, before_before, slope_slope, slope_turn,
        turn_turn, heard_slope, heard_turn, before_slope, before_turn,
    };
}

float btcall_square_root(float value)
{
    return sqrtf(value);
}

float btcall_exponential(float value)
{
    return expf(value);
}

float btcall_logarithm(float value)
{
    return logf(value);
}
