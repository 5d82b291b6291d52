#define _GNU_SOURCE
#include "include/CVideo.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <string.h>
#include <sys/ioctl.h>

static int control(int descriptor, unsigned long request, void *argument)
{
    int result;
    do
        result = ioctl(descriptor, request, argument);
    while (result < 0 && errno == EINTR);
    return result;
}

static int is_planar(uint32_t type)
{
    return type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE;
}

int btcall_video_open(const char *path)
{
    int descriptor;
    do
        descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

int btcall_video_query(int descriptor, struct btcall_video_node *node)
{
    struct v4l2_capability answer;
    memset(&answer, 0, sizeof answer);
    if (control(descriptor, VIDIOC_QUERYCAP, &answer) < 0)
        return -1;
    memset(node, 0, sizeof *node);
    memcpy(node->driver, answer.driver, sizeof answer.driver);
    memcpy(node->card, answer.card, sizeof answer.card);
    memcpy(node->bus, answer.bus_info, sizeof answer.bus_info);
    // The device has several nodes; what this one does is in its own field, where the driver has it.
    uint32_t does = answer.capabilities & V4L2_CAP_DEVICE_CAPS ? answer.device_caps : answer.capabilities;
    if ((does & V4L2_CAP_STREAMING) == 0 || (does & (V4L2_CAP_VIDEO_M2M | V4L2_CAP_VIDEO_M2M_MPLANE)) != 0)
        return 0;
    if (does & V4L2_CAP_VIDEO_CAPTURE)
        node->type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    else if (does & V4L2_CAP_VIDEO_CAPTURE_MPLANE)
        node->type = V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE;
    return 0;
}

int btcall_video_format(int descriptor, uint32_t type, uint32_t index, uint32_t *format)
{
    struct v4l2_fmtdesc answer;
    memset(&answer, 0, sizeof answer);
    answer.index = index;
    answer.type = type;
    if (control(descriptor, VIDIOC_ENUM_FMT, &answer) < 0)
        return -1;
    *format = answer.pixelformat;
    return 0;
}

int btcall_video_frame_size(int descriptor, uint32_t format, uint32_t index, struct btcall_video_size *size)
{
    struct v4l2_frmsizeenum answer;
    memset(&answer, 0, sizeof answer);
    answer.index = index;
    answer.pixel_format = format;
    if (control(descriptor, VIDIOC_ENUM_FRAMESIZES, &answer) < 0)
        return -1;
    memset(size, 0, sizeof *size);
    if (answer.type == V4L2_FRMSIZE_TYPE_DISCRETE) {
        size->kind = BTCALL_VIDEO_DISCRETE;
        size->least_width = answer.discrete.width;
        size->least_height = answer.discrete.height;
        return 0;
    }
    size->kind = answer.type == V4L2_FRMSIZE_TYPE_CONTINUOUS ? BTCALL_VIDEO_CONTINUOUS : BTCALL_VIDEO_STEPWISE;
    size->least_width = answer.stepwise.min_width;
    size->most_width = answer.stepwise.max_width;
    size->step_width = answer.stepwise.step_width;
    size->least_height = answer.stepwise.min_height;
    size->most_height = answer.stepwise.max_height;
    size->step_height = answer.stepwise.step_height;
    return 0;
}

static void fraction(uint32_t pair[2], const struct v4l2_fract *value)
{
    pair[0] = value->numerator;
    pair[1] = value->denominator;
}

int btcall_video_frame_interval(
    int descriptor, uint32_t format, uint32_t width, uint32_t height, uint32_t index,
    struct btcall_video_interval *interval)
{
    struct v4l2_frmivalenum answer;
    memset(&answer, 0, sizeof answer);
    answer.index = index;
    answer.pixel_format = format;
    answer.width = width;
    answer.height = height;
    if (control(descriptor, VIDIOC_ENUM_FRAMEINTERVALS, &answer) < 0)
        return -1;
    memset(interval, 0, sizeof *interval);
    if (answer.type == V4L2_FRMIVAL_TYPE_DISCRETE) {
        interval->kind = BTCALL_VIDEO_DISCRETE;
        fraction(interval->least, &answer.discrete);
        return 0;
    }
    interval->kind = answer.type == V4L2_FRMIVAL_TYPE_CONTINUOUS ? BTCALL_VIDEO_CONTINUOUS : BTCALL_VIDEO_STEPWISE;
    fraction(interval->least, &answer.stepwise.min);
    fraction(interval->most, &answer.stepwise.max);
    fraction(interval->step, &answer.stepwise.step);
    return 0;
}

int btcall_video_set_format(int descriptor, uint32_t type, uint32_t *format, uint32_t *width, uint32_t *height)
{
    struct v4l2_format set;
    memset(&set, 0, sizeof set);
    set.type = type;
    // With the present values for colours, fields and planes.
    if (control(descriptor, VIDIOC_G_FMT, &set) < 0)
        return -1;
    if (is_planar(type)) {
        set.fmt.pix_mp.pixelformat = *format;
        set.fmt.pix_mp.width = *width;
        set.fmt.pix_mp.height = *height;
        memset(set.fmt.pix_mp.plane_fmt, 0, sizeof set.fmt.pix_mp.plane_fmt);
    } else {
        set.fmt.pix.pixelformat = *format;
        set.fmt.pix.width = *width;
        set.fmt.pix.height = *height;
        set.fmt.pix.bytesperline = 0;
        set.fmt.pix.sizeimage = 0;
    }
    if (control(descriptor, VIDIOC_S_FMT, &set) < 0)
        return -1;
    *format = is_planar(type) ? set.fmt.pix_mp.pixelformat : set.fmt.pix.pixelformat;
    *width = is_planar(type) ? set.fmt.pix_mp.width : set.fmt.pix.width;
    *height = is_planar(type) ? set.fmt.pix_mp.height : set.fmt.pix.height;
    return 0;
}

int btcall_video_set_interval(int descriptor, uint32_t type, uint32_t *numerator, uint32_t *denominator)
{
    struct v4l2_streamparm set;
    memset(&set, 0, sizeof set);
    set.type = type;
    if (control(descriptor, VIDIOC_G_PARM, &set) < 0)
        return -1;
    if ((set.parm.capture.capability & V4L2_CAP_TIMEPERFRAME) == 0) {
        errno = ENOTTY;
        return -1;
    }
    if (*numerator != 0) {
        set.parm.capture.timeperframe.numerator = *numerator;
        set.parm.capture.timeperframe.denominator = *denominator;
        if (control(descriptor, VIDIOC_S_PARM, &set) < 0)
            return -1;
    }
    *numerator = set.parm.capture.timeperframe.numerator;
    *denominator = set.parm.capture.timeperframe.denominator;
    return 0;
}

int btcall_video_is_busy(int descriptor, uint32_t type)
{
    struct v4l2_requestbuffers none;
    memset(&none, 0, sizeof none);
    none.type = type;
    none.memory = V4L2_MEMORY_MMAP;
    // Frees the buffers of this descriptor, which has none. While another one owns the queue, the kernel refuses.
    return control(descriptor, VIDIOC_REQBUFS, &none) < 0 && errno == EBUSY;
}
