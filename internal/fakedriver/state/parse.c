/* Parses the state file. An unknown line is an error, so that a test's mistake is noticed. */
#include "state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct field {
	const char *name;
	size_t offset;
	int is_text;
};

#define TEXT_ENTRY(type, field) { #field, offsetof(struct type, field), 1 },
#define NUMBER_ENTRY(type, field) { #field, offsetof(struct type, field), 0 },
#define DRIVER_TEXT(f) TEXT_ENTRY(driver, f)
#define DRIVER_NUMBER(f) NUMBER_ENTRY(driver, f)
#define GPU_TEXT(f) TEXT_ENTRY(gpu, f)
#define GPU_NUMBER(f) NUMBER_ENTRY(gpu, f)
#define PROCESS_TEXT(f) TEXT_ENTRY(process, f)
#define PROCESS_NUMBER(f) NUMBER_ENTRY(process, f)
#define INSTANCE_TEXT(f) TEXT_ENTRY(instance, f)
#define INSTANCE_NUMBER(f) NUMBER_ENTRY(instance, f)
#define XID_NUMBER(f) NUMBER_ENTRY(xid, f)

static const struct field driver_fields[] = { DRIVER_TEXTS(DRIVER_TEXT) DRIVER_NUMBERS(DRIVER_NUMBER) { 0 } };
static const struct field gpu_fields[] = { GPU_TEXTS(GPU_TEXT) GPU_NUMBERS(GPU_NUMBER) { 0 } };
static const struct field process_fields[] = { PROCESS_TEXTS(PROCESS_TEXT) PROCESS_NUMBERS(PROCESS_NUMBER) { 0 } };
static const struct field instance_fields[] = { INSTANCE_TEXTS(INSTANCE_TEXT) INSTANCE_NUMBERS(INSTANCE_NUMBER) { 0 } };
static const struct field xid_fields[] = { XID_NUMBERS(XID_NUMBER) { 0 } };

