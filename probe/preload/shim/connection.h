/* A monitor's connection: bytes to lines, answers to bytes, without blocking. */
#ifndef VRAMSCOPE_PRELOAD_CONNECTION_H
#define VRAMSCOPE_PRELOAD_CONNECTION_H

#include "serve.h"

#include <poll.h>

struct connection {
	struct descriptor file;
	int closing;     /* close once out is sent */
	int waiting;     /* for its flush: later lines are answered after it */
	uint64_t serial; /* distinguishes successive connections in one slot */
	char *in, *out;
	size_t capacity, from, have, searched; /* of in; a line begins at from */
	size_t blank;                          /* bytes of blank lines in a row */
	size_t size, sent;                     /* of out */
	uint64_t heard, began, blocked;        /* times: last input; start of the current line; start of a blocked answer */
};

void connection_open(struct connection *connection, int file);
void connection_close(struct connection *connection);
struct pollfd connection_wants(const struct connection *connection);
int connection_is_urgent(const struct connection *connection); /* it has an answer or input left, or is closing */
void connection_move(struct connection *connection, short ready);
/* Returns the next line without its newline, valid until connection_move; 0: none. text is used
 * to refuse a line that is too long. */
int connection_line(struct connection *connection, const char **line, size_t *length, struct text *text);
void connection_send(struct connection *connection, const struct text *text);
void connection_expire(struct connection *connection);

#endif
