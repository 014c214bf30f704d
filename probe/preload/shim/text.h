/* Text written to a buffer of fixed size, and a reader of JSON requests. */
#ifndef VRAMSCOPE_PRELOAD_TEXT_H
#define VRAMSCOPE_PRELOAD_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text {
	char *at;
	size_t used, size;
	int overflowed; /* later additions were dropped */
};

void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a JSON string, with unprintable bytes replaced. */
void text_quote(struct text *text, const char *string);

/* The fields of a request, as spans of its line. */
struct field {
	const char *at; /* NULL: absent */
	size_t length;
};
struct request {
	struct field id, cmd, proto, level, keep_bytes, dry_run, devices;
};

/* Parses a line; NULL, or why it is no request. Unknown fields are ignored. */
const char *json_request(const char *line, size_t length, struct request *request);
/* A string's content, cut to size; 0: not a string. */
int json_string(struct field field, char *content, size_t size);
/* 0: not an integer from 0 to most. */
int json_integer(struct field field, uint64_t most, uint64_t *value);
/* 0: not a boolean. */
int json_bool(struct field field, int *value);
/* Whether the field is present and not null. */
int json_present(struct field field);
/* The next string of an array; *at is 0 at first. 0: no more, -1: not an array of strings. */
int json_next_string(struct field array, size_t *at, char *content, size_t size);
/* Whether it is UTF-8 (RFC 3629). */
int utf8_valid(const char *text, size_t length);

#endif
