/* Proves that the real-time thread neither allocates, waits for locks nor counts references: preloaded into the daemon, it
 * counts such calls on the thread that announces itself as the real-time one, in our code and in every library it calls.
 *
 *     gcc -O2 -fPIC -shared -o realtime-interposer.so realtime-interposer.c -ldl
 *     BTCALL_INTERPOSER_REPORT=/tmp/report LD_PRELOAD=./realtime-interposer.so btcalld ...
 *
 * The engine calls btcall_realtime_armed(1) at the start of its thread and btcall_realtime_armed(0) at its end; the
 * symbol is weak there, and absent without this library. The report is written at exit and on SIGUSR2: one line
 * "NAME COUNT" for each function, "armed COUNT", "total COUNT", "seen NAME..." with the functions that any thread came
 * through, then "at NAME MODULE+OFFSET" for the first violations. A check has to demand "armed" of at least 1, "total"
 * of 0, and that "seen" names malloc, pthread_mutex_lock and the Swift functions: what never was called was never watched.
 *
 * webrtc-audio-processing 1.x locks mutexes in the real-time thread. Each is tracked by its address. It is no violation while
 * only that thread uses it: from its first lock there until the mutex is initialised again or destroyed, no other thread locks
 * it. "own_locks COUNT" and "own_mutexes COUNT" count those. If another thread does lock it, the locks count as
 * pthread_mutex_lock; so does a lock that the real-time thread had to wait for.
 *
 * Needs a daemon that is linked dynamically, also with the Swift run time (the default of `swift build`; not
 * --static-swift-stdlib): calls within one static program cannot be interposed, malloc and mutexes of the C library
 * still are. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum name {
	MALLOC, CALLOC, REALLOC, FREE, POSIX_MEMALIGN, ALIGNED_ALLOC, MEMALIGN, MUTEX_LOCK, RWLOCK_RDLOCK, RWLOCK_WRLOCK,
	SWIFT_RETAIN, SWIFT_RELEASE, SWIFT_ALLOC_OBJECT, SWIFT_DEALLOC_OBJECT, SWIFT_BRIDGE_RETAIN, SWIFT_BRIDGE_RELEASE,
	SWIFT_RETAIN_N, SWIFT_RELEASE_N, SWIFT_UNOWNED_RETAIN, SWIFT_UNOWNED_RELEASE, SWIFT_WEAK_LOAD_STRONG, SWIFT_ONCE,
	NAMES
};
static const char *const names[NAMES] = {
	"malloc", "calloc", "realloc", "free", "posix_memalign", "aligned_alloc", "memalign", "pthread_mutex_lock",
	"pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "swift_retain", "swift_release", "swift_allocObject",
	"swift_deallocObject", "swift_bridgeObjectRetain", "swift_bridgeObjectRelease",
	"swift_retain_n", "swift_release_n", "swift_unownedRetain", "swift_unownedRelease", "swift_weakLoadStrong",
	"swift_once",
};

enum { MAXIMUM_PLACES = 32 };
static atomic_ulong counts[NAMES];
static atomic_bool seen[NAMES];
static atomic_uint armed_count;
static atomic_uint place_count;
static struct { enum name name; void *address; } places[MAXIMUM_PLACES];
static __thread int armed __attribute__((tls_model("initial-exec")));

/* The code of the library whose mutexes are tracked; found before the thread is armed. */
static atomic_uintptr_t library_start, library_end;

