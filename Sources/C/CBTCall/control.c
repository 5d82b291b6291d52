#define _GNU_SOURCE
#include "include/control.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

int btcall_epoll_wait(int epoll, struct epoll_event *events, int capacity, int64_t timeout)
{
#ifdef SYS_epoll_pwait2
    static int missing;
    if (!__atomic_load_n(&missing, __ATOMIC_RELAXED)) {
        // The kernel's layout: 64-bit fields even if the C library's time_t is narrower.
        struct { int64_t seconds, nanoseconds; } limit = { timeout / 1000000000, timeout % 1000000000 };
        long count = syscall(SYS_epoll_pwait2, epoll, events, capacity, timeout < 0 ? NULL : &limit, NULL, (size_t)0);
        if (count >= 0 || (errno != ENOSYS && errno != EPERM))
            return (int)count;
        __atomic_store_n(&missing, 1, __ATOMIC_RELAXED);
    }
#endif
    int milliseconds = -1;
    if (timeout >= 0) {
        int64_t rounded = timeout / 1000000 + (timeout % 1000000 != 0);
        milliseconds = rounded > 86400000 ? 86400000 : (int)rounded;
    }
    return epoll_wait(epoll, events, capacity, milliseconds);
}

int btcall_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t token)
{
    struct epoll_event event = { .events = events, .data.u64 = token };
    return epoll_ctl(epoll, operation, descriptor, &event);
}

uintptr_t btcall_thread_token(void)
{
    static __thread char token;
    return (uintptr_t)&token;
}

void btcall_set_thread_name(const char *name)
{
    char cut[16] = { 0 };
    strncpy(cut, name, sizeof cut - 1);
    pthread_setname_np(pthread_self(), cut);
}

const char *btcall_error_name(int code)
{
    return strerrorname_np(code);
}

struct start {
    void (*body)(void *);
    void *context;
};

static void *enter(void *argument)
{
    struct start start = *(struct start *)argument;
    free(argument);
    start.body(start.context);
    return NULL;
}

// Blocks all signals in the calling thread but those of a fault, which belong to the thread that causes it.
static void block_signals(sigset_t *previous)
{
    static const int faults[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP };
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t index = 0; index < sizeof faults / sizeof *faults; index++)
        sigdelset(&blocked, faults[index]);
    pthread_sigmask(SIG_BLOCK, &blocked, previous);
}

int btcall_start_thread(size_t stack, void (*body)(void *), void *context)
{
    long least = sysconf(_SC_THREAD_STACK_MIN);
    if (least > 0 && stack < (size_t)least)
        stack = (size_t)least;
    pthread_attr_t attributes;
    int code = pthread_attr_init(&attributes);
    if (code != 0)
        return code;
    struct start *start = malloc(sizeof *start);
    if (start == NULL) {
        code = ENOMEM;
    } else {
        pthread_t thread;
        *start = (struct start){ body, context };
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        code = pthread_attr_setstacksize(&attributes, stack);
        if (code == 0) {
            sigset_t previous;
            block_signals(&previous);
            code = pthread_create(&thread, &attributes, enter, start);
            pthread_sigmask(SIG_SETMASK, &previous, NULL);
        }
        if (code != 0)
            free(start);
    }
    pthread_attr_destroy(&attributes);
    return code;
}

int btcall_mask_signal(int signal, int blocked)
{
    sigset_t set;
    sigemptyset(&set);
    if (sigaddset(&set, signal) != 0)
        return errno;
    return pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

int btcall_signal_descriptor(int descriptor, const int *numbers, size_t count)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t index = 0; index < count; index++)
        if (sigaddset(&set, numbers[index]) != 0)
            return -1;
    return signalfd(descriptor, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

int btcall_read_signal(int descriptor)
{
    struct signalfd_siginfo info;
    ssize_t length;
    do
        length = read(descriptor, &info, sizeof info);
    while (length < 0 && errno == EINTR);
    return length == sizeof info ? (int)info.ssi_signo : 0;
}

int btcall_open_process(pid_t process)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, process, 0U);
#else
    (void)process;
    errno = ENOSYS;
    return -1;
#endif
}

int btcall_process_control(int operation, unsigned long argument)
{
    return prctl(operation, argument, 0UL, 0UL, 0UL);
}

// The runtime's hook for embedders, with Swift's calling convention; `original` is the runtime's default.
typedef __attribute__((swiftcall)) void (*enqueue_hook)(void *job, void *original);
extern enqueue_hook swift_task_enqueueGlobal_hook;

