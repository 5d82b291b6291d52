#define _GNU_SOURCE
#include "realtime.h"

#include "pcm_protocol.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef MCL_ONFAULT
#define MCL_ONFAULT 4
#endif

/// The control message with the controller's verdict on a packet (the kernel's include/net/bluetooth/bluetooth.h).
enum { BT_SCM_PKT_STATUS = 3 };

/// The thread's stack, and the part of it that is in memory from the start. Deepest in a call: 10 kB on a headset with mSBC, and
/// 22 kB on a sound card with webrtc's echo canceller.
enum { STACK_BYTES = 256 * 1024, TOUCHED_STACK_BYTES = 64 * 1024 };

/// Present when a checking library is preloaded (Tests/Lab/realtime-interposer.c); absent otherwise.
__attribute__((weak)) void btcall_realtime_armed(int armed);

// MARK: Real-time thread

int64_t btcall_monotonic_nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int btcall_poll(struct pollfd *descriptors, unsigned count, int64_t timeout)
{
    struct timespec limit = { timeout / 1000000000, timeout % 1000000000 };
    int ready = ppoll(descriptors, count, timeout < 0 ? NULL : &limit, NULL);
    if (ready >= 0)
        return ready;
    return errno == EINTR ? 0 : -errno;
}

ssize_t btcall_receive_packet(int descriptor, void *buffer, size_t size, int *status)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(uint8_t)) + 64];
    } control;
    struct iovec vector = { buffer, size };
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
    ssize_t received;
    *status = 0;
    do
        received = recvmsg(descriptor, &message, MSG_DONTWAIT);
    while (received < 0 && errno == EINTR);
    if (received < 0)
        return -errno;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part))
        if (part->cmsg_level == SOL_BLUETOOTH && part->cmsg_type == BT_SCM_PKT_STATUS)
            *status = *(const uint8_t *)CMSG_DATA(part);
    return received;
}

/// Receives data without descriptors. The kernel closes unexpected descriptors in the receiver's recv(2), and that close may
/// block for as long as the sender likes (SO_LINGER, a file system of its own): so this looks first.
static ssize_t receive_plain(int descriptor, void *buffer, size_t size, int flags)
{
    ssize_t received;
    struct iovec vector = { buffer, size };
    struct msghdr message;
    do {
        message = (struct msghdr){ .msg_iov = &vector, .msg_iovlen = 1 };
        received = recvmsg(descriptor, &message, MSG_PEEK | MSG_DONTWAIT | flags);
    } while (received < 0 && errno == EINTR);
    if (received < 0)
        return -errno;
    // A control message without room: only descriptors occur on these sockets.
    if (message.msg_flags & MSG_CTRUNC)
        return -EBADMSG;
    // Takes exactly the bytes that were checked. The rest of a message is discarded with it.
    size_t length = (size_t)received < size ? (size_t)received : size;
    ssize_t taken;
    do
        taken = recv(descriptor, buffer, length, MSG_DONTWAIT | flags);
    while (taken < 0 && errno == EINTR);
    return taken < 0 ? -errno : taken;
}

ssize_t btcall_receive_block(int descriptor, void *buffer, size_t size)
{
    return receive_plain(descriptor, buffer, size, MSG_TRUNC);
}

ssize_t btcall_receive_part(int descriptor, void *buffer, size_t size)
{
    return receive_plain(descriptor, buffer, size, 0);
}

ssize_t btcall_waiting_bytes(int descriptor)
{
    int bytes = 0;
    return ioctl(descriptor, FIONREAD, &bytes) == 0 ? bytes : 0;
}

