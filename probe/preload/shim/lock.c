/*
 * Waiting for locks: https://www.akkadia.org/drepper/futex.pdf, "Mutex, Take 2".
 */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void futex_wait(int *word, int value, uint64_t most)
{
	int before = errno;
	struct timespec limit = { .tv_sec = (time_t)(most / 1000), .tv_nsec = (long)(most % 1000) * 1000000 };
	(void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, most == FOREVER ? NULL : &limit);
	errno = before;
}

void futex_wake(int *word, int most)
{
	int before = errno;
	(void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, most);
	errno = before;
}

/* Most locks are held for one table access, and are free again before the kernel could put a thread to sleep. */
static int lock_spin(struct lock *lock)
{
	for (int i = 0; i < 32; i++) {
		int free = 0;
		if (__atomic_load_n(&lock->state, __ATOMIC_RELAXED) == 0 &&
		    __atomic_compare_exchange_n(&lock->state, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return 1;
#ifdef __x86_64__
		__builtin_ia32_pause();
#else
		__asm__ volatile("yield");
#endif
	}
	return 0;
}

int lock_wait(struct lock *lock, uint64_t most)
{
	if (lock_spin(lock))
		return 1;
	uint64_t began = most == FOREVER ? 0 : milliseconds();
	while (__atomic_exchange_n(&lock->state, 2, __ATOMIC_ACQUIRE) != 0) {
		uint64_t waited = most == FOREVER ? 0 : milliseconds() - began;
		if (waited > most)
			return 0;
		futex_wait(&lock->state, 2, most == FOREVER ? FOREVER : most - waited);
	}
	return 1;
}
