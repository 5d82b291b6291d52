// The control `btcall`: a mixer with the volumes of the device that carries the call. Like the PCM it survives the daemon:
// its elements are inactive until the daemon has sent their first values, and keep these while the daemon is away.
#define _GNU_SOURCE
#include <alsa/asoundlib.h>
#include <alsa/control_external.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "connection.h"

// A running daemon sends the values within this time, so that a mixer shows them at once.
#define FIRST_LOOK (200 * MILLISECOND)
enum { ELEMENTS = 3, ALL = (1 << ELEMENTS) - 1 };

static const struct {
    const char *name;
    int type;
    long maximum;
} elements[ELEMENTS] = {
    [BTCALL_PCM_PLAYBACK_VOLUME] = { "Playback Volume", SND_CTL_ELEM_TYPE_INTEGER, 100 },
    [BTCALL_PCM_CAPTURE_VOLUME] = { "Capture Volume", SND_CTL_ELEM_TYPE_INTEGER, 100 },
    [BTCALL_PCM_CAPTURE_SWITCH] = { "Capture Switch", SND_CTL_ELEM_TYPE_BOOLEAN, 1 },
};

struct mixer {
    snd_ctl_ext_t ext;
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
    int set;
    int timer;
    int socket;
    bool answered;
    bool told;
    /// Time of the next attempt to reach the daemon, or of the timeout for its answer.
    int64_t deadline;
    long values[ELEMENTS];
    /// One bit per element: its value is known; its value changed; it became active.
    unsigned known;
    unsigned changed;
    unsigned turned;
};

static void wait_until(struct mixer *mixer, int64_t at)
{
    mixer->deadline = at;
    btcall_set_timer(mixer->timer, at);
}

static void hang_up(struct mixer *mixer, int64_t retry)
{
    btcall_close_watched(mixer->set, &mixer->socket);
    mixer->answered = false;
    wait_until(mixer, btcall_now() + retry);
}

static void greet(struct mixer *mixer)
{
    struct btcall_pcm_hello hello;
    btcall_begin_hello(&hello);
    hello.role = BTCALL_PCM_CONTROL;
    mixer->socket = btcall_connect(mixer->path, &hello);
    if (mixer->socket < 0 && !mixer->told)
        mixer->told = btcall_explain(mixer->path, mixer->socket);
    if (mixer->socket < 0 || btcall_watch(mixer->set, mixer->socket) < 0)
        hang_up(mixer, RETRY);
    else
        wait_until(mixer, btcall_now() + ANSWER_TIMEOUT);
}

static void take_answer(struct mixer *mixer)
{
    struct btcall_pcm_answer answer;
    int descriptors[2];
    int result = btcall_receive_answer(mixer->socket, &answer, descriptors);
    if (result == 0) {
        if (btcall_now() >= mixer->deadline)
            hang_up(mixer, RETRY);
        return;
    }
    if (result < 0) {
        hang_up(mixer, result == -EPROTO ? RETRY_REFUSED : RETRY);
        return;
    }
    for (unsigned index = 0; index < 2; index++) {
        if (descriptors[index] >= 0)
            close(descriptors[index]);
    }
    if (answer.error != 0) {
        if (!mixer->told)
            SNDERR("btcall: the daemon at %s refuses: %s", mixer->path,
                answer.reason[0] != '\0' ? answer.reason : snd_strerror(answer.error < 0 ? -EPROTO : -answer.error));
        mixer->told = true;
        hang_up(mixer, RETRY_REFUSED);
        return;
    }
    mixer->answered = true;
    wait_until(mixer, 0);
}

static void take_value(struct mixer *mixer, const struct btcall_pcm_message *message)
{
    // Ignores messages of a later version, and values out of range, which a daemon never sends.
    if (message->kind != BTCALL_PCM_VALUE || message->element >= ELEMENTS || message->value < 0
        || message->value > elements[message->element].maximum)
        return;
    const unsigned bit = 1u << message->element;
    if ((mixer->known & bit) == 0)
        mixer->turned |= bit;
    else if (mixer->values[message->element] != message->value)
        mixer->changed |= bit;
    mixer->values[message->element] = message->value;
    mixer->known |= bit;
}

/// Receives all messages that have arrived, without waiting.
static void look(struct mixer *mixer)
{
    if (mixer->socket < 0 && btcall_now() >= mixer->deadline)
        greet(mixer);
    if (mixer->socket >= 0 && !mixer->answered)
        take_answer(mixer);
    for (int count = 0; mixer->answered && count < 64; count++) {
        struct btcall_pcm_message message;
        int result = btcall_receive_message(mixer->socket, &message);
        if (result > 0)
            take_value(mixer, &message);
        else if (result < 0)
            hang_up(mixer, RETRY);
        else
            break;
    }
}

static void look_at_first(struct mixer *mixer)
{
    const int64_t end = btcall_now() + FIRST_LOOK;
    for (;;) {
        look(mixer);
        const int64_t left = end - btcall_now();
        if (mixer->socket < 0 || mixer->known == ALL || left <= 0)
            break;
        struct pollfd polled = { .fd = mixer->socket, .events = POLLIN };
        poll(&polled, 1, (int)(left / MILLISECOND) + 1);
    }
    mixer->changed = mixer->turned = 0;
}

// MARK: Callbacks

static int elem_count(snd_ctl_ext_t *ext)
{
    (void)ext;
    return ELEMENTS;
}