ssize_t btcall_send_packet(int descriptor, const void *buffer, size_t size)
{
    ssize_t sent;
    do
        sent = send(descriptor, buffer, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

int btcall_socket_error(int descriptor)
{
    int error = 0;
    socklen_t size = sizeof error;
    return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? errno : error;
}

void btcall_eventfd_signal(int descriptor)
{
    uint64_t one = 1;
    while (write(descriptor, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

void btcall_eventfd_clear(int descriptor)
{
    uint64_t value;
    while (read(descriptor, &value, sizeof value) < 0 && errno == EINTR)
        ;
}

// MARK: Rings of the ALSA PCM

int64_t btcall_pcm_ahead(const struct btcall_pcm_ring *ring)
{
    uint64_t application = __atomic_load_n(&ring->application, __ATOMIC_SEQ_CST);
    return (int64_t)(application - __atomic_load_n(&ring->hardware, __ATOMIC_SEQ_CST));
}

uint64_t btcall_pcm_hardware(const struct btcall_pcm_ring *ring)
{
    return __atomic_load_n(&ring->hardware, __ATOMIC_SEQ_CST);
}

void btcall_pcm_advance(struct btcall_pcm_ring *ring, uint64_t frames)
{
    __atomic_fetch_add(&ring->hardware, frames, __ATOMIC_SEQ_CST);
}

void btcall_pcm_engage(struct btcall_pcm_ring *ring, int engaged)
{
    uint32_t number = __atomic_load_n(&ring->engagement, __ATOMIC_SEQ_CST);
    if ((number & 1) != (engaged ? 1u : 0u))
        __atomic_store_n(&ring->engagement, number + 1, __ATOMIC_SEQ_CST);
}

void btcall_pcm_set_latency(struct btcall_pcm_ring *ring, uint32_t frames)
{
    __atomic_store_n(&ring->latency, frames, __ATOMIC_SEQ_CST);
}

uint64_t btcall_pcm_missing(const struct btcall_pcm_ring *ring)
{
    return __atomic_load_n(&ring->missing, __ATOMIC_SEQ_CST);
}

void btcall_pcm_add_missing(struct btcall_pcm_ring *ring, uint64_t frames)
{
    __atomic_fetch_add(&ring->missing, frames, __ATOMIC_SEQ_CST);
}

void btcall_pcm_signal(int descriptor)
{
    uint64_t one = 1;
    btcall_send_packet(descriptor, &one, sizeof one);
}

// MARK: Control side

struct start {
    void (*body)(void *);
    void *context;
};

/// The processor's mode that treats denormal numbers as zero: a fading filter costs fifty times more without it.
static void flush_denormals(void)
{
#if defined(__x86_64__) || defined(__i386__)
    unsigned control;
    __asm__ volatile("stmxcsr %0" : "=m"(control));
    control |= 0x8040;
    __asm__ volatile("ldmxcsr %0" : : "m"(control));
#elif defined(__aarch64__)
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    control |= (uint64_t)1 << 24;
    __asm__ volatile("msr fpcr, %0" : : "r"(control));
#endif
}

/// Makes the pages of the stack present before the first deadline.
static __attribute__((noinline)) void touch_stack(void)
{
    volatile char bytes[TOUCHED_STACK_BYTES];
    for (size_t i = 0; i < sizeof bytes; i += 1024)
        bytes[i] = 0;
}

static void *run(void *argument)
{
    struct start start = *(struct start *)argument;
    free(argument);
    touch_stack();
    flush_denormals();
    if (btcall_realtime_armed)
        btcall_realtime_armed(1);
    start.body(start.context);
    if (btcall_realtime_armed)
        btcall_realtime_armed(0);
    return NULL;
}

int btcall_realtime_thread_start(
    struct btcall_realtime_thread *thread, int priority, void (*body)(void *), void *context)
{
    struct start *start = malloc(sizeof *start);
    if (!start)
        return ENOMEM;
    *start = (struct start){ body, context };

    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    size_t stack = STACK_BYTES;
    if (pthread_attr_setstacksize(&attributes, stack) != 0) {
        pthread_attr_destroy(&attributes);
        free(start);
        return EINVAL;
    }
    sigset_t all, previous;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    pthread_t handle;
    thread->is_realtime = 0;
    int error = EPERM;
    if (priority > 0) {
        struct sched_param parameter = { .sched_priority = priority };
        pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
        pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
        pthread_attr_setschedparam(&attributes, &parameter);
        error = pthread_create(&handle, &attributes, run, start);
        thread->is_realtime = error == 0;
    }
    if (error == EPERM) {
        pthread_attr_setinheritsched(&attributes, PTHREAD_INHERIT_SCHED);
        error = pthread_create(&handle, &attributes, run, start);
    }
    pthread_sigmask(SIG_SETMASK, &previous, NULL);
    pthread_attr_destroy(&attributes);
    if (error != 0) {
        free(start);
        return error;
    }
    pthread_setname_np(handle, "btcall-rt");
    thread->handle = (unsigned long)handle;
    return 0;
}

int btcall_realtime_thread_join(struct btcall_realtime_thread *thread)
{
    return pthread_join((pthread_t)thread->handle, NULL);
}

int btcall_lock_memory(void)
{
    struct rlimit limit;
    if (geteuid() != 0 && (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY))
        return EPERM;
    return mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0 ? 0 : errno;
}

// Only code that the thread runs: the program itself and the libraries named in realtime.h, dsp.h and CVoiceProcessing.h.
static int is_realtime_code(const char *name)
{
    static const char *const libraries[] = { "libasound", "libsbc", "libspeexdsp", "libwebrtc" };
    if (name == NULL || name[0] == '\0')
        return 1;
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
        if (strstr(name, libraries[i]) != NULL)
            return 1;
    return 0;
}

static int prefault_object(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    if (!is_realtime_code(info->dlpi_name))
        return 0;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
            continue;
        uintptr_t start = (info->dlpi_addr + header->p_vaddr) & ~(page - 1);
        uintptr_t end = info->dlpi_addr + header->p_vaddr + header->p_filesz;
#ifdef MADV_POPULATE_READ
        if (madvise((void *)start, end - start, MADV_POPULATE_READ) == 0)
            continue;
#endif
        for (uintptr_t address = start; address < end; address += page)
            (void)*(const volatile char *)address;
    }
    return 0;
}

void btcall_prefault_code(void)
{
    dl_iterate_phdr(prefault_object, NULL);
}

int btcall_realtime_eventfd(void)
{
    int descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

int btcall_pcm_wake_pair(int descriptors[2])
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, descriptors) < 0)
        return -errno;
    // The kernel's minimum: a handful of wake-ups. More would carry no information.
    int bytes = 0;
    if (setsockopt(descriptors[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes) == 0
        && shutdown(descriptors[0], SHUT_RD) == 0)
        return 0;
    int code = errno;
    close(descriptors[0]);
    close(descriptors[1]);
    return -code;
}

static _Thread_local char last_message[256];
static _Thread_local int has_message;

/// Runs on whichever thread fails; formats into that thread's own buffer, so nothing is printed or allocated.
static void keep_message(const char *file, int line, const char *function, int error, const char *format, ...)
{
    (void)file;
    (void)line;
    (void)function;
    (void)error;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_message, sizeof last_message, format, arguments);
    va_end(arguments);
    has_message = 1;
}

void *btcall_alsa_message_handler(void)
{
    return (void *)keep_message;
}

const char *btcall_alsa_last_message(void)
{
    if (!has_message)
        last_message[0] = 0;
    has_message = 0;
    return last_message;
}
