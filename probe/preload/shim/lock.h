/*
 * A lock of the stats, taken on the program's threads. A signal handler may run
 * while it is held and call CUDA, say to exit: own_locks makes hooks there count
 * nothing instead of deadlocking.
 */
#ifndef VRAMSCOPE_PRELOAD_LOCK_H
#define VRAMSCOPE_PRELOAD_LOCK_H

#include <pthread.h>

/* How many such locks this thread holds or waits for. */
extern __thread volatile int own_locks __attribute__((tls_model("initial-exec")));

static inline void stats_lock(pthread_mutex_t *lock)
{
	own_locks++;
	pthread_mutex_lock(lock);
}

static inline void stats_unlock(pthread_mutex_t *lock)
{
	pthread_mutex_unlock(lock);
	own_locks--;
}

#endif
