// Shared by the files of this module.
#ifndef BTCALL_PICTURES_H
#define BTCALL_PICTURES_H

#include "include/CPictures.h"

#include <gst/gst.h>
#include <gst/video/video.h>

struct btcall_picture {
    gint references;
    uint32_t width, height;
    const uint8_t *bytes;
    // NULL for a picture of our own memory: that exists before GStreamer is loaded, which makes no buffers before.
    GstBuffer *buffer;
    GstMapInfo map;
};

// Takes over a buffer with I420 without padding. NULL if it is too short.
struct btcall_picture *btcall_picture_take(GstBuffer *buffer, uint32_t width, uint32_t height);

// A new picture whose bytes may be written before anybody else sees it.
struct btcall_picture *btcall_picture_make(uint32_t width, uint32_t height, uint8_t **bytes);

// The picture of a sample of an appsink, copied if its rows are padded or its memory is a driver's. GRAY8 gets chroma without
// colour.
struct btcall_picture *btcall_picture_of_sample(GstSample *sample);

// A buffer with the same memory that keeps the picture's alive. GStreamer is loaded.
GstBuffer *btcall_picture_buffer(struct btcall_picture *picture);

#endif