static void (*global_enqueue)(void *job);

static __attribute__((swiftcall)) void enqueue_globally(void *job, void *original)
{
    (void)original;
    global_enqueue(job);
}

void btcall_replace_global_executor(void (*enqueue)(void *job))
{
    global_enqueue = enqueue;
    swift_task_enqueueGlobal_hook = enqueue_globally;
}

int btcall_sealed_memory(const char *name, size_t bytes)
{
    int descriptor = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0)
        return -1;
    if (ftruncate(descriptor, (off_t)bytes) == 0
        && fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return descriptor;
    int code = errno;
    close(descriptor);
    errno = code;
    return -1;
}

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

int btcall_memory_for_readers(const char *name, size_t bytes, void **start)
{
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    int reading = -1;
    void *mapped = MAP_FAILED;
    int descriptor = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0)
        return -1;
    if (ftruncate(descriptor, (off_t)bytes) == 0)
        mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    // The seal does not concern the mapping that exists. Before Linux 5.1 there is only the mode.
    if (mapped != MAP_FAILED && fchmod(descriptor, S_IRUSR) == 0
        && (fcntl(descriptor, F_ADD_SEALS, seals | F_SEAL_FUTURE_WRITE) == 0
            || (errno == EINVAL && fcntl(descriptor, F_ADD_SEALS, seals) == 0))) {
        char path[32];
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
        reading = open(path, O_RDONLY | O_CLOEXEC);
    }
    int code = errno;
    close(descriptor);
    if (reading >= 0)
        *start = mapped;
    else if (mapped != MAP_FAILED)
        munmap(mapped, bytes);
    errno = code;
    return reading;
}

int btcall_size_if_sealed(int descriptor, size_t *bytes)
{
    struct stat found;
    int seals = fcntl(descriptor, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK)) {
        errno = EPERM;
        return -1;
    }
    if (fstat(descriptor, &found) != 0)
        return -1;
    *bytes = (size_t)found.st_size;
    return 0;
}

int btcall_open_standard_descriptors(void)
{
    for (int number = 0; number < 3; number++) {
        if (fcntl(number, F_GETFD) >= 0 || errno != EBADF)
            continue;
        // The lowest free number is this one. Without /dev (a bare chroot) it is a descriptor that can neither be read nor
        // written.
        int descriptor = open("/dev/null", O_RDWR);
        if (descriptor < 0)
            descriptor = open("/", O_PATH);
        if (descriptor != number)
            return -1;
    }
    return 0;
}

// Bytes that a terminal gets at once if only poll reports room, because poll does not say how much. A line feed that needs
// the room of two characters may still have to wait for one. btcall_detach_descriptor helps if the terminal can be reopened.
static const size_t terminal_piece = 1;

ssize_t btcall_write_now(int descriptor, const void *bytes, size_t length)
{
    struct stat found;
    if (fstat(descriptor, &found) != 0)
        return -1;
    ssize_t written;
    if (S_ISSOCK(found.st_mode)) {
        do
            written = send(descriptor, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
        while (written < 0 && errno == EINTR);
        return written;
    }
    if (!S_ISREG(found.st_mode)) {
#ifdef RWF_NOWAIT
        // Pipes since Linux 6.4.
        struct iovec vector = { (void *)bytes, length };
        written = pwritev2(descriptor, &vector, 1, -1, RWF_NOWAIT);
        if (written >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL && errno != EPERM))
            return written;
#endif
        // A pipe then has room for a page; only another writer between the two calls could take it.
        struct pollfd ready = { .fd = descriptor, .events = POLLOUT };
        if (poll(&ready, 1, 0) <= 0 || (ready.revents & (POLLOUT | POLLERR | POLLHUP)) == 0) {
            errno = EAGAIN;
            return -1;
        }
        size_t most = S_ISCHR(found.st_mode) ? terminal_piece : PIPE_BUF;
        if (length > most)
            length = most;
    }
    do
        written = write(descriptor, bytes, length);
    while (written < 0 && errno == EINTR);
    return written;
}

void btcall_detach_descriptor(int descriptor)
{
    struct stat found;
    if (fstat(descriptor, &found) != 0 || !(S_ISFIFO(found.st_mode) || isatty(descriptor)))
        return;
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    // Refused for another user's pipe, and without /proc.
    int own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own < 0)
        return;
    dup2(own, descriptor);
    close(own);
}

int btcall_open_path(const char *path)
{
    return open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}
