/*
 * The thread that serves: one loop over the socket, its connections, and the
 * thread that makes a flush.
 *
 *   poll ─┬ listener ── whose is it? ── connection
 *         ├ connection ── lines ── answer.c ── the answer, or a flush for the other thread
 *         ├ wakeup ←── the flush is done
 *         └ every few seconds: does the socket's name still lead here?
 *
 * The program's signals never arrive at these threads.
 */
#define _GNU_SOURCE
#include "connection.h"
#include "fork.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MONITORS = 16, PLACE_TIME = 5000, TICK = 500, STACK = 512 << 10 };

int serving; /* 0 not yet; 1 a thread has been started; 2 no more: another probe serves, or the end has come */

static int serves(void)
{
	return __atomic_load_n(&serving, __ATOMIC_ACQUIRE) == 1;
}

static void stop_serving(void)
{
	__atomic_store_n(&serving, 2, __ATOMIC_RELEASE);
}

static struct server {
	struct address address;
	int bound, wakeup;
	uint64_t looked;
	pid_t pid; /* who made the address */
	struct connection connections[MONITORS];
	struct text answer;
	/* The flush under way: the loop waits for done, the other thread sets it. */
	struct flush flush;
	struct text flushed;
	int flushing, flush_done;
	uint64_t flush_id;
	struct connection *asker;
	uint64_t asker_serial;
} server = { .wakeup = -1 };

/* Held by the loop for all but its waiting, so that the end of the process, and another probe, find it in order. */
static pthread_mutex_t loop = PTHREAD_MUTEX_INITIALIZER;

uint64_t milliseconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* A thread that the program's signals never reach, and whom nobody joins. */
static int start_thread(void *(*run)(void *))
{
	sigset_t all, before;
	pthread_t thread;
	pthread_attr_t attributes;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK);
	int failed = pthread_create(&thread, &attributes, run, NULL);
	/* A program with large thread-local variables needs more. */
	if (failed && pthread_attr_setstacksize(&attributes, 16 * STACK) == 0)
		failed = pthread_create(&thread, &attributes, run, NULL);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !failed;
}

static void *run_flush(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "vramscope", 0, 0, 0);
	own_thread.depth = 1; /* what this thread does with CUDA is not the program's */
	if (driver_enter()) {
		flush_run(&server.flush, &server.flushed);
		driver_leave();
	}
	__atomic_store_n(&server.flush_done, 1, __ATOMIC_RELEASE);
	uint64_t one = 1;
	(void)!write(server.wakeup, &one, sizeof one); /* the loop looks by itself, too */
	return NULL;
}

static void begin_flush(struct connection *connection, uint64_t id)
{
	server.flushing = 1;
	server.flush_done = 0;
	server.flush_id = id;
	server.asker = connection;
	server.asker_serial = connection->serial;
	server.flushed.used = 0;
	server.flushed.overflowed = 0;
	if (start_thread(run_flush)) {
		connection->waiting = 1;
		return;
	}
	server.flushing = 0;
	answer_refusal(&server.answer, &id, "internal", "no thread could be started for it");
	connection_send(connection, &server.answer);
}

static void end_flush(void)
{
	if (!server.flushing || !__atomic_load_n(&server.flush_done, __ATOMIC_ACQUIRE))
		return;
	server.flushing = 0;
	struct connection *connection = server.asker;
	if (connection->file < 0 || connection->serial != server.asker_serial)
		return; /* who asked has gone */
	struct text *answer = &server.answer;
	if (server.flushed.used == 0 || server.flushed.overflowed) {
		answer_refusal(answer, &server.flush_id, "internal", "the process is ending");
	} else {
		answer->used = 0;
		answer->overflowed = 0;
		text_add(answer, "{\"id\":%llu,\"ok\":true,%.*s}\n", (unsigned long long)server.flush_id, (int)server.flushed.used,
		         server.flushed.at);
	}
	connection->waiting = 0;
	connection_send(connection, answer);
}

/* Answers the lines that are there, up to one that asks for a flush: its answer comes before the next line's. */
static void answer_all(struct connection *connection)
{
	const char *line;
	size_t length;
	while (connection->file >= 0 && !connection->waiting && !connection->closing &&
	       connection_line(connection, &line, &length, &server.answer)) {
		uint64_t id = 0;
		struct flush wanted;
		enum verdict_of verdict = answer_line(line, length, server.flushing, &server.answer, &wanted, &id);
		if (verdict == FLUSHING) {
			server.flush = wanted;
			begin_flush(connection, id);
			continue;
		}
		connection->closing = verdict == GOODBYE;
		connection_send(connection, &server.answer);
	}
}

