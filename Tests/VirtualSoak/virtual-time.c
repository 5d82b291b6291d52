// Virtual time for a program and its message bus. Preloaded by Tests/VirtualSoak/run; not part of btcall.
//
// Clocks stand still while any thread works. When all threads wait and nothing is ready for any of them, the clock jumps to
// the first deadline. Waiting for anything other than time (sockets, eventfds, epoll sets) is real.
//
// All processes share a file (VIRTUAL_TIME): the clock, and a slot for each thread. The first process is the leader: its
// threads see each other's descriptors and move the clock. A thread of another process (dbus-daemon) checks its own
// descriptors once more after the leader has last sent something out of its process. A local socket delivers before send()
// returns, so nothing can be in flight when all have been found waiting.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 32, MOST = 256, DESCRIPTORS = 4096, STALL_SECONDS = 30 };
// CLOCK_MONOTONIC begins at 1000 s, CLOCK_REALTIME at 2026-01-01 00:00 UTC: a run does not depend on the date.
static const int64_t begin_ns = 1000LL * 1000000000, realtime_ns = (1767225600LL - 1000) * 1000000000;

enum state { FREE, BUSY, WAITING, JOINING };

struct slot {
    int state, process, thread;
    int64_t deadline;
    uint64_t checked; // the traffic after which its descriptors were last found idle
};

struct shared {
    pthread_mutex_t lock;
    atomic_int leader;
    atomic_int_least64_t now;
    atomic_uint_least64_t traffic; // what the leader has sent out of its process
    atomic_uint_least64_t jumps;
    struct slot slots[SLOTS];
};

static struct shared *shared;
static char base[PATH_MAX];
static int kick[SLOTS];
static struct { struct pollfd *descriptors; nfds_t count; } waits[SLOTS];
static unsigned char outside[DESCRIPTORS];
static pthread_key_t leaving;
static __thread int mine = -1;

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define REAL(name) ({ static __typeof__(&name) next; if (!next) next = NEXT(name); next; })

static int real_poll(struct pollfd *descriptors, nfds_t count, const struct timespec *limit)
{
    return (int)REAL(syscall)(SYS_ppoll, descriptors, count, limit, NULL, 0);
}

static void give_up(const char *what)
{
    fprintf(stderr, "virtual-time: %s: %s\n", what, strerror(errno));
    abort();
}

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("VIRTUAL_TIME");
    if (path == NULL || shared != NULL)
        return;
    snprintf(base, sizeof base, "%s", path);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct stat found;
    if (file < 0 || fstat(file, &found) != 0)
        give_up(path);
    int is_first = found.st_size == 0;
    if (ftruncate(file, sizeof *shared) != 0)
        give_up("ftruncate");
    struct shared *map = mmap(NULL, sizeof *map, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED)
        give_up("mmap");
    REAL(close)(file);
    if (is_first) {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(&map->lock, &attributes);
        map->now = begin_ns;
        map->traffic = 1;
        map->leader = getpid();
    }
    for (int index = 0; index < SLOTS; index++)
        kick[index] = -1;
    shared = map;
}

static void leave(void *slot);

static void lock(void)
{
    if (pthread_mutex_lock(&shared->lock) == EOWNERDEAD) {
        // A process was killed: its threads no longer exist.
        pthread_mutex_consistent(&shared->lock);
    }
}

static void unlock(void) { pthread_mutex_unlock(&shared->lock); }

// A named pipe for each slot, which every process opens for reading and writing when it first needs it.
static int kick_of(int slot)
{
    if (kick[slot] >= 0)
        return kick[slot];
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s.%d", base, slot);
    if (mkfifo(path, 0600) != 0 && errno != EEXIST)
        give_up(path);
    int low = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (low < 0)
        give_up(path);
    kick[slot] = fcntl(low, F_DUPFD_CLOEXEC, 900);
    if (kick[slot] < 0)
        give_up("F_DUPFD_CLOEXEC");
    REAL(close)(low);
    return kick[slot];
}

static void wake(int slot)
{
    if (REAL(write)(kick_of(slot), "", 1) < 0 && errno != EAGAIN)
        give_up("write");
}

