/*
 * The serving thread's life: it starts with the first hook that sees a context or
 * memory, and ends before the driver is torn down, or when another probe of this
 * process takes over. A forked child has none until it uses a GPU.
 */
#define _GNU_SOURCE
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { STACK = 512 << 10 };

int serving; /* 0: not yet; 1: the thread was started; 2: no longer, another probe serves or the process exits */
struct server server = { .wakeup = { .number = -1 }, .waker = { .number = -1 } };
pthread_mutex_t server_loop = PTHREAD_MUTEX_INITIALIZER;

int serves(void)
{
	return __atomic_load_n(&serving, __ATOMIC_ACQUIRE) == 1;
}

static void stop_serving(void)
{
	__atomic_store_n(&serving, 2, __ATOMIC_RELEASE);
}

uint64_t milliseconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int add_variables(struct dl_phdr_info *object, size_t size, void *sum)
{
	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_TLS)
			*(size_t *)sum += (size_t)(object->dlpi_phdr[i].p_memsz + object->dlpi_phdr[i].p_align);
	return 0;
}

/* glibc places thread-local variables, of which a program may have many, on the thread's stack. */
static size_t stack_size(void)
{
	size_t variables = 0;
	(void)dl_iterate_phdr(add_variables, &variables);
	return (STACK + variables + 0xffff) & ~(size_t)0xffff; /* whole pages of any size in use */
}

int start_thread(void *(*run)(void *))
{
	sigset_t all, before;
	pthread_t thread;
	pthread_attr_t attributes;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, stack_size());
	int failed = pthread_create(&thread, &attributes, run, NULL);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !failed;
}

/* Runs before the driver's handlers, which were registered earlier. */
static void at_exit(void)
{
	if (!serves() || server.pid != getpid())
		return;
	driver_close();
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	if (pthread_mutex_timedlock(&server_loop, &until) != 0)
		return; /* the loop hangs in the driver: the socket's name is left for others to tidy up */
	stop_serving();
	if (server.bound)
		address_remove(&server.address);
	server.bound = 0;
	pthread_mutex_unlock(&server_loop);
}

static int prepare(void)
{
	for (int i = 0; i < MONITORS; i++)
		server.connections[i].file.number = -1;
	if (!server.answer.at)
		server.answer = (struct text){ .at = pages_alloc(LONGEST_LINE), .size = LONGEST_LINE };
	if (!server.flushed.at)
		server.flushed = (struct text){ .at = pages_alloc(LONGEST_LINE / 2), .size = LONGEST_LINE / 2 };
	int ends[2];
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
		server.wakeup = descriptor_of(ends[0]);
		server.waker = descriptor_of(ends[1]);
	}
	server.pid = getpid();
	address_environment(&server.address);
	return server.answer.at && server.flushed.at && server.wakeup.number >= 0;
}

void serve_start(void)
{
	static int registered;
	int not_yet = 0, before = errno;
	if (!__atomic_compare_exchange_n(&serving, &not_yet, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	if (!registered) {
		registered = 1;
		(void)atexit(at_exit);
		(void)pthread_atfork(NULL, NULL, reset_after_fork);
	}
	if (prepare())
		(void)start_thread(serve_run); /* without the thread there is no probe */
	errno = before;
}

void serve_reset(void)
{
	pthread_mutex_init(&server_loop, NULL);
	if (serves()) {
		if (server.bound)
			descriptor_close(&server.address.listener);
		descriptor_close(&server.wakeup);
		descriptor_close(&server.waker);
		for (int i = 0; i < MONITORS; i++)
			descriptor_close(&server.connections[i].file);
	}
	struct text answer = server.answer, flushed = server.flushed;
	memset(&server, 0, sizeof server);
	server.answer = answer;
	server.flushed = flushed;
	server.wakeup.number = server.waker.number = -1;
	__atomic_store_n(&serving, 0, __ATOMIC_RELEASE);
}

int serve_yield(void)
{
	pthread_mutex_lock(&server_loop);
	int was = serves();
	stop_serving();
	if (was && server.bound) {
		address_remove(&server.address);
		server.bound = 0;
	}
	for (int i = 0; was && i < MONITORS; i++)
		connection_close(&server.connections[i]);
	pthread_mutex_unlock(&server_loop);
	return was;
}

void serve_report(struct text *text)
{
	pthread_mutex_lock(&server_loop);
	if (driver_enter()) {
		report_stats(text);
		driver_leave();
	}
	pthread_mutex_unlock(&server_loop);
}
