/* One line in, one line out: vramscope/1 (docs/protocol.md). */
#include "serve.h"

#include <stdio.h>

#define MOST_BYTES (1ULL << 50)
#define MOST_ID (1ULL << 53)

typedef unsigned long long big; /* for %llu */

static void begin(struct text *text, const uint64_t *id, int ok)
{
	text->used = 0;
	text->overflowed = 0;
	if (id)
		text_add(text, "{\"id\":%llu,\"ok\":%s", (big)*id, ok ? "true" : "false");
	else
		text_add(text, "{\"id\":null,\"ok\":%s", ok ? "true" : "false");
}

void answer_refusal(struct text *text, const uint64_t *id, const char *code, const char *message)
{
	begin(text, id, 0);
	text_add(text, ",\"error\":{\"code\":\"%s\",\"message\":", code);
	text_quote(text, message);
	text_add(text, "}}\n");
}

static int is_uuid(const char *text)
{
	size_t length = strlen(text);
	if (length < 5 || length >= UUID_SIZE || (strncmp(text, "GPU-", 4) != 0 && strncmp(text, "MIG-", 4) != 0))
		return 0;
	return strspn(text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-/") == length;
}

/* Returns NULL, or what is wrong with a flush request. */
static const char *read_flush(const struct request *request, struct flush *flush)
{
	char level[16] = "";
	memset(flush, 0, sizeof *flush);
	if (json_present(request->level) && !json_string(request->level, level, sizeof level))
		return "level is not a string";
	flush->level = strcmp(level, "gradual") == 0 ? GRADUAL : strcmp(level, "selective") == 0 ? SELECTIVE
	                                                     : strcmp(level, "urgent") == 0    ? URGENT
	                                                                                       : 0;
	if (!flush->level)
		return "level can be gradual, selective or urgent";
	if (json_present(request->keep_bytes) && !json_integer(request->keep_bytes, MOST_BYTES, &flush->keep))
		return "keep_bytes is not an amount of memory";
	if (json_present(request->dry_run) && !json_bool(request->dry_run, &flush->dry_run))
		return "dry_run is true or false";
	if (!json_present(request->devices))
		return NULL;
	char uuid[128];
	size_t at = 0;
	int more;
	while ((more = json_next_string(request->devices, &at, uuid, sizeof uuid)) > 0) {
		if (flush->device_count == DEVICES || !is_uuid(uuid))
			return "devices are at most 64 UUIDs in NVML's form, as in stats";
		memcpy(flush->devices[flush->device_count++], uuid, strlen(uuid) + 1);
	}
	return more < 0 ? "devices are at most 64 UUIDs in NVML's form, as in stats" : NULL;
}

static enum verdict_of begin_flush(const struct request *request, int busy, struct text *text, struct flush *flush,
                                   const uint64_t *id)
{
	const char *wrong = read_flush(request, flush);
	char message[96];
	if (wrong) {
		answer_refusal(text, id, "bad_request", wrong);
		return ANSWERED;
	}
	if (!report_can_flush()) {
		answer_refusal(text, id, "unsupported", "no memory pools: all of its memory is allocated");
		return ANSWERED;
	}
	if (busy) {
		answer_refusal(text, id, "busy", "another flush is running");
		return ANSWERED;
	}
	uint64_t wait = flush->dry_run ? 0 : flush_rate();
	if (wait) {
		snprintf(message, sizeof message, "too many flushes: again in %llu ms", (big)wait);
		answer_refusal(text, id, "rate_limited", message);
		return ANSWERED;
	}
	return FLUSHING;
}

static int same_major(const char *version)
{
	const char *ours = "vramscope/1";
	size_t length = strlen(ours);
	return strncmp(version, ours, length) == 0 && (version[length] == 0 || version[length] == '.');
}

static void finish(struct text *text, const uint64_t *id)
{
	text_add(text, "}\n");
	if (text->overflowed)
		answer_refusal(text, id, "internal", "the answer is longer than a line may be");
}

enum verdict_of answer_line(const char *line, size_t length, int busy, struct text *text, struct flush *flush, uint64_t *number)
{
	struct request request;
	const char *wrong = json_request(line, length, &request);
	const uint64_t *id = !wrong && json_integer(request.id, MOST_ID, number) ? number : NULL;
	char cmd[16] = "", proto[64] = "";
	if (!wrong && json_present(request.cmd) && !json_string(request.cmd, cmd, sizeof cmd))
		wrong = "cmd is not a string";
	if (!wrong && json_present(request.proto) && !json_string(request.proto, proto, sizeof proto) && strcmp(cmd, "hello") == 0)
		wrong = "proto is not a string";
	if (!wrong && !id)
		wrong = "id is missing, or no integer from 0 to 2^53";
	if (wrong) {
		answer_refusal(text, id, "bad_request", wrong);
	} else if (*proto && !same_major(proto)) {
		answer_refusal(text, id, "wrong_version", "this is vramscope/1");
	} else if (!*cmd) {
		answer_refusal(text, id, "bad_request", "cmd is missing");
	} else if (strcmp(cmd, "bye") == 0) {
		begin(text, id, 1);
		finish(text, id);
		return GOODBYE;
	} else if (strcmp(cmd, "snapshot") == 0) {
		answer_refusal(text, id, "unsupported", "the driver does not report a pool's blocks");
	} else if (strcmp(cmd, "hello") != 0 && strcmp(cmd, "stats") != 0 && strcmp(cmd, "flush") != 0) {
		answer_refusal(text, id, "unknown_command", "vramscope/1 has no such command");
	} else if (!driver_enter()) {
		answer_refusal(text, id, "internal", "the process is exiting");
	} else {
		enum verdict_of verdict = ANSWERED;
		if (*cmd == 'f') {
			verdict = begin_flush(&request, busy, text, flush, id);
		} else {
			begin(text, id, 1);
			text_add(text, ",");
			if (*cmd == 'h')
				report_hello(text);
			else
				report_stats(text);
			finish(text, id);
		}
		driver_leave();
		return verdict;
	}
	return ANSWERED;
}
