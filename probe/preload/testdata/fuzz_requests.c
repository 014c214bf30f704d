/*
 * One line of a monitor: an answer to it is one line of JSON, whatever the line is.
 * answer.c, json.c and text.c are real, and the report is a stub.
 */
#include "fuzz.h"

static int open_driver, flushes, wait_for;

int driver_enter(void)
{
	return open_driver;
}

void driver_leave(void) {}

int report_can_flush(void)
{
	return flushes;
}

uint64_t flush_rate(void)
{
	return (uint64_t)wait_for;
}

void report_hello(struct text *text)
{
	text_add(text, "\"proto\":\"vramscope/1\"");
}

void report_stats(struct text *text)
{
	text_add(text, "\"devices\":[]");
}

static void check_answer(const struct text *answer)
{
	struct request request;
	CHECK(answer->used > 2 && answer->used < answer->size && answer->at[answer->used - 1] == '\n');
	CHECK(!memchr(answer->at, '\n', answer->used - 1));
	CHECK(!json_request(answer->at, answer->used, &request));
}

/* Fields lie inside of the line, and their contents are cut to the buffer. */
static void check_fields(const char *line, size_t length)
{
	struct request request;
	const struct field *fields = (const struct field *)(const void *)&request;
	char content[40], uuid[128];
	uint64_t value;
	int truth;
	if (json_request(line, length, &request))
		return;
	for (size_t i = 0; i < sizeof request / sizeof *fields; i++) {
		CHECK(!fields[i].at || (fields[i].at >= line && fields[i].at + fields[i].length <= line + length && fields[i].length));
		for (size_t size = 1; size < sizeof content; size += 13)
			CHECK(!json_string(fields[i], content, size) || strlen(content) < size);
		CHECK(!json_integer(fields[i], 1000, &value) || value <= 1000);
		(void)json_bool(fields[i], &truth);
		size_t at = 0, before = 0;
		while (json_present(fields[i]) && json_next_string(fields[i], &at, uuid, sizeof uuid) > 0) {
			CHECK(at > before && at <= fields[i].length);
			before = at;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char room[4096];
	struct text answer = { .at = room, .size = sizeof room };
	struct flush flush;
	uint64_t id = 0;
	if (size == 0)
		return 0;
	open_driver = data[0] & 1;
	flushes = data[0] & 2;
	wait_for = data[0] & 4;
	char *line = malloc(size - 1 ? size - 1 : 1); /* of its exact size, to catch reads beyond it */
	memcpy(line, data + 1, size - 1);
	check_fields(line, size - 1);
	enum verdict_of verdict = answer_line(line, size - 1, data[0] & 8, &answer, &flush, &id);
	if (verdict != FLUSHING)
		check_answer(&answer);
	else
		CHECK(flush.level >= GRADUAL && flush.level <= URGENT && flush.device_count <= DEVICES);
	answer_refusal(&answer, NULL, "forbidden", line[0] && memchr(line, 0, size - 1) ? line : "");
	if (!answer.overflowed)
		check_answer(&answer);
	free(line);
	return 0;
}