static void clear(void *record, const struct field *fields)
{
	for (; fields->name; fields++)
		if (!fields->is_text)
			*(number *)((char *)record + fields->offset) = ABSENT;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Decodes \xNN escapes, with which a name may hold any byte. */
static int parse_text(char *out, const char *in)
{
	size_t length = 0;
	while (*in) {
		if (length == TEXT_SIZE - 1)
			return 0;
		if (*in != '\\') {
			out[length++] = *in++;
			continue;
		}
		int high, low;
		if (in[1] != 'x' || (high = digit(in[2])) < 0 || (low = digit(in[3])) < 0)
			return 0;
		out[length++] = (char)(high << 4 | low);
		in += 4;
	}
	out[length] = 0;
	return 1;
}

static int parse_number(number *out, const char *in)
{
	if (strcmp(in, "unavailable") == 0) {
		*out = UNAVAILABLE;
		return 1;
	}
	char *end;
	errno = 0;
	*out = strtoull(in, &end, 0);
	return *in >= '0' && *in <= '9' && *end == 0 && errno == 0;
}

static int assign(void *record, const struct field *fields, const char *name, const char *value)
{
	for (; fields->name; fields++) {
		if (strcmp(fields->name, name) != 0)
			continue;
		void *place = (char *)record + fields->offset;
		return fields->is_text ? parse_text(place, value) : parse_number(place, value);
	}
	return 0;
}

/* Makes room for one more record and zeroes it. */
static void *append(void *items, size_t *count, size_t size)
{
	void **list = items;
	char *grown = realloc(*list, (*count + 1) * size);
	if (!grown)
		return NULL;
	*list = grown;
	memset(grown + *count * size, 0, size);
	return grown + (*count)++ * size;
}

static int parse_pairs(void *record, const struct field *fields, char *rest)
{
	char *save = NULL;
	for (char *pair = strtok_r(rest, " ", &save); pair; pair = strtok_r(NULL, " ", &save)) {
		char *equals = strchr(pair, '=');
		if (!equals)
			return 0;
		*equals = 0;
		if (!assign(record, fields, pair, equals + 1))
			return 0;
	}
	return 1;
}

/* "process C+G pid=1 used=2": the letters name the lists that contain the process. */
static int parse_process(struct gpu *gpu, char *rest)
{
	struct process *process = append(&gpu->processes, &gpu->process_count, sizeof *process);
	if (!process)
		return 0;
	clear(process, process_fields);
	for (; *rest && *rest != ' '; rest++) {
		switch (*rest) {
		case 'C': process->compute = 1; break;
		case 'G': process->graphics = 1; break;
		case 'M': process->mps = 1; break;
		case '+': break;
		default: return 0;
		}
	}
	return parse_pairs(process, process_fields, rest) && process->pid != ABSENT;
}

static int parse_instance(struct gpu *gpu, char *rest)
{
	struct instance *instance = append(&gpu->instances, &gpu->instance_count, sizeof *instance);
	if (!instance)
		return 0;
	clear(instance, instance_fields);
	instance->index = gpu->instance_count - 1;
	return parse_pairs(instance, instance_fields, rest) && instance->gi != ABSENT && instance->ci != ABSENT;
}

static int parse_xid(struct gpu *gpu, char *rest)
{
	struct xid *xid = append(&gpu->xids, &gpu->xid_count, sizeof *xid);
	if (!xid)
		return 0;
	clear(xid, xid_fields);
	return parse_pairs(xid, xid_fields, rest) && xid->seq != ABSENT && xid->code != ABSENT;
}

/* "fault CALL CODE", "hang CALL MILLISECONDS", "size CALL COUNT", "count CALL COUNT" */
static int parse_fault(struct faults *faults, enum fault_kind kind, char *rest)
{
	char *value = strchr(rest, ' ');
	if (!value)
		return 0;
	*value++ = 0;
	struct fault *fault = append(&faults->items, &faults->count, sizeof *fault);
	if (!fault)
		return 0;
	fault->kind = kind;
	return parse_text(fault->call, rest) && parse_number(&fault->value, value);
}

static int parse_line(struct state *state, char *line)
{
	char *rest = strchr(line, ' ');
	if (rest)
		*rest++ = 0;
	else
		rest = line + strlen(line);

	struct gpu *gpu = state->gpu_count ? &state->gpus[state->gpu_count - 1] : NULL;
	struct faults *faults = gpu ? &gpu->faults : &state->faults;
	if (strcmp(line, "gpu") == 0) {
		gpu = append(&state->gpus, &state->gpu_count, sizeof *gpu);
		if (!gpu)
			return 0;
		clear(gpu, gpu_fields);
		return parse_text(gpu->uuid, rest) && *gpu->uuid;
	}
	if (strcmp(line, "fault") == 0)
		return parse_fault(faults, FAULT_RETURN, rest);
	if (strcmp(line, "hang") == 0)
		return parse_fault(faults, FAULT_HANG, rest);
	if (strcmp(line, "size") == 0)
		return parse_fault(faults, FAULT_SIZE, rest);
	if (strcmp(line, "count") == 0)
		return parse_fault(faults, FAULT_COUNT, rest);
	if (!gpu)
		return strncmp(line, "driver.", 7) == 0 && assign(&state->driver, driver_fields, line + 7, rest);
	if (strcmp(line, "process") == 0)
		return parse_process(gpu, rest);
	if (strcmp(line, "instance") == 0)
		return parse_instance(gpu, rest);
	if (strcmp(line, "xid") == 0)
		return parse_xid(gpu, rest);
	return assign(gpu, gpu_fields, line, rest);
}

struct state *state_parse(char *text, char *message, size_t message_size)
{
	struct state *state = calloc(1, sizeof *state);
	if (!state)
		return NULL;
	clear(&state->driver, driver_fields);

	size_t number_of_line = 0;
	while (text) {
		char *line = text;
		text = strchr(line, '\n');
		if (text)
			*text++ = 0;
		number_of_line++;
		line += strspn(line, " \t");
		if (*line == 0 || *line == '#')
			continue;
		char shown[80];
		snprintf(shown, sizeof shown, "%s", line);
		if (!parse_line(state, line)) {
			snprintf(message, message_size, "line %zu not understood: %s", number_of_line, shown);
			state_free(state);
			return NULL;
		}
	}
	return state;
}

void state_free(struct state *state)
{
	if (!state)
		return;
	for (size_t i = 0; i < state->gpu_count; i++) {
		free(state->gpus[i].processes);
		free(state->gpus[i].instances);
		free(state->gpus[i].xids);
		free(state->gpus[i].faults.items);
	}
	free(state->gpus);
	free(state->faults.items);
	free(state);
}

static int call_matches(const char *pattern, const char *call)
{
	size_t length = strlen(pattern);
	if (length && pattern[length - 1] == '*')
		return strncmp(pattern, call, length - 1) == 0;
	return strcmp(pattern, call) == 0;
}

const struct fault *faults_find(const struct faults *faults, enum fault_kind kind, const char *call)
{
	for (size_t i = 0; i < faults->count; i++)
		if (faults->items[i].kind == kind && call_matches(faults->items[i].call, call))
			return &faults->items[i];
	return NULL;
}
