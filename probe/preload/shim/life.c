/*
 * The serving thread's life: it starts with the first hook that sees a context or
 * memory, and ends before the driver shuts down, or when another probe of this
 * process takes over. A forked child has none until it uses a GPU.
 */
#define _GNU_SOURCE
#include "server.h"
#include "rescue.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STACK = 512 << 10, PARKED_TIME = 5000 };

/* atexit and pthread_atfork, which are not in libc.so.6, call these. The weak one is absent in musl. */
extern int __cxa_atexit(void (*handler)(void *argument), void *argument, void *library);
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *library) __attribute__((weak));

int serving; /* 0: not yet; 1: yes, or the thread could not be started; 2: no more: filters, an exit or another probe prevent it */
struct server server;
struct lock server_loop;

int serves(void)
{
	return __atomic_load_n(&serving, __ATOMIC_ACQUIRE) == 1;
}

static void stop_serving(void)
{
	__atomic_store_n(&serving, 2, __ATOMIC_RELEASE);
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
	if (!LOADED(pthread_create) || LOADED(pthread_attr_init)(&attributes) != 0)
		return 0;
	(void)LOADED(pthread_attr_setdetachstate)(&attributes, PTHREAD_CREATE_DETACHED);
	(void)LOADED(pthread_attr_setstacksize)(&attributes, stack_size());
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before); /* sets this thread's mask; pthread_sigmask is in libpthread */
	int failed = LOADED(pthread_create)(&thread, &attributes, run, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	(void)LOADED(pthread_attr_destroy)(&attributes);
	return !failed;
}

/* Whether this is the main thread, or in a hook or one of ours. Other threads may have more filters.
 * In a child made without atfork handlers nothing here belongs to the child.
 */
static int is_known_thread(void)
{
	return own_thread.depth || syscall(SYS_gettid) == server.pid;
}

/* Runs before the driver's handlers, which were registered earlier. */
static void at_exit(void *unused)
{
	(void)unused;
	rescue_close();
	if (!serves())
		return;
	driver_close();
	if (!lock_take_within(&server_loop, 1000))
		return; /* the loop hangs in the driver: the socket's name is left for others to tidy up */
	enum program program = program_now(&server.main_thread, 0);
	stop_serving();
	if (server.bound && (program == RUNNING || program == ENDED) && is_known_thread())
		address_remove(&server.address);
	server.bound = 0;
	lock_give(&server_loop);
}

void park(int own_threads)
{
	static int never;
	enum program program;
	stop_serving();
	do {
		futex_wait(&never, 0, PARKED_TIME);
		lock_take(&server_loop);
		program = program_now(&server.main_thread, own_threads);
		lock_give(&server_loop);
	} while (program != ENDED);
}

static void forget_descriptors(void)
{
	server.main_thread.status.number = server.main_thread.stat.number = server.wakeup.number = server.waker.number = -1;
	for (int i = 0; i < MONITORS; i++)
		server.connections[i].file.number = -1;
}

static int prepare(void)
{
	forget_descriptors();
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
	main_thread_open(&server.main_thread);
	address_environment(&server.address);
	rescue_open(server.address.runtime);
	return server.answer.at && server.flushed.at && server.wakeup.number >= 0;
}

void serve_start(void)
{
	static int registered;
	int not_yet = 0, before = errno;
	if (!__atomic_compare_exchange_n(&serving, &not_yet, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	if (!may_serve()) {
		stop_serving();
		errno = before;
		return;
	}
	if (!registered) {
		registered = 1;
		(void)__cxa_atexit(at_exit, NULL, NULL);
		(void)__register_atfork(NULL, NULL, reset_after_fork, NULL);
	}
	if (prepare())
		(void)start_thread(serve_run); /* without the thread there is no probe */
	errno = before;
}

void serve_reset(void)
{
	server_loop = (struct lock){ 0 };
	if (serves()) {
		if (server.bound)
			descriptor_close(&server.address.listener);
		descriptor_close(&server.main_thread.status);
		descriptor_close(&server.main_thread.stat);
		descriptor_close(&server.wakeup);
		descriptor_close(&server.waker);
		for (int i = 0; i < MONITORS; i++)
			descriptor_close(&server.connections[i].file);
	}
	struct text answer = server.answer, flushed = server.flushed;
	memset(&server, 0, sizeof server);
	server.answer = answer;
	server.flushed = flushed;
	forget_descriptors();
	__atomic_store_n(&serving, 0, __ATOMIC_RELEASE);
}

int serve_yield(void)
{
	lock_take(&server_loop);
	int was = serves();
	stop_serving();
	if (was && server.bound) {
		address_remove(&server.address);
		server.bound = 0;
	}
	for (int i = 0; was && i < MONITORS; i++)
		connection_close(&server.connections[i]);
	lock_give(&server_loop);
	return was;
}

void serve_report(struct text *text)
{
	lock_take(&server_loop);
	if (driver_enter()) {
		rescue_prepare();
		report_stats(text);
		driver_leave();
	}
	lock_give(&server_loop);
}
