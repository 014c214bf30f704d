/*
 * JSON (RFC 8259), read in one pass without allocating: the known fields of a
 * request are located, everything else is only checked. Input is not trusted.
 */
#include "text.h"

#include <string.h>

enum { DEEPEST = 64, MOST_MEMBERS = 16 << 10 };

struct reader {
	const char *at, *end;
};

static void blanks(struct reader *reader)
{
	while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) && *reader->at)
		reader->at++;
}

static int take(struct reader *reader, char c)
{
	if (reader->at >= reader->end || *reader->at != c)
		return 0;
	reader->at++;
	return 1;
}

static int word(struct reader *reader, const char *expected)
{
	size_t length = strlen(expected);
	if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, expected, length) != 0)
		return 0;
	reader->at += length;
	return 1;
}

static int digits(struct reader *reader)
{
	const char *from = reader->at;
	while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9')
		reader->at++;
	return reader->at > from;
}

static int number(struct reader *reader)
{
	(void)take(reader, '-');
	if (!take(reader, '0') && !digits(reader))
		return 0;
	if (take(reader, '.') && !digits(reader))
		return 0;
	if (take(reader, 'e') || take(reader, 'E')) {
		if (!take(reader, '+'))
			(void)take(reader, '-');
		if (!digits(reader))
			return 0;
	}
	return 1;
}

static int hex(const char *at, unsigned int *value)
{
	*value = 0;
	for (int i = 0; i < 4; i++) {
		char c = at[i];
		if (c >= '0' && c <= '9')
			*value = *value << 4 | (unsigned int)(c - '0');
		else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
			*value = *value << 4 | (unsigned int)((c | 0x20) - 'a' + 10);
		else
			return 0;
	}
	return 1;
}

static int string(struct reader *reader)
{
	if (!take(reader, '"'))
		return 0;
	while (reader->at < reader->end && *reader->at != '"') {
		unsigned char c = (unsigned char)*reader->at++;
		unsigned int unit;
		if (c < 0x20)
			return 0;
		if (c != '\\')
			continue;
		if (reader->at >= reader->end || !*reader->at || !strchr("\"\\/bfnrtu", *reader->at))
			return 0;
		if (*reader->at++ == 'u') {
			if (reader->end - reader->at < 4 || !hex(reader->at, &unit))
				return 0;
			reader->at += 4;
		}
	}
	return take(reader, '"');
}

static int value(struct reader *reader, int depth);

/* The members of an object, or the elements of an array. */
static int members(struct reader *reader, char close, int depth)
{
	blanks(reader);
	if (take(reader, close))
		return 1;
	do {
		blanks(reader);
		if (close == '}') {
			if (!string(reader))
				return 0;
			blanks(reader);
			if (!take(reader, ':'))
				return 0;
		}
		if (!value(reader, depth))
			return 0;
		blanks(reader);
	} while (take(reader, ','));
	return take(reader, close);
}

static int value(struct reader *reader, int depth)
{
	blanks(reader);
	if (reader->at >= reader->end || depth == DEEPEST)
		return 0;
	switch (*reader->at) {
	case '{': reader->at++; return members(reader, '}', depth + 1);
	case '[': reader->at++; return members(reader, ']', depth + 1);
	case '"': return string(reader);
	case 't': return word(reader, "true");
	case 'f': return word(reader, "false");
	case 'n': return word(reader, "null");
	default: return number(reader);
	}
}

static struct field *named(struct request *request, struct field key)
{
	const struct {
		const char *name;
		struct field *field;
	} known[] = {
		{ "id", &request->id }, { "cmd", &request->cmd }, { "proto", &request->proto }, { "level", &request->level },
		{ "keep_bytes", &request->keep_bytes }, { "dry_run", &request->dry_run }, { "devices", &request->devices },
	};
	char name[16];
	if (!json_string(key, name, sizeof name))
		return NULL;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].field;
	return NULL;
}

