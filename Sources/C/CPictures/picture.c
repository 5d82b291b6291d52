#define _GNU_SOURCE
#include "pictures.h"

#include <string.h>

enum { LONGEST_SIDE = 16384 };

static uint32_t half(uint32_t side)
{
    return (side + 1) / 2;
}

size_t btcall_picture_size(uint32_t width, uint32_t height)
{
    if (width == 0 || height == 0 || width > LONGEST_SIDE || height > LONGEST_SIDE)
        return 0;
    return (size_t)width * height + 2 * (size_t)half(width) * half(height);
}

struct btcall_picture *btcall_picture_take(GstBuffer *buffer, uint32_t width, uint32_t height)
{
    struct btcall_picture *picture = g_try_new0(struct btcall_picture, 1);
    if (!picture) {
        gst_buffer_unref(buffer);
        return NULL;
    }
    picture->references = 1;
    picture->width = width;
    picture->height = height;
    picture->buffer = buffer;
    size_t size = btcall_picture_size(width, height);
    if (size == 0 || !gst_buffer_map(buffer, &picture->map, GST_MAP_READ)) {
        gst_buffer_unref(buffer);
        g_free(picture);
        return NULL;
    }
    picture->bytes = picture->map.data;
    if (picture->map.size < size) {
        btcall_picture_release(picture);
        return NULL;
    }
    return picture;
}

// The rows have no padding, and elements that expect GStreamer's padding have to know it.
static void describe(GstBuffer *buffer, uint32_t width, uint32_t height)
{
    size_t luma = (size_t)width * height;
    size_t chroma = (size_t)half(width) * half(height);
    gsize offsets[GST_VIDEO_MAX_PLANES] = { 0, luma, luma + chroma };
    gint strides[GST_VIDEO_MAX_PLANES] = { (gint)width, (gint)half(width), (gint)half(width) };
    gst_buffer_add_video_meta_full(
        buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_I420, width, height, 3, offsets, strides);
}

struct btcall_picture *btcall_picture_make(uint32_t width, uint32_t height, uint8_t **bytes)
{
    size_t size = btcall_picture_size(width, height);
    struct btcall_picture *picture = size == 0 ? NULL : g_try_malloc(sizeof *picture + size);
    if (!picture)
        return NULL;
    *bytes = (uint8_t *)(picture + 1);
    *picture = (struct btcall_picture) { .references = 1, .width = width, .height = height, .bytes = *bytes };
    return picture;
}

struct btcall_picture *btcall_picture_copy(const void *bytes, size_t length, uint32_t width, uint32_t height)
{
    if (length == 0 || length != btcall_picture_size(width, height))
        return NULL;
    uint8_t *target;
    struct btcall_picture *picture = btcall_picture_make(width, height, &target);
    if (picture)
        memcpy(target, bytes, length);
    return picture;
}

static void copy_rows(uint8_t *target, const uint8_t *source, int stride, uint32_t width, uint32_t height)
{
    for (uint32_t row = 0; row < height; row++)
        memcpy(target + (size_t)row * width, source + (ptrdiff_t)row * stride, width);
}

static struct btcall_picture *copy_frame(GstVideoFrame *frame, uint32_t width, uint32_t height)
{
    uint8_t *target;
    struct btcall_picture *picture = btcall_picture_make(width, height, &target);
    if (!picture)
        return NULL;
    copy_rows(target, GST_VIDEO_FRAME_PLANE_DATA(frame, 0), GST_VIDEO_FRAME_PLANE_STRIDE(frame, 0), width, height);
    uint8_t *chroma = target + (size_t)width * height;
    size_t size = (size_t)half(width) * half(height);
    if (GST_VIDEO_FRAME_N_PLANES(frame) < 3) {
        memset(chroma, 128, 2 * size);
        return picture;
    }
    for (int plane = 1; plane < 3; plane++)
        copy_rows(
            chroma + (plane - 1) * size, GST_VIDEO_FRAME_PLANE_DATA(frame, plane),
            GST_VIDEO_FRAME_PLANE_STRIDE(frame, plane), half(width), half(height));
    return picture;
}

