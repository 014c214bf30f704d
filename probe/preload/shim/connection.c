#define _GNU_SOURCE
#include "connection.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	FIRST_BUFFER = 4 << 10,
	IDLE_TIME = 120 * 1000, /* without input; then the connection is closed */
	LINE_TIME = 5 * 1000,   /* from the first to the last byte of a request */
	WRITE_TIME = 2 * 1000,  /* for a monitor to accept an answer */
};

void connection_open(struct connection *connection, int file)
{
	uint64_t serial = connection->serial + 1;
	*connection = (struct connection){ .file = descriptor_of(file), .serial = serial, .heard = milliseconds() };
}

void connection_close(struct connection *connection)
{
	if (connection->file.number < 0)
		return;
	descriptor_close(&connection->file);
	if (connection->in)
		pages_free(connection->in, connection->capacity);
	if (connection->out)
		pages_free(connection->out, connection->size);
	uint64_t serial = connection->serial;
	*connection = (struct connection){ .file = { .number = -1 }, .serial = serial };
}

struct pollfd connection_wants(const struct connection *connection)
{
	short events = connection->out ? POLLOUT : connection->waiting || connection->closing ? 0 : POLLIN;
	return (struct pollfd){ .fd = connection->file.number, .events = events };
}

int connection_is_urgent(const struct connection *connection)
{
	return connection->file.number >= 0 && (connection->out || connection->closing || connection->have > connection->from);
}

/* Makes room at the end of in, up to the longest line. */
static int make_room(struct connection *connection)
{
	size_t held = connection->have - connection->from;
	if (connection->from > 0) {
		memmove(connection->in, connection->in + connection->from, held);
		connection->searched -= connection->from;
		connection->have = held;
		connection->from = 0;
	}
	if (connection->have < connection->capacity)
		return 1;
	size_t larger = connection->capacity ? 2 * connection->capacity : FIRST_BUFFER;
	char *in = larger <= LONGEST_LINE ? pages_alloc(larger) : NULL;
	if (!in)
		return 0;
	if (held)
		memcpy(in, connection->in, held);
	if (connection->in)
		pages_free(connection->in, connection->capacity);
	connection->in = in;
	connection->capacity = larger;
	return 1;
}

/* Closes descriptors that came with the input: no request takes any. */
static void drop_descriptors(struct msghdr *message)
{
	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int file;
			memcpy(&file, CMSG_DATA(part) + i * sizeof file, sizeof file);
			close(file);
		}
	}
}

static void receive(struct connection *connection)
{
	union {
		struct cmsghdr aligned;
		char bytes[256];
	} control;
	if (!make_room(connection))
		return;
	struct iovec into = { connection->in + connection->have, connection->capacity - connection->have };
	struct msghdr message = { .msg_iov = &into, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
	ssize_t length = recvmsg(connection->file.number, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (length <= 0) {
		connection_close(connection);
		return;
	}
	drop_descriptors(&message);
	connection->heard = milliseconds();
	if (connection->have == connection->from)
		connection->began = connection->heard;
	connection->have += (size_t)length;
}

static void transmit(struct connection *connection)
{
	ssize_t sent = send(connection->file.number, connection->out + connection->sent, connection->size - connection->sent,
	                    MSG_NOSIGNAL | MSG_DONTWAIT);
	if (sent < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (sent < 0) {
		connection_close(connection);
		return;
	}
	connection->sent += (size_t)sent;
	if (connection->sent < connection->size)
		return;
	pages_free(connection->out, connection->size);
	connection->out = NULL;
}

void connection_move(struct connection *connection, short ready)
{
	if (!descriptor_is(&connection->file))
		connection_close(connection);
	else if (connection->out && ready & POLLOUT)
		transmit(connection);
	else if (ready & POLLIN)
		receive(connection);
	else if (ready & (POLLHUP | POLLERR | POLLNVAL))
		connection_close(connection);
}

static int is_blank(const char *line, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
			return 0;
	return 1;
}

int connection_line(struct connection *connection, const char **line, size_t *length, struct text *text)
{
	while (!connection->out && connection->have > connection->from) {
		const char *end = memchr(connection->in + connection->searched, '\n', connection->have - connection->searched);
		size_t held = connection->have - connection->from;
		if (!end && held < LONGEST_LINE) {
			connection->searched = connection->have;
			return 0;
		}
		*line = connection->in + connection->from;
		*length = end ? (size_t)(end - *line) : held;
		if (*length >= LONGEST_LINE) {
			/* The start of the next line is unknown. */
			answer_refusal(text, NULL, "bad_request", "line of more than 256 KiB");
			connection->closing = 1;
			connection_send(connection, text);
			return 0;
		}
		connection->from += *length + 1;
		connection->searched = connection->from;
		connection->began = connection->heard;
		if (!is_blank(*line, *length)) {
			connection->blank = 0;
			return 1;
		}
		connection->blank += *length + 1;
		if (connection->blank >= LONGEST_LINE)
			connection_close(connection);
	}
	return 0;
}

void connection_send(struct connection *connection, const struct text *text)
{
	if (!descriptor_is(&connection->file))
		return;
	ssize_t sent = send(connection->file.number, text->at, text->used, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (sent < 0 && errno != EAGAIN && errno != EINTR) {
		connection_close(connection);
		return;
	}
	size_t left = text->used - (sent > 0 ? (size_t)sent : 0);
	if (left == 0)
		return;
	connection->out = pages_alloc(left);
	if (!connection->out) {
		connection_close(connection);
		return;
	}
	memcpy(connection->out, text->at + text->used - left, left);
	connection->size = left;
	connection->sent = 0;
	connection->blocked = milliseconds();
}

void connection_expire(struct connection *connection)
{
	uint64_t now = milliseconds();
	if (connection->file.number < 0)
		return;
	int partial = connection->have > connection->from && !connection->waiting && !connection->out;
	if ((connection->closing && !connection->out) || (connection->out && now - connection->blocked > WRITE_TIME) ||
	    (partial && now - connection->began > LINE_TIME) || (!connection->waiting && now - connection->heard > IDLE_TIME))
		connection_close(connection);
}
