// ioctls of the kernel's video devices (V4L2) that Swift cannot express. All functions return -1 and set errno on failure unless
// they say otherwise. Numbers are passed on as the driver gives them. Used by btcall-video only.
#ifndef BTCALL_CVIDEO_H
#define BTCALL_CVIDEO_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// What a video node is. The texts end with a zero.
struct btcall_video_node {
    char driver[17];
    char card[33];
    char bus[33];
    // Buffer type for capturing, with one or several planes; 0 if the node is no camera: a codec, an output, metadata.
    uint32_t type;
};

enum {
    BTCALL_VIDEO_DISCRETE = 1,
    BTCALL_VIDEO_CONTINUOUS = 2,
    BTCALL_VIDEO_STEPWISE = 3,
};

// One answer about sizes. With BTCALL_VIDEO_DISCRETE only the least numbers count.
struct btcall_video_size {
    uint32_t kind;
    uint32_t least_width, most_width, step_width;
    uint32_t least_height, most_height, step_height;
};

// One answer about intervals in seconds, as fractions. With BTCALL_VIDEO_DISCRETE only the least one counts.
struct btcall_video_interval {
    uint32_t kind;
    uint32_t least[2], most[2], step[2];
};

// Opens a node without waiting. Close-on-exec.
int btcall_video_open(const char *path);

int btcall_video_query(int descriptor, struct btcall_video_node *node);

// The pixel format, the sizes of a format, the intervals of a format and a size, number `index` from 0. EINVAL after the last.
int btcall_video_format(int descriptor, uint32_t type, uint32_t index, uint32_t *format);
int btcall_video_frame_size(int descriptor, uint32_t format, uint32_t index, struct btcall_video_size *size);
int btcall_video_frame_interval(
    int descriptor, uint32_t format, uint32_t width, uint32_t height, uint32_t index,
    struct btcall_video_interval *interval);

// Sets format and size; the driver's answer replaces them. EBUSY while another program captures.
int btcall_video_set_format(int descriptor, uint32_t type, uint32_t *format, uint32_t *width, uint32_t *height);

// Sets the interval; the driver's answer replaces it. A numerator of 0 only reads it. ENOTTY if the driver has no intervals.
int btcall_video_set_interval(int descriptor, uint32_t type, uint32_t *numerator, uint32_t *denominator);

// 1 while another program has buffers of the node, 0 otherwise.
int btcall_video_is_busy(int descriptor, uint32_t type);

#ifdef __cplusplus
}
#endif

#endif
