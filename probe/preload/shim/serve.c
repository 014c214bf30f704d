/*
 * The serving thread: a loop over the socket, its connections, and the thread
 * that runs a flush.
 *
 *   poll ─┬ listener ── check the peer's user ── connection
 *         ├ connection ── lines ── answer.c ── the answer, or a flush for the other thread
 *         ├ wakeup ←── the flush has ended
 *         └ every few seconds: check that the socket's name still leads here
 *
 * These threads block all signals.
 */
#define _GNU_SOURCE
#include "server.h"
#include "rescue.h"

#include <errno.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHECK_TIME = 5000, TICK = 500 };

static void *run_flush(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "vramscope", 0, 0, 0);
	own_thread.depth = 1; /* this thread's CUDA calls are not counted */
	if (driver_enter()) {
		flush_run(&server.flush, &server.flushed);
		driver_leave();
	}
	lock_take(&server_loop);
	enum program program = program_now(&server.main_thread, 2);
	lock_give(&server_loop);
	if (program == SEALED)
		park(2);
	__atomic_store_n(&server.flush_done, 1, __ATOMIC_RELEASE);
	if (program != SEALED && descriptor_is(&server.waker))
		(void)!write(server.waker.number, "", 1); /* the loop also polls flush_done */
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
	if (connection->file.number < 0 || connection->serial != server.asker_serial)
		return; /* the monitor has disconnected */
	struct text *answer = &server.answer;
	if (server.flushed.used == 0 || server.flushed.overflowed) {
		answer_refusal(answer, &server.flush_id, "internal", "the process is exiting");
	} else {
		answer->used = 0;
		answer->overflowed = 0;
		text_add(answer, "{\"id\":%llu,\"ok\":true,%.*s}\n", (unsigned long long)server.flush_id, (int)server.flushed.used,
		         server.flushed.at);
	}
	connection->waiting = 0;
	connection_send(connection, answer);
}

/* Answers the received lines in order; a flush is awaited before the next line. */
static void answer_all(struct connection *connection)
{
	const char *line;
	size_t length;
	while (connection->file.number >= 0 && !connection->waiting && !connection->closing &&
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

static void accept_monitors(void)
{
	int file;
	if (!descriptor_listens(&server.address.listener)) {
		server.checked = 0; /* the program has closed it: bind again at once */
		return;
	}
	for (;;) {
		file = accept4(server.address.listener.number, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (file < 0) {
			/* The monitor remains in the queue, so polling the listener would spin. */
			server.out_of_files = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
			return;
		}
		struct ucred peer = { .uid = (uid_t)-1 };
		socklen_t size = sizeof peer;
		struct connection *place = NULL;
		for (int i = 0; i < MONITORS && !place; i++)
			if (server.connections[i].file.number < 0)
				place = &server.connections[i];
		struct text *answer = &server.answer;
		if (getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || (peer.uid != geteuid() && peer.uid != 0))
			answer_refusal(answer, NULL, "forbidden", "this is another user's process");
		else if (!place)
			answer_refusal(answer, NULL, "busy", "too many monitors are already connected");
		else {
			connection_open(place, file);
			continue;
		}
		(void)!send(file, answer->at, answer->used, MSG_NOSIGNAL | MSG_DONTWAIT); /* the connection is closed anyway */
		close(file);
	}
}

/* Begins to listen, and does so again if the socket's name no longer leads here. */
static void check_socket(void)
{
	uint64_t now = milliseconds();
	if (server.checked && now - server.checked < CHECK_TIME)
		return;
	server.checked = now;
	if (driver_enter()) {
		rescue_prepare();
		driver_leave();
	}
	if (server.bound && descriptor_listens(&server.address.listener) && address_is_valid(&server.address))
		return;
	if (server.bound)
		descriptor_close(&server.address.listener);
	server.bound = address_bind(&server.address);
}

/* Fills in the descriptors to poll, and returns the timeout in milliseconds. */
static int wish(struct pollfd wanted[MONITORS + 2])
{
	int busy = server.flushing || server.out_of_files, admits = server.bound && !server.out_of_files;
	server.out_of_files = 0;
	wanted[0] = (struct pollfd){ .fd = admits ? server.address.listener.number : -1, .events = POLLIN };
	wanted[1] = (struct pollfd){ .fd = server.wakeup.number, .events = POLLIN };
	for (int i = 0; i < MONITORS; i++) {
		wanted[i + 2] = connection_wants(&server.connections[i]);
		busy |= connection_is_urgent(&server.connections[i]);
	}
	return busy ? TICK : CHECK_TIME;
}

static void attend(const struct pollfd wanted[MONITORS + 2], int ready)
{
	char woken[16];
	if (ready > 0 && wanted[1].revents && !descriptor_is(&server.wakeup))
		server.wakeup.number = -1; /* the program has closed it: the loop polls flush_done */
	else if (ready > 0 && wanted[1].revents && read(server.wakeup.number, woken, sizeof woken) == 0)
		descriptor_close(&server.wakeup); /* the program has closed the other end */
	if (ready > 0 && wanted[0].revents && server.bound)
		accept_monitors();
	end_flush();
	for (int i = 0; i < MONITORS; i++) {
		struct connection *connection = &server.connections[i];
		if (ready > 0 && wanted[i + 2].revents && connection->file.number == wanted[i + 2].fd)
			connection_move(connection, wanted[i + 2].revents);
		answer_all(connection);
		connection_expire(connection);
	}
}

/* The part of the loop under the lock. Returns what wish returns. */
static int work(struct pollfd wanted[MONITORS + 2], int ready)
{
	attend(wanted, ready);
	check_socket();
	return wish(wanted);
}

void *serve_run(void *unused)
{
	struct pollfd wanted[MONITORS + 2];
	enum program program;
	int ready = 0, most = 0;
	(void)unused;
	own_thread.depth = 1;
	for (;;) {
		lock_take(&server_loop);
		program = program_now(&server.main_thread, 1 + server.flushing);
		if (program != SEALED && !serves()) {
			lock_give(&server_loop);
			return NULL;
		}
		if (program == RUNNING && !most)
			prctl(PR_SET_NAME, "vramscope", 0, 0, 0);
		if (program == RUNNING)
			most = work(wanted, ready);
		else if (program == UNKNOWN)
			main_thread_open(&server.main_thread);
		lock_give(&server_loop);
		if (program == SEALED)
			park(1 + server.flushing);
		if (program == SEALED || program == ENDED) {
			end_program(&server.main_thread);
			return NULL; /* the return of the last thread calls exit */
		}
		ready = program == RUNNING ? poll(wanted, MONITORS + 2, most) : -1;
		if (ready < 0)
			(void)poll(NULL, 0, TICK); /* RLIMIT_NOFILE may be lower than the number of polled descriptors */
	}
}
