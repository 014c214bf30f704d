/* Text that is composed into a buffer of a given size, and JSON that is read. */
#ifndef VRAMSCOPE_PRELOAD_TEXT_H
#define VRAMSCOPE_PRELOAD_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text {
	char *at;
	size_t used, size;
	int overflowed; /* what has been added since is not in it */
};

void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A JSON string: quotes, and whatever a file's name may contain, made harmless. */
void text_quote(struct text *text, const char *string);

/* The fields of a request, as they stand in its line. */
struct field {
	const char *at; /* NULL: it is not there */
	size_t length;
};
struct request {
	struct field id, cmd, proto, level, keep_bytes, dry_run, devices;
};

/* Reads one line; NULL, or why it is not a request. Unknown fields are passed over, whatever they are. */
const char *json_request(const char *line, size_t length, struct request *request);
/* A string's content, cut to size; 0: the field is no string. */
int json_string(struct field field, char *content, size_t size);
/* 0: the field is no integer from 0 to most. */
int json_integer(struct field field, uint64_t most, uint64_t *value);
/* 0: the field is neither true nor false. */
int json_bool(struct field field, int *value);
/* Whether the field is there at all, and not null. */
int json_present(struct field field);
/* The next string of an array: from at, which begins as the field's; 0: there is none, -1: it is something else. */
int json_next_string(struct field array, size_t *at, char *content, size_t size);
/* Whether all of it is UTF-8 as RFC 3629 has it. */
int utf8_valid(const char *text, size_t length);

#endif
