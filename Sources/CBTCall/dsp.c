#include "dsp.h"

#include <math.h>
#include <string.h>

void btcall_move(void *to, const void *from, size_t count)
{
    memmove(to, from, count);
}

// Sums may be taken in any order, so that the compiler can use vectors.
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

float btcall_inner_product(const float *left, const float *right, size_t count, size_t stride)
{
#pragma clang fp reassociate(on) contract(fast)
    float sum = 0;
    if (stride == 1) {
        for (size_t index = 0; index < count; index++)
            sum += left[index] * right[index];
        return sum;
    }
    for (size_t index = 0; index < count; index += stride)
        sum += left[index] * right[index];
    return sum;
}

float btcall_square_root(float value)
{
    return sqrtf(value);
}
