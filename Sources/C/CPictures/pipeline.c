#define _GNU_SOURCE
#include "pictures.h"

#include <gst/app/app.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 4, LONGEST_REASON = 512 };

struct input {
    char name[16];
    GstAppSrc *source;
};

struct btcall_pipeline {
    GstElement *element;
    struct btcall_pipeline_events events;
    struct input inputs[MOST_INPUTS];
    int input_count;
    GMutex mutex;
    // Below the mutex.
    int is_started, is_stopped, has_failed;
    char reason[LONGEST_REASON];
};

// MARK: GStreamer

static void ignore(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer unused)
{
}

static GLogWriterOutput ignore_fields(GLogLevelFlags level, const GLogField *fields, gsize count, gpointer unused)
{
    return G_LOG_WRITER_HANDLED;
}

void btcall_gstreamer_prepare(void)
{
    setenv("GST_V4L2_FORCE_DRAIN", "1", 0);
}

int btcall_gstreamer_load(char *reason, size_t size)
{
    if (gst_is_initialized())
        return 0;
    // Warnings of libraries quote what others have written, and go to standard error. Errors come as messages of a pipeline.
    // GLib ends the program if the function is set twice, after a failure.
    static int is_quiet;
    if (!is_quiet) {
        g_log_set_default_handler(ignore, NULL);
        g_log_set_writer_func(ignore_fields, NULL, NULL);
        is_quiet = 1;
    }
    gst_segtrap_set_enabled(FALSE);
    GError *error = NULL;
    if (gst_init_check(NULL, NULL, &error))
        return 0;
    g_strlcpy(reason, error ? error->message : "gst_init_check", size);
    g_clear_error(&error);
    return -1;
}

int btcall_gstreamer_has(const char *element)
{
    GstElementFactory *factory = gst_element_factory_find(element);
    if (factory)
        gst_object_unref(factory);
    return factory != NULL;
}

// MARK: Reports

static void note(struct btcall_pipeline *pipeline, const char *reason)
{
    g_mutex_lock(&pipeline->mutex);
    int is_first = !pipeline->has_failed && !pipeline->is_stopped;
    if (is_first) {
        pipeline->has_failed = 1;
        g_strlcpy(pipeline->reason, reason, sizeof pipeline->reason);
    }
    // Before it has started, btcall_pipeline_start returns the reason.
    int is_reported = is_first && pipeline->is_started;
    g_mutex_unlock(&pipeline->mutex);
    if (is_reported && pipeline->events.failed)
        pipeline->events.failed(pipeline->events.context, reason);
}

static void note_error(struct btcall_pipeline *pipeline, GstMessage *message)
{
    GError *error = NULL;
    gchar *debug = NULL;
    gst_message_parse_error(message, &error, &debug);
    GstElementFactory *factory =
        GST_IS_ELEMENT(GST_MESSAGE_SRC(message)) ? gst_element_get_factory(GST_ELEMENT(GST_MESSAGE_SRC(message))) : NULL;
    const char *kind = factory ? gst_plugin_feature_get_name(GST_PLUGIN_FEATURE(factory)) : "pipeline";
    // The last line of `debug` is what the element adds; the others name places in its source.
    const char *line = debug ? strrchr(debug, '\n') : NULL;
    gchar *reason = g_strdup_printf(
        "%s: %s%s%s%s", kind, error ? error->message : "it failed", line && line[1] ? " (" : "",
        line && line[1] ? line + 1 : "", line && line[1] ? ")" : "");
    note(pipeline, reason);
    g_free(reason);
    g_free(debug);
    g_clear_error(&error);
}

static GstBusSyncReply receive(GstBus *bus, GstMessage *message, gpointer context)
{
    struct btcall_pipeline *pipeline = context;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
        note_error(pipeline, message);
    else if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS)
        note(pipeline, "its source has ended");
    gst_message_unref(message);
    return GST_BUS_DROP;
}

static GstFlowReturn deliver(struct btcall_pipeline *pipeline, GstSample *sample)
{
    if (!sample)
        return GST_FLOW_OK;
    struct btcall_picture *picture = btcall_picture_of_sample(sample);
    gst_sample_unref(sample);
    if (!picture)
        return GST_FLOW_OK;
    pipeline->events.picture(pipeline->events.context, picture);
    btcall_picture_release(picture);
    return GST_FLOW_OK;
}

static GstFlowReturn deliver_sample(GstAppSink *sink, gpointer context)
{
    return deliver(context, gst_app_sink_try_pull_sample(sink, 0));
}

// MARK: Making one

static void find_inputs(struct btcall_pipeline *pipeline)
{
    GstIterator *elements = gst_bin_iterate_recurse(GST_BIN(pipeline->element));
    GValue value = G_VALUE_INIT;
    while (gst_iterator_next(elements, &value) == GST_ITERATOR_OK) {
        GstElement *element = GST_ELEMENT(g_value_get_object(&value));
        if (GST_IS_APP_SRC(element) && pipeline->input_count < MOST_INPUTS) {
            struct input *input = &pipeline->inputs[pipeline->input_count++];
            g_strlcpy(input->name, GST_OBJECT_NAME(element), sizeof input->name);
            input->source = GST_APP_SRC(gst_object_ref(element));
        }
        g_value_reset(&value);
    }
    g_value_unset(&value);
    gst_iterator_free(elements);
}

static void connect_output(struct btcall_pipeline *pipeline)
{
    GstElement *output = gst_bin_get_by_name(GST_BIN(pipeline->element), "out");
    if (!output)
        return;
    if (GST_IS_APP_SINK(output) && pipeline->events.picture) {
        GstAppSinkCallbacks callbacks = { .new_sample = deliver_sample };
        gst_app_sink_set_callbacks(GST_APP_SINK(output), &callbacks, pipeline, NULL);
    }
    gst_object_unref(output);
}