const char *json_request(const char *line, size_t length, struct request *request)
{
	struct reader reader = { line, line + length };
	size_t commas = 0;
	memset(request, 0, sizeof *request);
	if (!utf8_valid(line, length))
		return "not UTF-8";
	for (size_t i = 0; i < length; i++)
		commas += line[i] == ',';
	if (commas > MOST_MEMBERS)
		return "too many members in one line";
	blanks(&reader);
	if (!take(&reader, '{'))
		return "not a JSON object";
	blanks(&reader);
	int more = !take(&reader, '}');
	while (more) {
		struct field key = { .at = (blanks(&reader), reader.at) };
		if (!string(&reader))
			return "not JSON";
		key.length = (size_t)(reader.at - key.at);
		blanks(&reader);
		if (!take(&reader, ':'))
			return "not JSON";
		blanks(&reader);
		struct field found = { .at = reader.at };
		if (!value(&reader, 1))
			return "not JSON";
		found.length = (size_t)(reader.at - found.at);
		struct field *field = named(request, key);
		if (field)
			*field = found;
		blanks(&reader);
		more = take(&reader, ',');
		if (!more && !take(&reader, '}'))
			return "not JSON";
	}
	blanks(&reader);
	return reader.at == reader.end ? NULL : "something stands behind the object";
}

/* Writes one code point of a checked string as UTF-8. */
static size_t unescape(const char **at, const char *end, char utf8[4])
{
	const char *from = "\"\\/bfnrt", *to = "\"\\/\b\f\n\r\t";
	if (**at != '\\') {
		utf8[0] = *(*at)++;
		return 1;
	}
	(*at)++;
	char kind = *(*at)++;
	if (kind != 'u') {
		utf8[0] = to[strchr(from, kind) - from];
		return 1;
	}
	unsigned int code, low;
	(void)hex(*at, &code);
	*at += 4;
	if (code >= 0xd800 && code < 0xe000) {
		int paired = code < 0xdc00 && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u' && hex(*at + 2, &low) &&
		             low >= 0xdc00 && low < 0xe000;
		if (paired) {
			code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
			*at += 6;
		} else {
			code = 0xfffd;
		}
	}
	size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	for (size_t i = length - 1; i > 0; i--, code >>= 6)
		utf8[i] = (char)(0x80 | (code & 0x3f));
	utf8[0] = (char)(length == 1 ? code : (0xf00u >> length & 0xff) | code);
	return length;
}

int json_string(struct field field, char *content, size_t size)
{
	if (!field.at || field.length < 2 || *field.at != '"')
		return 0;
	const char *at = field.at + 1, *end = field.at + field.length - 1;
	size_t used = 0;
	while (at < end) {
		char utf8[4];
		size_t length = unescape(&at, end, utf8);
		if (used + length >= size)
			break; /* longer than every valid value */
		memcpy(content + used, utf8, length);
		used += length;
	}
	content[used] = 0;
	return 1;
}

int json_integer(struct field field, uint64_t most, uint64_t *result)
{
	uint64_t sum = 0;
	if (!field.at || field.length == 0 || field.length > 19)
		return 0;
	for (size_t i = 0; i < field.length; i++) {
		if (field.at[i] < '0' || field.at[i] > '9')
			return 0;
		sum = sum * 10 + (uint64_t)(field.at[i] - '0');
	}
	*result = sum;
	return sum <= most;
}

int json_bool(struct field field, int *result)
{
	*result = field.at && field.length == 4 && memcmp(field.at, "true", 4) == 0;
	return *result || (field.at && field.length == 5 && memcmp(field.at, "false", 5) == 0);
}

int json_present(struct field field)
{
	return field.at && !(field.length == 4 && memcmp(field.at, "null", 4) == 0);
}

int json_next_string(struct field array, size_t *at, char *content, size_t size)
{
	struct reader reader = { array.at + *at, array.at + array.length };
	if (array.length < 2 || *array.at != '[')
		return -1;
	if (*at == 0)
		(void)take(&reader, '[');
	blanks(&reader);
	if (take(&reader, ']'))
		return 0;
	(void)take(&reader, ',');
	blanks(&reader);
	struct field element = { .at = reader.at };
	if (!string(&reader))
		return -1;
	element.length = (size_t)(reader.at - element.at);
	*at = (size_t)(reader.at - array.at);
	return json_string(element, content, size) ? 1 : -1;
}