static int find_library(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	if (!info->dlpi_name || !strstr(info->dlpi_name, "libwebrtc-audio-processing-1"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		atomic_store(&library_start, info->dlpi_addr + header->p_vaddr);
		atomic_store(&library_end, info->dlpi_addr + header->p_vaddr + header->p_memsz);
	}
	return 1;
}

void btcall_realtime_armed(int on)
{
	if (on) {
		atomic_fetch_add(&armed_count, 1);
		dl_iterate_phdr(find_library, NULL);
	}
	armed = on;
}

static inline void count(enum name name, void *caller)
{
	if (!atomic_load_explicit(&seen[name], memory_order_relaxed))
		atomic_store_explicit(&seen[name], true, memory_order_relaxed);
	if (!armed)
		return;
	atomic_fetch_add(&counts[name], 1);
	unsigned place = atomic_fetch_add(&place_count, 1);
	if (place < MAXIMUM_PLACES) {
		places[place].name = name;
		places[place].address = caller;
	}
}
#define COUNT(name) count(name, __builtin_return_address(0))

/* The C library's own entries: no look-up, which would itself allocate. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) { COUNT(MALLOC); return __libc_malloc(size); }
void *calloc(size_t number, size_t size) { COUNT(CALLOC); return __libc_calloc(number, size); }
void *realloc(void *memory, size_t size) { COUNT(REALLOC); return __libc_realloc(memory, size); }
/* free(NULL) is harmless: qsort of glibc 2.36, which webrtc-audio-processing uses to sort 24 numbers, ends with it. */
void free(void *memory) { if (memory) COUNT(FREE); __libc_free(memory); }
void *memalign(size_t alignment, size_t size) { COUNT(MEMALIGN); return __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { COUNT(ALIGNED_ALLOC); return __libc_memalign(alignment, size); }
int posix_memalign(void **memory, size_t alignment, size_t size)
{
	COUNT(POSIX_MEMALIGN);
	if (alignment % sizeof(void *) || alignment & (alignment - 1) || !alignment)
		return EINVAL;
	void *result = __libc_memalign(alignment, size);
	if (!result)
		return ENOMEM;
	*memory = result;
	return 0;
}

/* The others are looked up at their first call, which is long before a thread is armed. */
static void *next(const char *symbol, void *_Atomic *cache)
{
	void *function = atomic_load_explicit(cache, memory_order_relaxed);
	if (!function) {
		function = dlsym(RTLD_NEXT, symbol);
		atomic_store_explicit(cache, function, memory_order_relaxed);
	}
	return function;
}

#define FORWARD(result, symbol, NAME, parameters, arguments)                            \
	result symbol parameters                                                        \
	{                                                                               \
		static void *_Atomic cache;                                             \
		COUNT(NAME);                                                            \
		return ((result(*) parameters)next(#symbol, &cache)) arguments;         \
	}

/* Mutexes that the library locks in the real-time thread, by address. An address keeps its place. */
enum { MAXIMUM_MUTEXES = 4096 };
static struct {
	_Atomic(pthread_mutex_t *) mutex;
	atomic_ulong locks;             /* by the real-time thread, since the mutex was initialised */
	atomic_bool shared;             /* another thread has locked it since then */
} mutexes[MAXIMUM_MUTEXES];
static atomic_ulong own_locks;          /* of destroyed mutexes */
static atomic_ulong own_mutexes;

/* The place of a mutex, or -1; `is_new` assigns one. */
static int place_of(pthread_mutex_t *mutex, bool is_new)
{
	unsigned place = (unsigned)(((uintptr_t)mutex >> 3) * 2654435761u) % MAXIMUM_MUTEXES;
	for (int tries = 0; tries < MAXIMUM_MUTEXES; tries++, place = (place + 1) % MAXIMUM_MUTEXES) {
		pthread_mutex_t *found = atomic_load_explicit(&mutexes[place].mutex, memory_order_acquire);
		if (!found && (!is_new || atomic_compare_exchange_strong(&mutexes[place].mutex, &found, mutex)))
			return is_new ? (int)place : -1;
		if (found == mutex)
			return (int)place;
	}
	return -1;
}

/* Whether a lock of the armed thread is its own. */
static bool is_own(pthread_mutex_t *mutex, void *caller)
{
	uintptr_t address = (uintptr_t)caller;
	if (address < atomic_load(&library_start) || address >= atomic_load(&library_end))
		return false;
	int place = place_of(mutex, true);
	if (place < 0 || atomic_load(&mutexes[place].shared))
		return false;
	if (atomic_fetch_add(&mutexes[place].locks, 1) == 0)
		atomic_fetch_add(&own_mutexes, 1);
	return true;
}

/* Another thread locks a mutex: the real-time thread could have waited at each of its earlier locks. */
static void taken_by_another(pthread_mutex_t *mutex, void *caller)
{
	int place = place_of(mutex, false);
	if (place < 0 || atomic_load(&mutexes[place].locks) == 0 || atomic_exchange(&mutexes[place].shared, true))
		return;
	unsigned long locks = atomic_exchange(&mutexes[place].locks, 0);
	atomic_fetch_sub(&own_mutexes, 1);
	atomic_fetch_add(&counts[MUTEX_LOCK], locks);
	unsigned known = atomic_fetch_add(&place_count, 1);
	if (known < MAXIMUM_PLACES) {
		places[known].name = MUTEX_LOCK;
		places[known].address = caller;
	}
}

/* A mutex is initialised or destroyed: its address now belongs to a different one. */
static void forget(pthread_mutex_t *mutex)
{
	int place = place_of(mutex, false);
	if (place < 0)
		return;
	atomic_fetch_add(&own_locks, atomic_exchange(&mutexes[place].locks, 0));
	atomic_store(&mutexes[place].shared, false);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	static void *_Atomic lock, *_Atomic try_lock;
	void *caller = __builtin_return_address(0);
	if (!atomic_load_explicit(&seen[MUTEX_LOCK], memory_order_relaxed))
		atomic_store_explicit(&seen[MUTEX_LOCK], true, memory_order_relaxed);
	if (!armed) {
		taken_by_another(mutex, caller);
	} else if (is_own(mutex, caller)) {
		int error = ((int (*)(pthread_mutex_t *))next("pthread_mutex_trylock", &try_lock))(mutex);
		if (error != EBUSY)
			return error;
		count(MUTEX_LOCK, caller);
	} else {
		count(MUTEX_LOCK, caller);
	}
	return ((int (*)(pthread_mutex_t *))next("pthread_mutex_lock", &lock))(mutex);
}

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
	static void *_Atomic cache;
	forget(mutex);
	return ((int (*)(pthread_mutex_t *, const pthread_mutexattr_t *))next("pthread_mutex_init", &cache))(mutex, attributes);
}

int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	static void *_Atomic cache;
	forget(mutex);
	return ((int (*)(pthread_mutex_t *))next("pthread_mutex_destroy", &cache))(mutex);
}

FORWARD(int, pthread_rwlock_rdlock, RWLOCK_RDLOCK, (pthread_rwlock_t *lock), (lock))
FORWARD(int, pthread_rwlock_wrlock, RWLOCK_WRLOCK, (pthread_rwlock_t *lock), (lock))
FORWARD(void *, swift_retain, SWIFT_RETAIN, (void *object), (object))
FORWARD(void, swift_release, SWIFT_RELEASE, (void *object), (object))
FORWARD(void *, swift_allocObject, SWIFT_ALLOC_OBJECT, (void *type, size_t size, size_t mask), (type, size, mask))
FORWARD(void, swift_deallocObject, SWIFT_DEALLOC_OBJECT, (void *object, size_t size, size_t mask), (object, size, mask))
FORWARD(void *, swift_bridgeObjectRetain, SWIFT_BRIDGE_RETAIN, (void *object), (object))
FORWARD(void, swift_bridgeObjectRelease, SWIFT_BRIDGE_RELEASE, (void *object), (object))
FORWARD(void *, swift_retain_n, SWIFT_RETAIN_N, (void *object, uint32_t number), (object, number))
FORWARD(void, swift_release_n, SWIFT_RELEASE_N, (void *object, uint32_t number), (object, number))
FORWARD(void *, swift_unownedRetain, SWIFT_UNOWNED_RETAIN, (void *object), (object))
FORWARD(void, swift_unownedRelease, SWIFT_UNOWNED_RELEASE, (void *object), (object))
FORWARD(void *, swift_weakLoadStrong, SWIFT_WEAK_LOAD_STRONG, (void *reference), (reference))
FORWARD(void, swift_once, SWIFT_ONCE, (void *once, void (*body)(void *), void *context), (once, body, context))

static void write_report(void)
{
	static char text[8192];
	static const char *path;
	size_t used = 0;
	unsigned long total = 0;
	int was_armed = armed;
	armed = 0;
	if (!path)
		path = getenv("BTCALL_INTERPOSER_REPORT");
	if (!path)
		goto out;
#define PUT(...) do { if (used < sizeof text) used += (size_t)snprintf(text + used, sizeof text - used, __VA_ARGS__); } while (0)
	for (int name = 0; name < NAMES; name++) {
		unsigned long value = atomic_load(&counts[name]);
		total += value;
		PUT("%s %lu\n", names[name], value);
	}
	unsigned long own = atomic_load(&own_locks);
	for (int place = 0; place < MAXIMUM_MUTEXES; place++)
		own += atomic_load(&mutexes[place].locks);
	PUT("own_locks %lu\nown_mutexes %lu\n", own, atomic_load(&own_mutexes));
	PUT("armed %u\ntotal %lu\nseen", atomic_load(&armed_count), total);
	for (int name = 0; name < NAMES; name++)
		if (atomic_load(&seen[name]))
			PUT(" %s", names[name]);
	PUT("\n");
	unsigned known = atomic_load(&place_count);
	for (unsigned place = 0; place < known && place < MAXIMUM_PLACES; place++) {
		Dl_info info = { 0 };
		if (dladdr(places[place].address, &info) && info.dli_fname)
			PUT("at %s %s+0x%lx %s\n", names[places[place].name], info.dli_fname,
				(unsigned long)((char *)places[place].address - (char *)info.dli_fbase),
				info.dli_sname ? info.dli_sname : "");
		else
			PUT("at %s %p\n", names[places[place].name], places[place].address);
	}
	if (used > sizeof text)
		used = sizeof text;
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (file >= 0) {
		for (size_t done = 0; done < used;) {
			ssize_t written = write(file, text + done, used - done);
			if (written <= 0)
				break;
			done += (size_t)written;
		}
		close(file);
	}
out:
	armed = was_armed;
}

static void on_signal(int number)
{
	(void)number;
	int saved = errno;
	write_report();
	errno = saved;
}

__attribute__((constructor)) static void set_up(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	sigaction(SIGUSR2, &action, NULL);
}

__attribute__((destructor)) static void tear_down(void)
{
	write_report();
}