struct btcall_pipeline *btcall_pipeline_parse(
    const char *description, struct btcall_pipeline_events events, char *reason, size_t size)
{
    GError *error = NULL;
    GstElement *element = gst_parse_launch_full(description, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
    struct btcall_pipeline *pipeline = element && GST_IS_BIN(element) ? g_try_new0(struct btcall_pipeline, 1) : NULL;
    if (!pipeline) {
        g_strlcpy(reason, error ? error->message : "it is no pipeline", size);
        g_clear_error(&error);
        if (element)
            gst_object_unref(gst_object_ref_sink(element));
        if (events.released)
            events.released(events.context);
        return NULL;
    }
    g_clear_error(&error);
    pipeline->element = gst_object_ref_sink(element);
    pipeline->events = events;
    g_mutex_init(&pipeline->mutex);
    find_inputs(pipeline);
    connect_output(pipeline);
    GstBus *bus = gst_element_get_bus(element);
    gst_bus_set_sync_handler(bus, receive, pipeline, NULL);
    gst_object_unref(bus);
    return pipeline;
}

static GObject *find(struct btcall_pipeline *pipeline, const char *element, const char *property)
{
    GstElement *found = gst_bin_get_by_name(GST_BIN(pipeline->element), element);
    if (found && g_object_class_find_property(G_OBJECT_GET_CLASS(found), property))
        return G_OBJECT(found);
    if (found)
        gst_object_unref(found);
    return NULL;
}

int btcall_pipeline_set_text(struct btcall_pipeline *pipeline, const char *element, const char *property, const char *text)
{
    GObject *object = find(pipeline, element, property);
    if (!object)
        return -1;
    g_object_set(object, property, text, NULL);
    g_object_unref(object);
    return 0;
}

int btcall_pipeline_set_number(struct btcall_pipeline *pipeline, const char *element, const char *property, int64_t number)
{
    GObject *object = find(pipeline, element, property);
    if (!object)
        return -1;
    // Converted to the property's own kind of number.
    GValue value = G_VALUE_INIT;
    g_value_init(&value, G_TYPE_INT64);
    g_value_set_int64(&value, number);
    g_object_set_property(object, property, &value);
    g_value_unset(&value);
    g_object_unref(object);
    return 0;
}

// MARK: Running

int btcall_pipeline_start(struct btcall_pipeline *pipeline, char *reason, size_t size)
{
    GstStateChangeReturn result = gst_element_set_state(pipeline->element, GST_STATE_PLAYING);
    g_mutex_lock(&pipeline->mutex);
    int has_failed = result == GST_STATE_CHANGE_FAILURE || pipeline->has_failed;
    if (has_failed)
        g_strlcpy(reason, pipeline->has_failed ? pipeline->reason : "it does not start", size);
    pipeline->is_started = !has_failed;
    g_mutex_unlock(&pipeline->mutex);
    if (!has_failed)
        return 0;
    btcall_pipeline_stop(pipeline);
    return -1;
}

static GstAppSrc *input(struct btcall_pipeline *pipeline, const char *name)
{
    for (int index = 0; index < pipeline->input_count; index++)
        if (strcmp(pipeline->inputs[index].name, name) == 0)
            return pipeline->inputs[index].source;
    return NULL;
}

int btcall_pipeline_push(struct btcall_pipeline *pipeline, const char *element, struct btcall_picture *picture)
{
    GstAppSrc *source = input(pipeline, element);
    if (!source)
        return -1;
    return gst_app_src_push_buffer(source, btcall_picture_buffer(picture)) == GST_FLOW_OK ? 0 : -1;
}

int btcall_pipeline_push_all(struct btcall_pipeline *pipeline, const char *element, const void *bytes, size_t length)
{
    GstAppSrc *source = input(pipeline, element);
    guint8 *copy = source ? g_try_malloc(length ? length : 1) : NULL;
    if (!copy)
        return -1;
    memcpy(copy, bytes, length);
    if (gst_app_src_push_buffer(source, gst_buffer_new_wrapped(copy, length)) != GST_FLOW_OK)
        return -1;
    return gst_app_src_end_of_stream(source) == GST_FLOW_OK ? 0 : -1;
}

struct btcall_picture *btcall_pipeline_pull(struct btcall_pipeline *pipeline, unsigned milliseconds)
{
    GstElement *output = gst_bin_get_by_name(GST_BIN(pipeline->element), "out");
    if (!output)
        return NULL;
    GstSample *sample = gst_app_sink_try_pull_sample(GST_APP_SINK(output), milliseconds * GST_MSECOND);
    gst_object_unref(output);
    struct btcall_picture *picture = sample ? btcall_picture_of_sample(sample) : NULL;
    if (sample)
        gst_sample_unref(sample);
    return picture;
}

void btcall_pipeline_stop(struct btcall_pipeline *pipeline)
{
    g_mutex_lock(&pipeline->mutex);
    pipeline->is_stopped = 1;
    g_mutex_unlock(&pipeline->mutex);
    gst_element_set_state(pipeline->element, GST_STATE_NULL);
}

void btcall_pipeline_free(struct btcall_pipeline *pipeline)
{
    btcall_pipeline_stop(pipeline);
    GstBus *bus = gst_element_get_bus(pipeline->element);
    gst_bus_set_sync_handler(bus, NULL, NULL, NULL);
    gst_object_unref(bus);
    for (int index = 0; index < pipeline->input_count; index++)
        gst_object_unref(pipeline->inputs[index].source);
    gst_object_unref(pipeline->element);
    if (pipeline->events.released)
        pipeline->events.released(pipeline->events.context);
    g_mutex_clear(&pipeline->mutex);
    g_free(pipeline);
}