static int is_packed(const GstVideoFrame *frame, uint32_t width, uint32_t height)
{
    const uint8_t *first = GST_VIDEO_FRAME_PLANE_DATA(frame, 0);
    const uint8_t *second = GST_VIDEO_FRAME_PLANE_DATA(frame, 1);
    const uint8_t *third = GST_VIDEO_FRAME_PLANE_DATA(frame, 2);
    size_t luma = (size_t)width * height;
    size_t chroma = (size_t)half(width) * half(height);
    // One memory from its beginning: else another map would have the planes at other places.
    return gst_buffer_n_memory(frame->buffer) == 1 && first == frame->map[0].data && second == first + luma
        && third == second + chroma && GST_VIDEO_FRAME_PLANE_STRIDE(frame, 0) == (int)width
        && GST_VIDEO_FRAME_PLANE_STRIDE(frame, 1) == (int)half(width)
        && GST_VIDEO_FRAME_PLANE_STRIDE(frame, 2) == (int)half(width);
}

// Whether the picture may be kept. Memory of a driver goes back to it with the last who holds the buffer: somebody slow would
// keep the camera in use, also one that has gone.
static int is_lasting(GstBuffer *buffer)
{
    return gst_memory_is_type(gst_buffer_peek_memory(buffer, 0), GST_ALLOCATOR_SYSMEM);
}

struct btcall_picture *btcall_picture_of_sample(GstSample *sample)
{
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    GstCaps *caps = gst_sample_get_caps(sample);
    GstVideoInfo info;
    if (!buffer || !caps || !gst_video_info_from_caps(&info, caps))
        return NULL;
    GstVideoFormat format = GST_VIDEO_INFO_FORMAT(&info);
    GstVideoFrame frame;
    if ((format != GST_VIDEO_FORMAT_I420 && format != GST_VIDEO_FORMAT_GRAY8)
        || !gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ))
        return NULL;
    uint32_t width = (uint32_t)GST_VIDEO_INFO_WIDTH(&info), height = (uint32_t)GST_VIDEO_INFO_HEIGHT(&info);
    if (format == GST_VIDEO_FORMAT_I420 && is_packed(&frame, width, height) && is_lasting(buffer)) {
        gst_video_frame_unmap(&frame);
        return btcall_picture_take(gst_buffer_ref(buffer), width, height);
    }
    struct btcall_picture *picture = copy_frame(&frame, width, height);
    gst_video_frame_unmap(&frame);
    return picture;
}

static void release_picture(void *picture)
{
    btcall_picture_release(picture);
}

GstBuffer *btcall_picture_buffer(struct btcall_picture *picture)
{
    if (!picture->buffer) {
        size_t size = btcall_picture_length(picture);
        GstBuffer *wrapped = gst_buffer_new_wrapped_full(
            GST_MEMORY_FLAG_READONLY, (void *)picture->bytes, size, 0, size, btcall_picture_retain(picture), release_picture);
        describe(wrapped, picture->width, picture->height);
        return wrapped;
    }
    GstBuffer *buffer = gst_buffer_new();
    gst_buffer_copy_into(buffer, picture->buffer, GST_BUFFER_COPY_META | GST_BUFFER_COPY_MEMORY, 0, (gsize)-1);
    // A pool gets its memory back with its buffer.
    gst_buffer_add_parent_buffer_meta(buffer, picture->buffer);
    return buffer;
}

struct btcall_picture *btcall_picture_retain(struct btcall_picture *picture)
{
    g_atomic_int_inc(&picture->references);
    return picture;
}

void btcall_picture_release(struct btcall_picture *picture)
{
    if (!g_atomic_int_dec_and_test(&picture->references))
        return;
    if (picture->buffer) {
        gst_buffer_unmap(picture->buffer, &picture->map);
        gst_buffer_unref(picture->buffer);
    }
    g_free(picture);
}

const uint8_t *btcall_picture_bytes(const struct btcall_picture *picture)
{
    return picture->bytes;
}

size_t btcall_picture_length(const struct btcall_picture *picture)
{
    return btcall_picture_size(picture->width, picture->height);
}

uint32_t btcall_picture_width(const struct btcall_picture *picture)
{
    return picture->width;
}

uint32_t btcall_picture_height(const struct btcall_picture *picture)
{
    return picture->height;
}
