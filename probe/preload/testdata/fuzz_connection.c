/*
 * A monitor's bytes, in any pieces, with pauses and answers that do not fit: no more lines
 * come out than were sent, and none has a newline. The kernel's calls are replaced.
 *
 * Input: pieces of a kind (one byte), a length (one byte), and that many bytes.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include "connection.h"

#include <errno.h>
#include <sys/socket.h>

static const uint8_t *piece;
static size_t piece_left, repeated, room_to_send, lines;
static uint64_t now;
static int closed;

uint64_t milliseconds(void)
{
	return now;
}

void *pages_alloc(size_t size)
{
	return calloc(1, size);
}

void pages_free(void *memory, size_t size)
{
	memset(memory, 0xa5, size); /* the sanitizer notices a size that is too large */
	free(memory);
}

struct descriptor descriptor_of(int number)
{
	return (struct descriptor){ .number = number };
}

int descriptor_is(const struct descriptor *descriptor)
{
	return descriptor->number >= 0;
}

void descriptor_close(struct descriptor *descriptor)
{
	descriptor->number = -1;
	closed++;
}

void answer_refusal(struct text *text, const uint64_t *id, const char *code, const char *message)
{
	(void)id;
	text->used = 0;
	text_add(text, "%s %s\n", code, message);
}

/* Linked with --wrap. */
ssize_t __wrap_recvmsg(int file, struct msghdr *message, int flags);
ssize_t __wrap_send(int file, const void *bytes, size_t size, int flags);
int __wrap_close(int file);

ssize_t __wrap_recvmsg(int file, struct msghdr *message, int flags)
{
	struct iovec *into = message->msg_iov;
	size_t length = repeated ? repeated : piece_left;
	(void)file, (void)flags;
	message->msg_controllen = 0;
	if (length == 0) {
		errno = EAGAIN;
		return -1;
	}
	CHECK(into->iov_len > 0);
	length = length < into->iov_len ? length : into->iov_len;
	if (repeated) {
		memset(into->iov_base, piece[0], length);
		repeated -= length;
		return (ssize_t)length;
	}
	memcpy(into->iov_base, piece, length);
	piece += length;
	piece_left -= length;
	return (ssize_t)length;
}

ssize_t __wrap_send(int file, const void *bytes, size_t size, int flags)
{
	(void)file, (void)flags;
	CHECK(size == 0 || memchr(bytes, '\n', size)); /* the newline is the last byte, so the search reads all */
	size_t sent = size < room_to_send ? size : room_to_send;
	room_to_send -= sent;
	if (sent == 0 && size > 0)
		errno = room_to_send % 2 ? EPIPE : EAGAIN;
	return sent == 0 && size > 0 ? -1 : (ssize_t)sent;
}

int __wrap_close(int file)
{
	(void)file;
	return 0;
}

static void check(const struct connection *connection)
{
	CHECK(connection->from <= connection->have && connection->have <= connection->capacity);
	CHECK(connection->searched <= connection->have && connection->searched >= connection->from);
	CHECK(connection->capacity <= LONGEST_LINE && (!connection->out || connection->sent < connection->size));
}

static void attend(struct connection *connection, struct text *text)
{
	const char *line;
	size_t length;
	struct pollfd wanted = connection_wants(connection);
	if (wanted.fd >= 0 && wanted.events)
		connection_move(connection, wanted.events);
	check(connection);
	while (connection->file.number >= 0 && !connection->closing && connection_line(connection, &line, &length, text)) {
		CHECK(length < LONGEST_LINE && !memchr(line, '\n', length));
		lines++;
		text->used = 0;
		text_add(text, "%zu bytes\n", length);
		connection_send(connection, text);
		check(connection);
	}
	(void)connection_is_urgent(connection);
	connection_expire(connection);
	check(connection);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char room[64];
	struct text text = { .at = room, .size = sizeof room };
	struct connection connection = { .file = { .number = -1 } };
	size_t newlines = 0;
	now = 1000000;
	lines = 0;
	closed = 0;
	room_to_send = 1 << 20;
	connection_open(&connection, 5);
	while (size >= 3 && connection.file.number >= 0) {
		size_t kind = data[0] % 8, length = data[1] < size - 2 ? data[1] : size - 2;
		piece = data + 2;
		piece_left = kind < 5 ? length : 0;
		/* Long lines are slow, so only two certain bytes make one. */
		repeated = kind != 5 ? 0 : data[1] == 0xff && data[2] == 'L' ? LONGEST_LINE : (size_t)data[1];
		if (kind == 6)
			now += (uint64_t)data[1] << 7;
		if (kind == 7)
			room_to_send = data[1];
		for (size_t i = 0; i < piece_left; i++)
			newlines += piece[i] == '\n';
		newlines += piece[0] == '\n' ? repeated : 0;
		data += 2 + length;
		size -= 2 + length;
		for (int i = 0; i < 500 && (i < 2 || piece_left || repeated) && connection.file.number >= 0 && !connection.closing; i++)
			attend(&connection, &text);
	}
	CHECK(lines <= newlines && closed == (connection.file.number < 0));
	connection_close(&connection);
	return 0;
}