static void admit(void)
{
	int file;
	while ((file = accept4(server.address.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		struct ucred peer = { .uid = (uid_t)-1 };
		socklen_t size = sizeof peer;
		struct connection *place = NULL;
		for (int i = 0; i < MONITORS && !place; i++)
			if (server.connections[i].file < 0)
				place = &server.connections[i];
		struct text *answer = &server.answer;
		if (getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || (peer.uid != geteuid() && peer.uid != 0))
			answer_refusal(answer, NULL, "forbidden", "this is another user's process");
		else if (!place)
			answer_refusal(answer, NULL, "busy", "too many monitors are connected already");
		else {
			connection_open(place, file);
			continue;
		}
		(void)!send(file, answer->at, answer->used, MSG_NOSIGNAL | MSG_DONTWAIT); /* the closing says enough */
		close(file);
	}
}

/* Listens, or listens anew where the socket's name does not lead here any more. */
static void look_at_place(void)
{
	uint64_t now = milliseconds();
	if (server.looked && now - server.looked < PLACE_TIME)
		return;
	server.looked = now;
	if (server.bound && address_stands(&server.address))
		return;
	if (server.bound)
		close(server.address.listener);
	server.bound = address_bind(&server.address);
}

static void *run(void *unused)
{
	(void)unused;
	struct pollfd wanted[MONITORS + 2];
	prctl(PR_SET_NAME, "vramscope", 0, 0, 0);
	own_thread.depth = 1;
	for (;;) {
		pthread_mutex_lock(&loop);
		if (!serves()) {
			pthread_mutex_unlock(&loop);
			return NULL;
		}
		look_at_place();
		int busy = server.flushing;
		wanted[0] = (struct pollfd){ .fd = server.bound ? server.address.listener : -1, .events = POLLIN };
		wanted[1] = (struct pollfd){ .fd = server.wakeup, .events = POLLIN };
		for (int i = 0; i < MONITORS; i++) {
			wanted[i + 2] = connection_wants(&server.connections[i]);
			busy |= connection_is_pressed(&server.connections[i]);
		}
		pthread_mutex_unlock(&loop);
		int ready = poll(wanted, MONITORS + 2, busy ? TICK : PLACE_TIME);
		pthread_mutex_lock(&loop);
		uint64_t count;
		if (ready > 0 && wanted[1].revents)
			(void)!read(server.wakeup, &count, sizeof count); /* it was only to wake this thread */
		if (ready > 0 && wanted[0].revents && server.bound && serves())
			admit();
		end_flush();
		for (int i = 0; i < MONITORS; i++) {
			struct connection *connection = &server.connections[i];
			if (ready > 0 && wanted[i + 2].revents && connection->file == wanted[i + 2].fd)
				connection_move(connection, wanted[i + 2].revents);
			answer_all(connection);
			connection_expire(connection);
		}
		pthread_mutex_unlock(&loop);
	}
}

/* Before the driver's own handlers, which were there earlier. */
static void at_exit(void)
{
	if (!serves() || server.pid != getpid())
		return;
	driver_close();
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	if (pthread_mutex_timedlock(&loop, &until) != 0)
		return; /* it hangs in the driver: the socket's name stays, for others to tidy up */
	stop_serving();
	if (server.bound)
		address_leave(&server.address);
	server.bound = 0;
	pthread_mutex_unlock(&loop);
}

static int prepare(void)
{
	for (int i = 0; i < MONITORS; i++)
		server.connections[i].file = -1;
	if (!server.answer.at)
		server.answer = (struct text){ .at = pages_take(LONGEST_LINE), .size = LONGEST_LINE };
	if (!server.flushed.at)
		server.flushed = (struct text){ .at = pages_take(LONGEST_LINE / 2), .size = LONGEST_LINE / 2 };
	server.wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	server.pid = getpid();
	address_environment(&server.address);
	return server.answer.at && server.flushed.at && server.wakeup >= 0;
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
		(void)pthread_atfork(NULL, NULL, forget_everything);
	}
	if (prepare())
		(void)start_thread(run); /* without it there is no probe, and the program runs all the same */
	errno = before;
}

void serve_forget(void)
{
	pthread_mutex_init(&loop, NULL);
	if (serves()) {
		if (server.bound)
			close(server.address.listener);
		close(server.wakeup);
		for (int i = 0; i < MONITORS; i++)
			if (server.connections[i].file >= 0)
				close(server.connections[i].file);
	}
	struct text answer = server.answer, flushed = server.flushed;
	memset(&server, 0, sizeof server);
	server.answer = answer;
	server.flushed = flushed;
	server.wakeup = -1;
	__atomic_store_n(&serving, 0, __ATOMIC_RELEASE);
}

int serve_yield(void)
{
	pthread_mutex_lock(&loop);
	int was = serves();
	stop_serving();
	if (was && server.bound) {
		address_leave(&server.address);
		server.bound = 0;
	}
	for (int i = 0; was && i < MONITORS; i++)
		connection_close(&server.connections[i]);
	pthread_mutex_unlock(&loop);
	return was;
}

void serve_report(struct text *text)
{
	pthread_mutex_lock(&loop);
	if (driver_enter()) {
		report_stats(text);
		driver_leave();
	}
	pthread_mutex_unlock(&loop);
}
