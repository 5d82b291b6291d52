#include "dsp.h"

#include <math.h>
#include <string.h>

void btcall_move(void *to, const void *from, size_t count)
{
    memmove(to, from, count);
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

float btcall_logarithm(float value)
{
    return logf(value);
}
