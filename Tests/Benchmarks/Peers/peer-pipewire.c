/* A telephony application on PipeWire: one stream each way, with 11 ms of latency asked for:
 * that is a period of 512 samples at 48 kHz, 10.7 ms, since PipeWire rounds down to a power of two.
 *
 * usage: peer-pipewire RATE FAR.wav BASENAME
 *
 * The session manager chooses the devices. Prints "STATE TIME" (CLOCK_MONOTONIC) for each change of the playback stream's
 * state, and "told TIME" when a node of a Bluetooth device goes. Writes BASENAME-heard and BASENAME-said as in track.h,
 * on SIGTERM or SIGINT. */
#include <pipewire/pipewire.h>
#include <signal.h>
#include <spa/param/audio/format-utils.h>
#include <sys/mman.h>

#include "track.h"

static struct pw_main_loop *loop;
static struct pw_stream *capture, *playback;
static struct track heard, said;
static int16_t *far_end;
static size_t far_samples, far_at;
static uint32_t bluetooth[64];
static unsigned bluetooth_nodes;

static void on_signal(void *data, int signal) { (void)data; (void)signal; pw_main_loop_quit(loop); }

static void on_captured(void *data)
{
	(void)data;
	struct pw_buffer *b = pw_stream_dequeue_buffer(capture);
	if (!b) return;
	struct spa_data *d = &b->buffer->datas[0];
	if (d->data) track_add(&heard, SPA_PTROFF(d->data, d->chunk->offset, int16_t), d->chunk->size / 2);
	pw_stream_queue_buffer(capture, b);
}

static void on_wanted(void *data)
{
	(void)data;
	struct pw_buffer *b = pw_stream_dequeue_buffer(playback);
	if (!b) return;
	struct spa_data *d = &b->buffer->datas[0];
	int16_t *out = d->data;
	size_t count = d->maxsize / 2;
	if (!out) return;
	if (b->requested && b->requested < count) count = b->requested;
	for (size_t i = 0; i < count; i++) {
		out[i] = far_end[far_at];
		if (++far_at == far_samples) far_at = 0;
	}
	track_add(&said, out, count);
	d->chunk->offset = 0;
	d->chunk->stride = 2;
	d->chunk->size = 2 * count;
	pw_stream_queue_buffer(playback, b);
}

static void on_state(void *data, enum pw_stream_state old, enum pw_stream_state state, const char *error)
{
	(void)data; (void)old;
	printf("%s %.6f%s%s\n", pw_stream_state_as_string(state), now(), error ? " " : "", error ? error : "");
	fflush(stdout);
}

static void on_global(void *data, uint32_t id, uint32_t permissions, const char *type, uint32_t version, const struct spa_dict *props)
{
	(void)data; (void)permissions; (void)version;
	const char *name = props && !strcmp(type, PW_TYPE_INTERFACE_Node) ? spa_dict_lookup(props, PW_KEY_NODE_NAME) : NULL;
	if (name && !strncmp(name, "bluez_", 6) && bluetooth_nodes < SPA_N_ELEMENTS(bluetooth)) bluetooth[bluetooth_nodes++] = id;
}

static void on_global_remove(void *data, uint32_t id)
{
	(void)data;
	for (unsigned i = 0; i < bluetooth_nodes; i++)
		if (bluetooth[i] == id) { printf("told %.6f\n", now()); fflush(stdout); }
}

static const struct pw_stream_events capture_events = { PW_VERSION_STREAM_EVENTS, .process = on_captured };
static const struct pw_stream_events playback_events = {
	PW_VERSION_STREAM_EVENTS, .process = on_wanted, .state_changed = on_state };
static const struct pw_registry_events registry_events = {
	PW_VERSION_REGISTRY_EVENTS, .global = on_global, .global_remove = on_global_remove };

static struct pw_stream *open_stream(struct pw_core *core, unsigned rate, enum spa_direction direction, const struct pw_stream_events *events)
{
	static struct spa_hook hooks[2];
	uint8_t buffer[1024];
	struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(buffer, sizeof buffer);
	int in = direction == PW_DIRECTION_INPUT;
	struct pw_properties *properties = pw_properties_new(PW_KEY_MEDIA_TYPE, "Audio",
		PW_KEY_MEDIA_CATEGORY, in ? "Capture" : "Playback", PW_KEY_MEDIA_ROLE, "Communication", NULL);
	pw_properties_setf(properties, PW_KEY_NODE_LATENCY, "%u/%u", rate * 11 / 1000, rate);
	struct pw_stream *stream = pw_stream_new(core, in ? "peer capture" : "peer playback", properties);
	pw_stream_add_listener(stream, &hooks[in], events, NULL);
	const struct spa_pod *format = spa_format_audio_raw_build(&builder, SPA_PARAM_EnumFormat,
		&SPA_AUDIO_INFO_RAW_INIT(.format = SPA_AUDIO_FORMAT_S16, .channels = 1, .rate = rate, .position = { SPA_AUDIO_CHANNEL_MONO }));
	if (pw_stream_connect(stream, direction, PW_ID_ANY,
			PW_STREAM_FLAG_AUTOCONNECT | PW_STREAM_FLAG_MAP_BUFFERS | PW_STREAM_FLAG_RT_PROCESS, &format, 1) < 0)
		abort();
	return stream;
}

int main(int argc, char **argv)
{
	if (argc != 4) { fprintf(stderr, "usage: peer-pipewire RATE FAR.wav BASENAME\n"); return 2; }
	unsigned rate = atoi(argv[1]);
	far_end = read_far_end(argv[2], &far_samples);
	track_begin(&heard, rate);
	track_begin(&said, rate);
	if (mlockall(MCL_CURRENT | MCL_FUTURE)) perror("peer-pipewire: memory");
	pw_init(&argc, &argv);
	loop = pw_main_loop_new(NULL);
	pw_loop_add_signal(pw_main_loop_get_loop(loop), SIGTERM, on_signal, NULL);
	pw_loop_add_signal(pw_main_loop_get_loop(loop), SIGINT, on_signal, NULL);
	struct pw_context *context = pw_context_new(pw_main_loop_get_loop(loop),
		pw_properties_new(PW_KEY_CONFIG_NAME, "client-rt.conf", NULL), 0);
	struct pw_core *core = context ? pw_context_connect(context, NULL, 0) : NULL;
	if (!core) { perror("peer-pipewire: no PipeWire"); return 1; }
	struct pw_registry *registry = pw_core_get_registry(core, PW_VERSION_REGISTRY, 0);
	struct spa_hook hook;
	spa_zero(hook);
	pw_registry_add_listener(registry, &hook, &registry_events, NULL);
	capture = open_stream(core, rate, PW_DIRECTION_INPUT, &capture_events);
	playback = open_stream(core, rate, PW_DIRECTION_OUTPUT, &playback_events);
	pw_main_loop_run(loop);
	pw_stream_destroy(capture);
	pw_stream_destroy(playback);
	track_write(&heard, argv[3], "heard");
	track_write(&said, argv[3], "said");
	return 0;
}
