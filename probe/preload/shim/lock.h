/*
 * A lock of the books, in whatever thread of the program's. A signal may come
 * while it is held, and its handler may end the program, which frees its GPU
 * memory: so it is known that it is held, and hooks stay out of the books.
 */
#ifndef VRAMSCOPE_PRELOAD_LOCK_H
#define VRAMSCOPE_PRELOAD_LOCK_H

#include <pthread.h>

/* How many this thread holds or waits for. */
extern __thread volatile int own_locks __attribute__((tls_model("initial-exec")));

static inline void books_lock(pthread_mutex_t *lock)
{
	own_locks++;
	pthread_mutex_lock(lock);
}

static inline void books_unlock(pthread_mutex_t *lock)
{
	pthread_mutex_unlock(lock);
	own_locks--;
}

#endif
