// Pipelines of GStreamer, and the pictures that go through them. Nothing of GStreamer's headers is needed to use it. Used by
// btcall-video only.
//
// A picture is I420 without padding: the luma, then the two planes of chroma of half the width and height, rounded up.
#ifndef BTCALL_CPICTURES_H
#define BTCALL_CPICTURES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// MARK: GStreamer

// Sets what GStreamer reads from the environment; a value that is set already stays. Call this before the first thread, which
// could read the environment meanwhile, and after the first use of CommandLine.arguments, which Swift finds beside it.
//
// When v4l2src of GStreamer 1.22 closes a camera, it leaves the buffers to their holders, and keeps descriptors of a camera that
// has gone: its driver cannot be unloaded, and the camera that returns has another number. GST_V4L2_FORCE_DRAIN makes it close
// the node once all buffers are back.
void btcall_gstreamer_prepare(void);

// Loads GStreamer; does nothing when it is loaded. May take seconds: the first time it looks at all plug-ins. Returns -1 with a
// reason on failure.
int btcall_gstreamer_load(char *reason, size_t size);

// Whether an element is installed.
int btcall_gstreamer_has(const char *element);

// MARK: Pictures

// A picture, which nobody changes. Counted references, from any thread.
struct btcall_picture;

// Copies a picture. NULL if `length` is not the size of such a picture, or without memory.
struct btcall_picture *btcall_picture_copy(const void *bytes, size_t length, uint32_t width, uint32_t height);

struct btcall_picture *btcall_picture_retain(struct btcall_picture *picture);
void btcall_picture_release(struct btcall_picture *picture);

const uint8_t *btcall_picture_bytes(const struct btcall_picture *picture);
size_t btcall_picture_length(const struct btcall_picture *picture);
uint32_t btcall_picture_width(const struct btcall_picture *picture);
uint32_t btcall_picture_height(const struct btcall_picture *picture);

// Size of a picture in bytes; 0 if a side is 0 or more than 16384.
size_t btcall_picture_size(uint32_t width, uint32_t height);

// A picture in front of another: what the mask's luma shows as bright is from `picture`, the rest from `behind`. All three have
// the same size. NULL without memory.
struct btcall_picture *btcall_picture_blend(
    const struct btcall_picture *picture, const struct btcall_picture *mask, const struct btcall_picture *behind);

// The same picture without details smaller than a sixteenth of its height. NULL without memory.
struct btcall_picture *btcall_picture_blur(const struct btcall_picture *picture);

// MARK: Pipelines

struct btcall_pipeline;

// What a pipeline reports, on its own threads. A handler waits for nobody, and does not call the pipeline.
struct btcall_pipeline_events {
    void *context;
    // A picture has reached the element "out". It is valid until the handler returns, unless it is retained.
    void (*picture)(void *context, struct btcall_picture *picture);
    // The pipeline has failed, or its source has ended. Called once at most.
    void (*failed)(void *context, const char *reason);
    // Called with btcall_pipeline_free: the context is not used any more.
    void (*released)(void *context);
};

// Makes a pipeline of a description (gst-launch-1.0). Its element "out", if there is one, is an appsink for pictures. Returns NULL
// with a reason on failure; the context is released then, too.
struct btcall_pipeline *btcall_pipeline_parse(
    const char *description, struct btcall_pipeline_events events, char *reason, size_t size);

// Sets a property of a named element to a text as it is, or to a number. Returns -1 if there is no such element or property.
int btcall_pipeline_set_text(struct btcall_pipeline *pipeline, const char *element, const char *property, const char *text);
int btcall_pipeline_set_number(struct btcall_pipeline *pipeline, const char *element, const char *property, int64_t number);

// Starts a pipeline. May block on its devices. Returns -1 with a reason on failure.
int btcall_pipeline_start(struct btcall_pipeline *pipeline, char *reason, size_t size);

// Gives a picture to the appsrc `element`. Never waits: an appsrc with leaky-type drops what is too much. Callable from any thread,
// also of another pipeline. Returns -1 if it was not taken.
int btcall_pipeline_push(struct btcall_pipeline *pipeline, const char *element, struct btcall_picture *picture);

// Gives bytes of another kind, such as a file, to the appsrc `element`, and ends it.
int btcall_pipeline_push_all(struct btcall_pipeline *pipeline, const char *element, const void *bytes, size_t length);

// The next picture at "out" of a pipeline without a handler for pictures. Waits; NULL if none comes in time, or at its end.
struct btcall_picture *btcall_pipeline_pull(struct btcall_pipeline *pipeline, unsigned milliseconds);

// Stops a pipeline and waits for its threads; after that no handler is called. May block on its devices.
void btcall_pipeline_stop(struct btcall_pipeline *pipeline);

// Stops it if it has not been stopped.
void btcall_pipeline_free(struct btcall_pipeline *pipeline);

// MARK: Descriptors

// Writes to a pipe or socket of somebody else without waiting, whatever its flags are: through `buffer`, a pipe of our own, for a
// pipe. Returns what was written or, for a pipe, at least has left `bytes`; -1 with errno, EAGAIN if it is full.
struct btcall_outlet {
    int descriptor;
    // 0 for a pipe, 1 for a socket, 2 for a file.
    int kind;
    int buffer[2];
    // Bytes that are in our pipe.
    size_t waiting;
};

// Finds out what a descriptor is, which stays the caller's. Returns -1 with errno, EINVAL for what is no pipe, socket or file.
int btcall_outlet_open(struct btcall_outlet *outlet, int descriptor);
// Takes a descriptor of our own, which is written as it is.
void btcall_outlet_take(struct btcall_outlet *outlet, int descriptor);
ptrdiff_t btcall_outlet_write(struct btcall_outlet *outlet, const void *bytes, size_t length);
void btcall_outlet_close(struct btcall_outlet *outlet);

// MARK: Nodes

// Opens a V4L2 output node whose pictures are written with write(), and sets it to I420 of a size. The node may have another size,
// which replaces this one: while a program has it open, nobody can change it. The rate is in thousandths of a frame per second.
// Returns a descriptor, or -1 with errno: ENOTTY for a node that is no output, ENOTSUP for one that has no write(), EBUSY for one
// that has another format.
int btcall_output_open(const char *path, uint32_t *width, uint32_t *height, uint32_t thousandths);

// MARK: Displays

// Size of a framebuffer in pixels. Returns -1 and sets errno on failure.
int btcall_framebuffer_size(const char *path, uint32_t *width, uint32_t *height);

#ifdef __cplusplus
}
#endif

#endif
