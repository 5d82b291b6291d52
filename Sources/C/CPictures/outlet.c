#define _GNU_SOURCE
#include "include/CPictures.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fb.h>
#include <linux/videodev2.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIPE, SOCKET, REGULAR };

static int kind(int descriptor)
{
    struct stat status;
    if (fstat(descriptor, &status) < 0)
        return -1;
    if (S_ISFIFO(status.st_mode))
        return PIPE;
    if (S_ISREG(status.st_mode))
        return REGULAR;
    int type = 0;
    socklen_t length = sizeof type;
    if (S_ISSOCK(status.st_mode) && getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) == 0
        && type == SOCK_STREAM)
        return SOCKET;
    errno = EINVAL;
    return -1;
}

int btcall_outlet_open(struct btcall_outlet *outlet, int descriptor)
{
    int found = kind(descriptor);
    int flags = found < 0 ? -1 : fcntl(descriptor, F_GETFL);
    if (flags < 0)
        return -1;
    if ((flags & O_ACCMODE) == O_RDONLY) {
        errno = EBADF;
        return -1;
    }
    *outlet = (struct btcall_outlet) { .descriptor = descriptor, .kind = found, .buffer = { -1, -1 } };
    return found == PIPE ? pipe2(outlet->buffer, O_CLOEXEC | O_NONBLOCK) : 0;
}

void btcall_outlet_take(struct btcall_outlet *outlet, int descriptor)
{
    *outlet = (struct btcall_outlet) { .descriptor = descriptor, .kind = REGULAR, .buffer = { -1, -1 } };
}

// Moves on what is in our pipe. Returns -1 if something stays there.
static int flush(struct btcall_outlet *outlet)
{
    while (outlet->waiting > 0) {
        ssize_t count =
            splice(outlet->buffer[0], NULL, outlet->descriptor, NULL, outlet->waiting, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return -1;
        outlet->waiting -= (size_t)count;
    }
    return 0;
}

ptrdiff_t btcall_outlet_write(struct btcall_outlet *outlet, const void *bytes, size_t length)
{
    ssize_t count;
    if (outlet->kind == PIPE && flush(outlet) < 0)
        return -1;
    if (length == 0)
        return 0;
    do {
        if (outlet->kind == PIPE)
            count = write(outlet->buffer[1], bytes, length);
        else if (outlet->kind == SOCKET)
            count = send(outlet->descriptor, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
        else
            count = write(outlet->descriptor, bytes, length);
    } while (count < 0 && errno == EINTR);
    if (count > 0 && outlet->kind == PIPE) {
        outlet->waiting += (size_t)count;
        if (flush(outlet) < 0 && errno != EAGAIN)
            return -1;
    }
    return count;
}

void btcall_outlet_close(struct btcall_outlet *outlet)
{
    for (int end = 0; end < 2; end++)
        if (outlet->buffer[end] >= 0)
            close(outlet->buffer[end]);
    outlet->buffer[0] = outlet->buffer[1] = -1;
}

static int control(int descriptor, unsigned long request, void *argument)
{
    int result;
    do
        result = ioctl(descriptor, request, argument);
    while (result < 0 && errno == EINTR);
    return result;
}

// Whether it is an output with write(). Sets errno if not.
static int check_output(int descriptor)
{
    struct v4l2_capability answer;
    memset(&answer, 0, sizeof answer);
    if (control(descriptor, VIDIOC_QUERYCAP, &answer) < 0)
        return -1;
    uint32_t does = answer.capabilities & V4L2_CAP_DEVICE_CAPS ? answer.device_caps : answer.capabilities;
    int is_output = (does & V4L2_CAP_VIDEO_OUTPUT) != 0;
    if (is_output && (does & V4L2_CAP_READWRITE) != 0)
        return 0;
    errno = is_output || (does & V4L2_CAP_VIDEO_OUTPUT_MPLANE) != 0 ? ENOTSUP : ENOTTY;
    return -1;
}

static int set_output(int descriptor, uint32_t *width, uint32_t *height)
{
    struct v4l2_format set;
    memset(&set, 0, sizeof set);
    set.type = V4L2_BUF_TYPE_VIDEO_OUTPUT;
    set.fmt.pix.width = *width;
    set.fmt.pix.height = *height;
    set.fmt.pix.pixelformat = V4L2_PIX_FMT_YUV420;
    set.fmt.pix.field = V4L2_FIELD_NONE;
    set.fmt.pix.bytesperline = *width;
    set.fmt.pix.sizeimage = (uint32_t)btcall_picture_size(*width, *height);
    set.fmt.pix.colorspace = V4L2_COLORSPACE_SMPTE170M;
    if (control(descriptor, VIDIOC_S_FMT, &set) < 0)
        return -1;
    const struct v4l2_pix_format *found = &set.fmt.pix;
    if (found->pixelformat != V4L2_PIX_FMT_YUV420 || (found->bytesperline != 0 && found->bytesperline != found->width)
        || btcall_picture_size(found->width, found->height) == 0) {
        errno = EBUSY;
        return -1;
    }
    *width = found->width;
    *height = found->height;
    return 0;
}

static void set_rate(int descriptor, uint32_t thousandths)
{
    struct v4l2_streamparm set;
    memset(&set, 0, sizeof set);
    set.type = V4L2_BUF_TYPE_VIDEO_OUTPUT;
    set.parm.output.timeperframe.numerator = 1000;
    set.parm.output.timeperframe.denominator = thousandths;
    // For readers that ask. A driver without rates has none.
    control(descriptor, VIDIOC_S_PARM, &set);
}

int btcall_output_open(const char *path, uint32_t *width, uint32_t *height, uint32_t thousandths)
{
    int descriptor;
    do
        descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0)
        return -1;
    if (check_output(descriptor) < 0 || set_output(descriptor, width, height) < 0) {
        int error = errno;
        close(descriptor);
        errno = error;
        return -1;
    }
    set_rate(descriptor, thousandths);
    return descriptor;
}

int btcall_framebuffer_size(const char *path, uint32_t *width, uint32_t *height)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0)
        return -1;
    struct fb_var_screeninfo screen;
    int result = ioctl(descriptor, FBIOGET_VSCREENINFO, &screen);
    int error = errno;
    close(descriptor);
    if (result < 0) {
        errno = error;
        return -1;
    }
    *width = screen.xres;
    *height = screen.yres;
    return 0;
}