// Call with the lock held.
static int take_slot(void)
{
    static _Atomic int has_key;
    int expected = 0;
    if (atomic_compare_exchange_strong(&has_key, &expected, 1))
        pthread_key_create(&leaving, leave);
    for (int index = 0; index < SLOTS; index++) {
        if (shared->slots[index].state != FREE)
            continue;
        shared->slots[index] = (struct slot){ .state = BUSY, .process = getpid() };
        return index;
    }
    errno = EAGAIN;
    give_up("too many threads");
    return -1;
}

static void join_in(void)
{
    if (mine < 0) {
        lock();
        mine = take_slot();
        unlock();
    }
    if (shared->slots[mine].thread == 0) {
        shared->slots[mine].thread = (int)REAL(syscall)(SYS_gettid);
        pthread_setspecific(leaving, (void *)(intptr_t)(mine + 1));
    }
}

// Call with the lock held. Makes a thread of the leader check whether the clock can move, unless a busy thread will do so
// later.
static void pass_on(void)
{
    for (int index = 0; index < SLOTS; index++)
        if (shared->slots[index].state == BUSY)
            return;
    for (int index = 0; index < SLOTS; index++) {
        if (shared->slots[index].state == WAITING && shared->slots[index].process == shared->leader) {
            wake(index);
            return;
        }
    }
}

static void leave(void *slot)
{
    lock();
    shared->slots[(intptr_t)slot - 1].state = FREE;
    pass_on();
    unlock();
    mine = -1;
}

// Called with the lock held by a waiting thread of the leader. Moves the clock if nothing else can happen.
static void try_to_advance(void)
{
    struct pollfd all[MOST];
    nfds_t count = 0;
    int64_t first = INT64_MAX;
    int process = getpid(), is_asked = 0;
    for (int index = 0; index < SLOTS; index++) {
        struct slot *slot = &shared->slots[index];
        if (slot->state == BUSY)
            return;
        if (slot->state != WAITING)
            continue;
        if (slot->deadline < first)
            first = slot->deadline;
        if (slot->process != process)
            continue;
        for (nfds_t place = 0; place < waits[index].count && count < MOST; place++)
            all[count++] = waits[index].descriptors[place];
    }
    // That thread wakes without help.
    if (real_poll(all, count, &(struct timespec){ 0, 0 }) != 0)
        return;
    for (int index = 0; index < SLOTS; index++) {
        struct slot *slot = &shared->slots[index];
        if (slot->state != WAITING || slot->process == process || slot->checked == shared->traffic)
            continue;
        wake(index);
        is_asked = 1;
    }
    if (is_asked || first == INT64_MAX)
        return;
    if (first > shared->now)
        shared->now = first;
    shared->jumps++;
    for (int index = 0; index < SLOTS; index++) {
        struct slot *slot = &shared->slots[index];
        if (slot->state != WAITING || slot->deadline > shared->now)
            continue;
        slot->state = BUSY;
        if (index != mine)
            wake(index);
    }
}

static void tell_stall(void)
{
    static const char *const names[] = { "free", "busy", "waiting", "joining" };
    fprintf(stderr, "virtual-time: the clock has stood still for %d s:\n", STALL_SECONDS);
    for (int index = 0; index < SLOTS; index++) {
        struct slot *slot = &shared->slots[index];
        if (slot->state != FREE)
            fprintf(stderr, "  process %d thread %d %s until %.3f s, checked %llu of %llu\n", slot->process, slot->thread,
                names[slot->state], slot->deadline == INT64_MAX ? -1.0 : (double)slot->deadline / 1e9,
                (unsigned long long)slot->checked, (unsigned long long)shared->traffic);
    }
}

// Waits for descriptors until `deadline` of the virtual clock.
static int wait_until(struct pollfd *descriptors, nfds_t count, int64_t deadline)
{
    join_in();
    uint64_t traffic = shared->traffic;
    int ready = real_poll(descriptors, count, &(struct timespec){ 0, 0 });
    if (ready != 0 || deadline <= shared->now)
        return ready;
    struct slot *slot = &shared->slots[mine];
    struct pollfd all[MOST];
    if (count >= MOST) {
        errno = EINVAL;
        return -1;
    }
    memcpy(all, descriptors, count * sizeof *all);
    all[count] = (struct pollfd){ kick_of(mine), POLLIN, 0 };
    lock();
    waits[mine].descriptors = descriptors;
    waits[mine].count = count;
    slot->deadline = deadline;
    slot->checked = traffic;
    slot->state = WAITING;
    for (;;) {
        if (slot->process == shared->leader)
            try_to_advance();
        else
            pass_on();
        if (slot->state == BUSY)
            break;
        unlock();
        int64_t before = shared->now;
        ready = real_poll(all, count + 1, &(struct timespec){ STALL_SECONDS, 0 });
        int code = errno;
        if (ready == 0 && slot->process == shared->leader && before == shared->now && deadline != INT64_MAX)
            tell_stall();
        char drain[64];
        if (ready > 0 && all[count].revents != 0)
            while (read(all[count].fd, drain, sizeof drain) > 0) {}
        traffic = shared->traffic;
        int found = real_poll(descriptors, count, &(struct timespec){ 0, 0 });
        lock();
        if (found != 0 || (ready < 0 && code == EINTR) || slot->state == BUSY) {
            slot->state = BUSY;
            unlock();
            if (found == 0 && ready < 0) {
                errno = code;
                return -1;
            }
            return found;
        }
        slot->checked = traffic;
    }
    unlock();
    return 0;
}

