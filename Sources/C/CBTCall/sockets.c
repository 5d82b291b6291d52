// Unix sockets of the control plane: descriptors in messages, closing them, and listening.
#define _GNU_SOURCE
#include "include/control.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

ssize_t btcall_send_descriptors(
    int socket, const void *bytes, size_t length, const int *descriptors, size_t count, int flags)
{
    if (count > BTCALL_MAX_DESCRIPTORS) {
        errno = EINVAL;
        return -1;
    }
    union {
        char bytes[CMSG_SPACE(sizeof(int) * BTCALL_MAX_DESCRIPTORS)];
        struct cmsghdr alignment;
    } control = { { 0 } };
    struct iovec vector = { (void *)bytes, length };
    struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };
    if (count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(header), descriptors, sizeof(int) * count);
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &message, flags | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent;
}

ssize_t btcall_receive_descriptors(
    int socket, void *bytes, size_t capacity, int *descriptors, size_t *count, int flags, int *outcome)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * BTCALL_MAX_DESCRIPTORS)];
        struct cmsghdr alignment;
    } control;
    struct iovec vector = { bytes, capacity };
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes
    };
    size_t room = *count;
    *count = 0;
    ssize_t received;
    do
        received = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
    while (received < 0 && errno == EINTR);
    if (received < 0)
        return received;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header != NULL; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        size_t arrived = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t index = 0; index < arrived; index++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(header) + index * sizeof descriptor, sizeof descriptor);
            if (*count < room) {
                descriptors[(*count)++] = descriptor;
            } else {
                close(descriptor);
                message.msg_flags |= MSG_CTRUNC;
            }
        }
    }
    if (outcome != NULL)
        *outcome = message.msg_flags;
    return received;
}

enum { CLOSING_THREADS = 32, CLOSING_WAITING = 1024, CLOSING_STACK_BYTES = 32 * 1024 };

static pthread_mutex_t closing_lock = PTHREAD_MUTEX_INITIALIZER;
static int closing_threads, closing_waiting;
static int closing[CLOSING_WAITING];

static void close_waiting(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&closing_lock);
    while (closing_waiting > 0) {
        int descriptor = closing[--closing_waiting];
        pthread_mutex_unlock(&closing_lock);
        close(descriptor);
        pthread_mutex_lock(&closing_lock);
    }
    closing_threads--;
    pthread_mutex_unlock(&closing_lock);
}

void btcall_close_elsewhere(int descriptor)
{
    int starts = 0;
    pthread_mutex_lock(&closing_lock);
    // With no room left the descriptor stays open: waiting is worse.
    if (closing_waiting < CLOSING_WAITING)
        closing[closing_waiting++] = descriptor;
    if (closing_threads < CLOSING_THREADS) {
        closing_threads++;
        starts = 1;
    }
    pthread_mutex_unlock(&closing_lock);
    if (!starts || btcall_start_thread(CLOSING_STACK_BYTES, close_waiting, NULL) == 0)
        return;
    pthread_mutex_lock(&closing_lock);
    closing_threads--;
    pthread_mutex_unlock(&closing_lock);
}

int btcall_closes_waiting(void)
{
    pthread_mutex_lock(&closing_lock);
    int count = closing_threads + closing_waiting;
    pthread_mutex_unlock(&closing_lock);
    return count;
}

void btcall_close_peer(int socket)
{
    int on = 1;
    shutdown(socket, SHUT_RDWR);
    // Then every message carries its sender, even an empty one, which distinguishes it from the end.
    int can_look = setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0;
    for (int left = 256; can_look && left > 0; left--) {
        char bytes[4096];
        union {
            char bytes[CMSG_SPACE(sizeof(struct ucred))];
            struct cmsghdr alignment;
        } control;
        struct iovec vector = { bytes, sizeof bytes };
        struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.bytes,
            .msg_controllen = sizeof control.bytes };
        ssize_t there = recvmsg(socket, &message, MSG_PEEK | MSG_DONTWAIT);
        if (there < 0 && errno == EINTR)
            continue;
        if (message.msg_flags & MSG_CTRUNC)
            break;
        if (there < 0 || (there == 0 && message.msg_controllen == 0)) {
            close(socket);
            return;
        }
        recv(socket, bytes, (size_t)there, MSG_DONTWAIT);
    }
    btcall_close_elsewhere(socket);
}

int btcall_accept(int socket)
{
    int accepted;
    do
        accepted = accept4(socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    while (accepted < 0 && errno == EINTR);
    return accepted;
}

int btcall_peer_credentials(int socket, pid_t *process, uid_t *user)
{
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0)
        return -1;
    *process = credentials.pid;
    *user = credentials.uid;
    return 0;
}

int btcall_send_datagram(const char *path, const void *bytes, size_t length)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t size = strlen(path);
    if (size == 0 || size >= sizeof address.sun_path) {
        errno = EINVAL;
        return -1;
    }
    memcpy(address.sun_path, path, size);
    if (address.sun_path[0] == '@')
        address.sun_path[0] = 0;
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return -1;
    ssize_t sent;
    do
        sent = sendto(
            descriptor, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&address,
            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
    while (sent < 0 && errno == EINTR);
    int code = errno;
    close(descriptor);
    errno = code;
    return sent < 0 ? -1 : 0;
}

// Removes a socket whose program has ended. Other files, and a socket with a listener, stay.
static int remove_stale(const struct sockaddr_un *address)
{
    struct stat found;
    if (lstat(address->sun_path, &found) != 0)
        return errno == ENOENT ? 0 : -1;
    if (!S_ISSOCK(found.st_mode)) {
        errno = EEXIST;
        return -1;
    }
    int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return -1;
    int outcome = connect(probe, (const struct sockaddr *)address, sizeof *address);
    int code = errno;
    close(probe);
    // Any other result means that a program uses it: of another type, or with a full queue.
    if (outcome == 0 || code != ECONNREFUSED) {
        errno = EADDRINUSE;
        return -1;
    }
    return unlink(address->sun_path) == 0 || errno == ENOENT ? 0 : -1;
}

// Sets the group through a held socket, if it is ours: the path may lead elsewhere by now.
static int set_group(const char *path, gid_t group)
{
    int place = btcall_open_path(path);
    struct stat found;
    int code = 0;
    if (place < 0 || fstat(place, &found) != 0)
        code = errno;
    else if (!S_ISSOCK(found.st_mode) || found.st_uid != geteuid())
        code = EPERM;
    else if (fchownat(place, "", (uid_t)-1, group, AT_EMPTY_PATH) != 0)
        code = errno;
    if (place >= 0)
        close(place);
    return code;
}

int btcall_listen_at(const char *path, unsigned mode, gid_t group, int *grouped)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    *grouped = 0;
    if (strlen(path) == 0 || strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    if (remove_stale(&address) != 0)
        return -1;
    int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0)
        return -1;
    mode_t mask = umask(0777 & ~mode);
    int outcome = bind(descriptor, (struct sockaddr *)&address, sizeof address);
    int code = errno;
    umask(mask);
    if (outcome == 0) {
        // Nobody can connect before this: it does not listen yet.
        if (group != (gid_t)-1)
            *grouped = set_group(path, group);
        if (listen(descriptor, 16) == 0)
            return descriptor;
        code = errno;
    }
    close(descriptor);
    errno = code;
    return -1;
}
