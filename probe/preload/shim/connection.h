/* One monitor's connection: bytes in, lines; answers, bytes out. It never waits. */
#ifndef VRAMSCOPE_PRELOAD_CONNECTION_H
#define VRAMSCOPE_PRELOAD_CONNECTION_H

#include "serve.h"

#include <poll.h>

struct connection {
	struct descriptor file;
	int closing;     /* once what is to be sent has been */
	int waiting;     /* for a flush: no further line is answered before it */
	uint64_t serial; /* tells one from the next in the same place */
	char *in, *out;
	size_t capacity, from, have, searched; /* of in: a line begins at from */
	size_t blank;                          /* bytes of empty lines in a row */
	size_t size, sent;                     /* of out */
	uint64_t heard, began, stuck;          /* when: anything; the line that is being read; the answer that is not taken */
};

void connection_open(struct connection *connection, int file);
void connection_close(struct connection *connection);
struct pollfd connection_wants(const struct connection *connection);
int connection_is_pressed(const struct connection *connection); /* something in it must happen soon */
void connection_move(struct connection *connection, short ready);
/* The next line, without its newline, until connection_move; 0: there is none. Text is for saying that it was too long. */
int connection_line(struct connection *connection, const char **line, size_t *length, struct text *text);
void connection_send(struct connection *connection, const struct text *text);
void connection_expire(struct connection *connection);

#endif