static int64_t deadline_after(int64_t nanoseconds)
{
    return nanoseconds < 0 ? INT64_MAX : shared->now + nanoseconds;
}

// MARK: Clocks

static int64_t clock_of(clockid_t clock)
{
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_TAI: return shared->now + realtime_ns;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME: return shared->now;
    default: return -1;
    }
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    int64_t now = shared == NULL ? -1 : clock_of(clock);
    if (now < 0)
        return (int)REAL(syscall)(SYS_clock_gettime, clock, time);
    *time = (struct timespec){ now / 1000000000, now % 1000000000 };
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *time = (struct timeval){ now.tv_sec, now.tv_nsec / 1000 };
    return 0;
}

time_t time(time_t *into)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (into != NULL)
        *into = now.tv_sec;
    return now.tv_sec;
}

// MARK: Waiting calls

static int64_t nanoseconds_of(const struct timespec *time) { return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec; }

int ppoll(struct pollfd *descriptors, nfds_t count, const struct timespec *limit, const sigset_t *mask)
{
    if (shared == NULL || mask != NULL)
        return (int)REAL(syscall)(SYS_ppoll, descriptors, count, limit, mask, 8);
    return wait_until(descriptors, count, deadline_after(limit == NULL ? -1 : nanoseconds_of(limit)));
}

int poll(struct pollfd *descriptors, nfds_t count, int milliseconds)
{
    if (shared == NULL)
        return (int)REAL(syscall)(SYS_poll, descriptors, count, milliseconds);
    return wait_until(descriptors, count, deadline_after(milliseconds < 0 ? -1 : milliseconds * 1000000LL));
}

int __poll_chk(struct pollfd *descriptors, nfds_t count, int milliseconds, size_t size)
{
    (void)size;
    return poll(descriptors, count, milliseconds);
}

static int wait_epoll(int epoll, struct epoll_event *events, int capacity, int64_t nanoseconds)
{
    int ready = (int)REAL(syscall)(SYS_epoll_pwait, epoll, events, capacity, 0, NULL, 0);
    if (ready != 0 || nanoseconds == 0)
        return ready;
    struct pollfd descriptor = { epoll, POLLIN, 0 };
    if (wait_until(&descriptor, 1, deadline_after(nanoseconds)) < 0)
        return -1;
    return (int)REAL(syscall)(SYS_epoll_pwait, epoll, events, capacity, 0, NULL, 0);
}

int epoll_wait(int epoll, struct epoll_event *events, int capacity, int milliseconds)
{
    if (shared == NULL)
        return (int)REAL(syscall)(SYS_epoll_pwait, epoll, events, capacity, milliseconds, NULL, 0);
    return wait_epoll(epoll, events, capacity, milliseconds < 0 ? -1 : milliseconds * 1000000LL);
}

