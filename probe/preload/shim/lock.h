/*
 * Locks and waits on a futex. Before glibc 2.34 the C library's are in libpthread,
 * which a program that uses no GPU need not load. Zeroed memory is a free lock.
 */
#ifndef VRAMSCOPE_PRELOAD_LOCK_H
#define VRAMSCOPE_PRELOAD_LOCK_H

#include <stdint.h>

struct lock {
	int state; /* 0: free; 1: held; 2: held, and another thread may wait */
};

#define FOREVER UINT64_MAX

/* Waits while the word has that value, for at most that many milliseconds; it may return early. */
void futex_wait(int *word, int value, uint64_t most);
void futex_wake(int *word, int most);

int lock_wait(struct lock *lock, uint64_t most); /* 0: not within that many milliseconds */

static inline int lock_take_within(struct lock *lock, uint64_t most)
{
	int free = 0;
	return __atomic_compare_exchange_n(&lock->state, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) || lock_wait(lock, most);
}

static inline void lock_take(struct lock *lock)
{
	(void)lock_take_within(lock, FOREVER);
}

static inline void lock_give(struct lock *lock)
{
	if (__atomic_exchange_n(&lock->state, 0, __ATOMIC_RELEASE) == 2)
		futex_wake(&lock->state, 1);
}

/* How many of the stats' locks this thread holds or waits for. */
extern __thread volatile int own_locks __attribute__((tls_model("initial-exec")));

/*
 * A lock of the stats, taken on the program's threads. A signal handler may run
 * while the lock is held, and call CUDA, for example to exit. own_locks makes its
 * hooks count nothing, because they would wait for ever.
 */
static inline void stats_lock(struct lock *lock)
{
	own_locks++;
	lock_take(lock);
}

static inline void stats_unlock(struct lock *lock)
{
	lock_give(lock);
	own_locks--;
}

#endif
