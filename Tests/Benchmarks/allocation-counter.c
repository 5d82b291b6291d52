/* Counts a program's allocations: preloaded, it provides `btcall_allocations` to the program.
 *
 *     gcc -O2 -shared -fPIC -o allocation-counter.so allocation-counter.c
 *     LD_PRELOAD=./allocation-counter.so CommandBench
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

/* The C library's own entries: no look-up, which would itself allocate. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static atomic_ullong count;
/* Set in threads whose allocations do not count. */
static __thread int is_excluded __attribute__((tls_model("initial-exec")));

/* Number of allocations since the program began. */
unsigned long long btcall_allocations(void) { return atomic_load_explicit(&count, memory_order_relaxed); }

/* Excludes future allocations of the calling thread. */
void btcall_exclude_thread(void) { is_excluded = 1; }

static void note(void)
{
	if (!is_excluded) atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
}

void *malloc(size_t size)
{
	note();
	return __libc_malloc(size);
}

void *calloc(size_t number, size_t size)
{
	note();
	return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size)
{
	note();
	return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	note();
	return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
	note();
	*memory = __libc_memalign(alignment, size);
	return *memory ? 0 : ENOMEM;
}