long syscall(long number, ...)
{
    long words[6];
    va_list list;
    va_start(list, number);
    for (int index = 0; index < 6; index++)
        words[index] = va_arg(list, long);
    va_end(list);
    if (shared != NULL && number == SYS_epoll_pwait2) {
        const struct timespec *limit = (const struct timespec *)words[3];
        return wait_epoll((int)words[0], (struct epoll_event *)words[1], (int)words[2],
            limit == NULL ? -1 : nanoseconds_of(limit));
    }
    return REAL(syscall)(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *request, struct timespec *left)
{
    if (shared == NULL || clock_of(clock) < 0)
        return (int)-REAL(syscall)(SYS_clock_nanosleep, clock, flags, request, left);
    int64_t time = nanoseconds_of(request);
    if (flags & TIMER_ABSTIME)
        time -= clock_of(clock) - shared->now;
    else
        time += shared->now;
    while (shared->now < time)
        wait_until(NULL, 0, time);
    return 0;
}

int nanosleep(const struct timespec *request, struct timespec *left)
{
    return clock_nanosleep(CLOCK_MONOTONIC, 0, request, left);
}

int usleep(useconds_t microseconds)
{
    struct timespec request = { microseconds / 1000000, microseconds % 1000000 * 1000 };
    return nanosleep(&request, NULL);
}

ssize_t recv(int socket, void *buffer, size_t length, int flags)
{
    if (shared != NULL && !(flags & MSG_DONTWAIT) && !(fcntl(socket, F_GETFL) & O_NONBLOCK)) {
        struct pollfd descriptor = { socket, POLLIN, 0 };
        while (wait_until(&descriptor, 1, INT64_MAX) == 0) {}
    }
    return REAL(recv)(socket, buffer, length, flags);
}

// MARK: Threads

struct beginning {
    void *(*body)(void *);
    void *argument;
    int slot;
};

static void *enter(void *argument)
{
    struct beginning beginning = *(struct beginning *)argument;
    free(argument);
    mine = beginning.slot;
    join_in();
    return beginning.body(beginning.argument);
}

// A thread is busy from its creation.
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument)
{
    struct beginning *beginning;
    if (shared == NULL || (beginning = malloc(sizeof *beginning)) == NULL)
        return REAL(pthread_create)(thread, attributes, body, argument);
    lock();
    *beginning = (struct beginning){ body, argument, take_slot() };
    unlock();
    int slot = beginning->slot;
    int code = REAL(pthread_create)(thread, attributes, enter, beginning);
    if (code != 0) {
        free(beginning);
        lock();
        shared->slots[slot].state = FREE;
        unlock();
    }
    return code;
}

int pthread_join(pthread_t thread, void **result)
{
    if (shared == NULL || mine < 0)
        return REAL(pthread_join)(thread, result);
    lock();
    shared->slots[mine].state = JOINING;
    pass_on();
    unlock();
    int code = REAL(pthread_join)(thread, result);
    lock();
    shared->slots[mine].state = BUSY;
    unlock();
    return code;
}

// No thread of a soak may take precedence over other programs.
int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *parameter)
{
    if (shared == NULL)
        return REAL(pthread_setschedparam)(thread, policy, parameter);
    return 0;
}

// MARK: Output of the process

static void sent(int descriptor, int is_sent)
{
    if (shared != NULL && is_sent && descriptor >= 0 && descriptor < DESCRIPTORS && outside[descriptor])
        shared->traffic++;
}

int connect(int socket, const struct sockaddr *address, socklen_t length)
{
    int code = REAL(connect)(socket, address, length);
    if (code == 0 && socket < DESCRIPTORS) {
        outside[socket] = 1;
        sent(socket, 1);
    }
    return code;
}

int close(int descriptor)
{
    int code = REAL(close)(descriptor);
    sent(descriptor, 1);
    if (descriptor >= 0 && descriptor < DESCRIPTORS)
        outside[descriptor] = 0;
    return code;
}

int shutdown(int socket, int how)
{
    int code = REAL(shutdown)(socket, how);
    sent(socket, 1);
    return code;
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags)
{
    ssize_t length = REAL(sendmsg)(socket, message, flags);
    sent(socket, length > 0);
    return length;
}

ssize_t send(int socket, const void *bytes, size_t length, int flags)
{
    ssize_t count = REAL(send)(socket, bytes, length, flags);
    sent(socket, count > 0);
    return count;
}

ssize_t write(int descriptor, const void *bytes, size_t length)
{
    ssize_t count = REAL(write)(descriptor, bytes, length);
    sent(descriptor, count > 0);
    return count;
}

ssize_t writev(int descriptor, const struct iovec *parts, int count)
{
    ssize_t length = REAL(writev)(descriptor, parts, count);
    sent(descriptor, length > 0);
    return length;
}

// MARK: For the program, which finds them by name

/// Bytes that the program has allocated and not freed.
size_t virtual_time_allocated(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/// Number of jumps of the clock; 0 without virtual time.
uint64_t virtual_time_jumps(void) { return shared == NULL ? 0 : shared->jumps; }