static int elem_list(snd_ctl_ext_t *ext, unsigned offset, snd_ctl_elem_id_t *id)
{
    (void)ext;
    if (offset >= ELEMENTS)
        return -ENOENT;
    snd_ctl_elem_id_set_interface(id, SND_CTL_ELEM_IFACE_MIXER);
    snd_ctl_elem_id_set_name(id, elements[offset].name);
    return 0;
}

static snd_ctl_ext_key_t find_elem(snd_ctl_ext_t *ext, const snd_ctl_elem_id_t *id)
{
    (void)ext;
    if (snd_ctl_elem_id_get_index(id) == 0)
        for (unsigned key = 0; key < ELEMENTS; key++)
            if (strcmp(snd_ctl_elem_id_get_name(id), elements[key].name) == 0)
                return key;
    return SND_CTL_EXT_KEY_NOT_FOUND;
}

static int get_attribute(snd_ctl_ext_t *ext, snd_ctl_ext_key_t key, int *type, unsigned *access, unsigned *count)
{
    const struct mixer *mixer = ext->private_data;
    *type = elements[key].type;
    *access = SND_CTL_EXT_ACCESS_READWRITE | ((mixer->known & 1u << key) != 0 ? 0 : SND_CTL_EXT_ACCESS_INACTIVE);
    *count = 1;
    return 0;
}

static int get_integer_info(snd_ctl_ext_t *ext, snd_ctl_ext_key_t key, long *minimum, long *maximum, long *step)
{
    (void)ext;
    *minimum = 0;
    *maximum = elements[key].maximum;
    *step = 1;
    return 0;
}

static int read_integer(snd_ctl_ext_t *ext, snd_ctl_ext_key_t key, long *value)
{
    struct mixer *mixer = ext->private_data;
    look(mixer);
    *value = mixer->values[key];
    return 0;
}

static int write_integer(snd_ctl_ext_t *ext, snd_ctl_ext_key_t key, long *value)
{
    struct mixer *mixer = ext->private_data;
    look(mixer);
    if (*value < 0 || *value > elements[key].maximum)
        return -EINVAL;
    if (!mixer->answered)
        return -ENOTCONN;
    if (mixer->values[key] == *value && (mixer->known & 1u << key) != 0)
        return 0;
    int result = btcall_send_message(mixer->socket, BTCALL_PCM_VALUE, (uint32_t)key, (int32_t)*value);
    if (result < 0) {
        hang_up(mixer, RETRY);
        return -ENOTCONN;
    }
    // The daemon sends the value again if it has corrected it.
    mixer->values[key] = *value;
    return 1;
}

static int read_event(snd_ctl_ext_t *ext, snd_ctl_elem_id_t *id, unsigned *mask)
{
    struct mixer *mixer = ext->private_data;
    look(mixer);
    for (unsigned key = 0; key < ELEMENTS; key++) {
        const unsigned bit = 1u << key;
        if (((mixer->changed | mixer->turned) & bit) == 0)
            continue;
        elem_list(ext, key, id);
        *mask = SND_CTL_EVENT_MASK_VALUE | ((mixer->turned & bit) != 0 ? SND_CTL_EVENT_MASK_INFO : 0);
        mixer->changed &= ~bit;
        mixer->turned &= ~bit;
        return 1;
    }
    return -EAGAIN;
}

static int poll_revents(snd_ctl_ext_t *ext, struct pollfd *polled, unsigned count, unsigned short *reported)
{
    (void)polled;
    (void)count;
    struct mixer *mixer = ext->private_data;
    look(mixer);
    *reported = mixer->changed != 0 || mixer->turned != 0 ? POLLIN : 0;
    return 0;
}

static void mixer_close(snd_ctl_ext_t *ext)
{
    struct mixer *mixer = ext->private_data;
    btcall_close_watched(mixer->set, &mixer->socket);
    close(mixer->timer);
    close(mixer->set);
    free(mixer);
}

static const snd_ctl_ext_callback_t callbacks = {
    .close = mixer_close,
    .elem_count = elem_count,
    .elem_list = elem_list,
    .find_elem = find_elem,
    .get_attribute = get_attribute,
    .get_integer_info = get_integer_info,
    .read_integer = read_integer,
    .write_integer = write_integer,
    .read_event = read_event,
    .poll_revents = poll_revents,
};

// MARK: Opening

SND_CTL_PLUGIN_DEFINE_FUNC(btcall)
{
    (void)root;
    struct mixer *mixer = calloc(1, sizeof *mixer);
    if (mixer == NULL)
        return -ENOMEM;
    int result = btcall_read_settings(conf, mixer->path, sizeof mixer->path, NULL);
    if (result < 0 || (result = btcall_open_poll(&mixer->set, &mixer->timer)) < 0) {
        free(mixer);
        return result;
    }
    mixer->socket = -1;
    mixer->ext.version = SND_CTL_EXT_VERSION;
    mixer->ext.card_idx = -1;
    strcpy(mixer->ext.id, "btcall");
    strcpy(mixer->ext.driver, "btcall");
    strcpy(mixer->ext.name, "btcall");
    strcpy(mixer->ext.longname, "Call volume by btcall");
    strcpy(mixer->ext.mixername, "btcall");
    mixer->ext.poll_fd = mixer->set;
    mixer->ext.callback = &callbacks;
    mixer->ext.private_data = mixer;
    look_at_first(mixer);
    result = snd_ctl_ext_create(&mixer->ext, name, mode);
    if (result < 0) {
        mixer_close(&mixer->ext);
        return result;
    }
    *handlep = mixer->ext.handle;
    return 0;
}

SND_CTL_PLUGIN_SYMBOL(btcall);
