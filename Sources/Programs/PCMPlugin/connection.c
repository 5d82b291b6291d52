#define _GNU_SOURCE
#include "connection.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int64_t btcall_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

void btcall_begin_hello(struct btcall_pcm_hello *hello)
{
    memset(hello, 0, sizeof *hello);
    hello->magic = BTCALL_PCM_MAGIC;
    hello->version = BTCALL_PCM_VERSION;
    strncpy(hello->program, program_invocation_short_name, sizeof hello->program - 1);
}

int btcall_connect(const char *path, const struct btcall_pcm_hello *hello)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof address.sun_path)
        return -ENAMETOOLONG;
    strcpy(address.sun_path, path);
    int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0)
        return -errno;
    if (connect(descriptor, (const struct sockaddr *)&address, sizeof address) == 0
        && send(descriptor, hello, sizeof *hello, MSG_NOSIGNAL) == sizeof *hello)
        return descriptor;
    int error = errno;
    close(descriptor);
    return -error;
}

int btcall_explain(const char *path, int error)
{
    if (error != -EACCES && error != -EPERM)
        return 0;
    SNDERR("btcall: no access to %s, so that there is silence: add the user to the group btcall", path);
    return 1;
}

int btcall_receive_answer(int descriptor, struct btcall_pcm_answer *answer, int descriptors[2])
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } control;
    struct iovec part = { .iov_base = answer, .iov_len = sizeof *answer };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
    descriptors[0] = descriptors[1] = -1;
    ssize_t length;
    do {
        length = recvmsg(descriptor, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    } while (length < 0 && errno == EINTR);
    if (length < 0)
        return errno == EAGAIN ? 0 : -errno;
    unsigned count = 0;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(&message); item != NULL; item = CMSG_NXTHDR(&message, item)) {
        if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS)
            continue;
        size_t given = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t index = 0; index < given; index++) {
            int received;
            memcpy(&received, CMSG_DATA(item) + index * sizeof received, sizeof received);
            if (count < 2)
                descriptors[count] = received;
            else
                close(received);
            count++;
        }
    }
    answer->reason[sizeof answer->reason - 1] = '\0';
    if (length == sizeof *answer && count <= 2 && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0
        && answer->magic == BTCALL_PCM_MAGIC && answer->version == BTCALL_PCM_VERSION)
        return 1;
    for (unsigned index = 0; index < 2; index++) {
        if (descriptors[index] >= 0)
            close(descriptors[index]);
        descriptors[index] = -1;
    }
    return length == 0 ? -EPIPE : -EPROTO;
}

int btcall_receive_message(int descriptor, struct btcall_pcm_message *message)
{
    ssize_t length;
    do {
        length = recv(descriptor, message, sizeof *message, MSG_DONTWAIT | MSG_TRUNC);
    } while (length < 0 && errno == EINTR);
    if (length < 0)
        return errno == EAGAIN ? 0 : -errno;
    if (length == 0)
        return -EPIPE;
    return length == sizeof *message ? 1 : -EPROTO;
}

int btcall_send_message(int descriptor, uint32_t kind, uint32_t element, int32_t value)
{
    const struct btcall_pcm_message message = { .kind = kind, .element = element, .value = value };
    ssize_t length;
    do {
        length = send(descriptor, &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (length < 0 && errno == EINTR);
    return length < 0 ? -errno : 0;
}

int btcall_open_poll(int *set, int *timer)
{
    *set = epoll_create1(EPOLL_CLOEXEC);
    *timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    int error = *set < 0 || *timer < 0 ? -errno : btcall_watch(*set, *timer);
    if (error == 0)
        return 0;
    if (*set >= 0)
        close(*set);
    if (*timer >= 0)
        close(*timer);
    *set = *timer = -1;
    return error;
}

int btcall_watch(int set, int descriptor)
{
    struct epoll_event event = { .events = EPOLLIN, .data.fd = descriptor };
    return epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event) < 0 ? -errno : 0;
}

void btcall_close_watched(int set, int *descriptor)
{
    if (*descriptor < 0)
        return;
    // Fails when it was never added to the set.
    epoll_ctl(set, EPOLL_CTL_DEL, *descriptor, NULL);
    close(*descriptor);
    *descriptor = -1;
}

void btcall_set_timer(int timer, int64_t at)
{
    const struct itimerspec when = { .it_value = { .tv_sec = at / SECOND, .tv_nsec = at % SECOND } };
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static int socket_path(snd_config_t *node, char *path, size_t size)
{
    const char *value;
    if (snd_config_get_string(node, &value) < 0 || value[0] != '/' || strlen(value) >= size) {
        SNDERR("btcall: socket is the absolute path of the daemon's socket, of fewer than %zu bytes", size);
        return -EINVAL;
    }
    strcpy(path, value);
    return 0;
}

int btcall_read_settings(snd_config_t *configuration, char *path, size_t size, snd_config_t **role)
{
    strcpy(path, BTCALL_PCM_SOCKET);
    snd_config_iterator_t item, following;
    snd_config_for_each(item, following, configuration)
    {
        snd_config_t *node = snd_config_iterator_entry(item);
        const char *key;
        if (snd_config_get_id(node, &key) < 0 || strcmp(key, "comment") == 0 || strcmp(key, "type") == 0
            || strcmp(key, "hint") == 0)
            continue;
        if (role != NULL && strcmp(key, "role") == 0) {
            *role = node;
        } else if (strcmp(key, "socket") == 0) {
            int result = socket_path(node, path, size);
            if (result < 0)
                return result;
        } else {
            SNDERR("btcall: '%s' is no key of a btcall %s", key, role != NULL ? "PCM: role, socket" : "control: socket");
            return -EINVAL;
        }
    }
    return 0;
}
