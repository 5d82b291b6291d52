// System calls of the control plane that Swift cannot reach: variadic functions, macros and GNU extensions.
// All functions return -1 and set errno on failure unless they say otherwise. None of them is for the real-time thread.
#ifndef BTCALL_CONTROL_H
#define BTCALL_CONTROL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

// Waits for events at most `timeout` nanoseconds; negative waits without end. Nanosecond resolution if the kernel has
// epoll_pwait2 (5.11), otherwise whole milliseconds, rounded up so that a timer never fires early.
int btcall_epoll_wait(int epoll, struct epoll_event *events, int capacity, int64_t timeout);

// Registers with EPOLL_CTL_ADD, _MOD or _DEL; `token` comes back in the event's data.u64.
int btcall_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t token);

// A value that differs between running threads; two loads of thread-local storage, no system call.
uintptr_t btcall_thread_token(void);

// Names the calling thread (at most 15 bytes are kept).
void btcall_set_thread_name(const char *name);

// The symbolic name of an error number ("ECONNREFUSED"), or NULL.
const char *btcall_error_name(int code);

// Starts a detached thread with a stack of `stack` bytes, or the machine's least (16 KiB on amd64, 128 KiB on arm64). It takes
// no signals, and neither do threads that it starts: a signal for the process goes to the loop or to a thread of somebody else.
// Returns 0 or an error number.
int btcall_start_thread(size_t stack, void (*body)(void *), void *context);

// Blocks or unblocks a signal in the calling thread. Returns 0 or an error number.
int btcall_mask_signal(int signal, int blocked);

// A signalfd for the signals of `numbers`; `descriptor` -1 creates it, otherwise its set is replaced.
int btcall_signal_descriptor(int descriptor, const int *numbers, size_t count);

// Reads one signal number from a signalfd; 0 if none is pending.
int btcall_read_signal(int descriptor);

// Sends bytes and, if `count` is not zero, copies of up to BTCALL_MAX_DESCRIPTORS descriptors with them.
#define BTCALL_MAX_DESCRIPTORS 16
ssize_t btcall_send_descriptors(
    int socket, const void *bytes, size_t length, const int *descriptors, size_t count, int flags);

// Receives bytes and descriptors (close-on-exec). *count is the room in `descriptors` on entry, and their number on return.
// Descriptors without room are closed and MSG_CTRUNC is set in *outcome; MSG_TRUNC there means that bytes were cut off.
ssize_t btcall_receive_descriptors(
    int socket, void *bytes, size_t capacity, int *descriptors, size_t *count, int flags, int *outcome);

// Closes a descriptor that another program has created. Its last close may block for as long as that program likes
// (SO_LINGER, a file system of its own), so a thread of its own does it. Returns at once.
void btcall_close_elsewhere(int descriptor);

// Number of descriptors that are being closed that way, or wait for it.
int btcall_closes_waiting(void);

// Closes our end of a unix socket whose other end a client has. Unread data of the client is dropped; if it contains
// descriptors, a separate thread closes them (`btcall_close_elsewhere`). The client sees the end at once.
void btcall_close_peer(int socket);

// accept4 with SOCK_CLOEXEC and SOCK_NONBLOCK.
int btcall_accept(int socket);

// The process and user at the other end of a unix socket.
int btcall_peer_credentials(int socket, pid_t *process, uid_t *user);

// A descriptor that becomes readable when a child has ended; close-on-exec. ENOSYS before Linux 5.3.
int btcall_open_process(pid_t process);

// Forbids the calling thread, or all of them, and threads that they start from now on, to run another program: execve fails
// with EPERM, also for libraries. This cannot be undone. ENOSYS on architectures other than x86-64, arm64 and riscv64.
int btcall_forbid_programs(int all_threads);

// prctl with one argument.
int btcall_process_control(int operation, unsigned long argument);

// Passes every job that the Swift runtime would give to its thread pool to `enqueue`, which any thread may call. The runtime
// resumes a task that has waited for a continuation or another task there, whatever actor it belongs to (seen with 6.3.1),
// and that alone would start the pool's threads. Call this before any task exists.
void btcall_replace_global_executor(void (*enqueue)(void *job));

// Sends one datagram to the unix socket at `path` ('@' first: abstract) without waiting.
int btcall_send_datagram(const char *path, const void *bytes, size_t length);

// Creates shareable memory of `bytes` zero bytes with fixed size and seals (memfd_create). Close-on-exec.
int btcall_sealed_memory(const char *name, size_t bytes);

// Creates shareable memory of `bytes` zero bytes with fixed size for others to read. *start becomes the caller's own mapping,
// to read and write. The returned descriptor can only be read, and nobody can map it to write, not even after opening it
// again (F_SEAL_FUTURE_WRITE; before Linux 5.1 the owner's programs can). Close-on-exec. Needs /proc.
int btcall_memory_for_readers(const char *name, size_t bytes, void **start);

// The size of memory that nobody can shrink, so that an access to a mapping of it never fails. EPERM for anything else.
int btcall_size_if_sealed(int descriptor, size_t *bytes);

// Creates a non-blocking unix socket that listens at `path` for whole messages; replaces a socket there if no program
// listens on it. Mode and `group` (unless -1) are set before anybody can connect, and not by the path, which something else
// could have replaced meanwhile. *grouped is 0 if the group was set, otherwise an error number.
int btcall_listen_at(const char *path, unsigned mode, gid_t group, int *grouped);

// Holds the file at `path` without opening it (O_PATH); a symbolic link is held itself. Close-on-exec.
int btcall_open_path(const char *path);

// Opens /dev/null for each of the descriptors 0, 1 and 2 that is closed. Call it before any other descriptor is opened.
int btcall_open_standard_descriptors(void);

// Writes without waiting, whatever the file's flags are, which other processes may share. Returns the number of written
// bytes, perhaps not all; -1 with EAGAIN if there is no room. A regular file is written to as usual.
ssize_t btcall_write_now(int descriptor, const void *bytes, size_t length);

// Replaces a shared open file of a pipe or terminal by a non-blocking one of its own. Does nothing if it may not be
// reopened.
void btcall_detach_descriptor(int descriptor);

#ifdef __cplusplus
}
#endif

#endif
