/*
 * The state of the simulated box, read from the state file at one moment.
 *
 *   state file ── reload.c (stat) ── parse.c ── struct state (immutable, counted) ── the driver's calls
 *
 * Nothing here knows NVML: a fake libcuda reads the same file. The format of
 * the file is described in doc.go, one directory up.
 */
#ifndef VRAMSCOPE_FAKE_STATE_H
#define VRAMSCOPE_FAKE_STATE_H

#include <stddef.h>

typedef unsigned long long number;

/* A number that the state file does not name: most calls answer "not supported". */
#define ABSENT (~0ULL - 1)
/* A size that the driver knows to be unknown: NVML_VALUE_NOT_AVAILABLE. */
#define UNAVAILABLE (~0ULL)

#define TEXT_SIZE 256

/* Every text and number once: the structs and the parser both come from the lists in keys.h. */
#include "keys.h"

#define TEXT_FIELD(field) char field[TEXT_SIZE];
#define NUMBER_FIELD(field) number field;

enum fault_kind { FAULT_RETURN, FAULT_HANG, FAULT_SIZE, FAULT_COUNT };

/* Something that goes wrong in a call. A call name that ends in * stands for every name with that prefix. */
struct fault {
	char call[TEXT_SIZE];
	enum fault_kind kind;
	number value; /* return code, milliseconds, or count */
};

struct faults {
	struct fault *items;
	size_t count;
};

struct process {
	PROCESS_TEXTS(TEXT_FIELD)
	PROCESS_NUMBERS(NUMBER_FIELD)
	int compute, graphics, mps; /* 1: the list contains the process */
};

/* A MIG instance: one compute instance in one GPU instance. */
struct instance {
	INSTANCE_TEXTS(TEXT_FIELD)
	INSTANCE_NUMBERS(NUMBER_FIELD)
};

/* An Xid occurs when its sequence number first appears in the file. */
struct xid {
	XID_NUMBERS(NUMBER_FIELD)
};

struct gpu {
	char uuid[TEXT_SIZE];
	GPU_TEXTS(TEXT_FIELD)
	GPU_NUMBERS(NUMBER_FIELD)
	struct process *processes;
	size_t process_count;
	struct instance *instances;
	size_t instance_count;
	struct xid *xids;
	size_t xid_count;
	struct faults faults;
};

struct driver {
	DRIVER_TEXTS(TEXT_FIELD)
	DRIVER_NUMBERS(NUMBER_FIELD)
};

struct state {
	struct driver driver;
	struct gpu *gpus;
	size_t gpu_count;
	struct faults faults; /* of every GPU, and of calls that concern none */
};

/* parse.c: state_parse modifies text. On failure it returns NULL, and message says "line 12: …". */
struct state *state_parse(char *text, char *message, size_t message_size);
void state_free(struct state *state);

/*
 * reload.c: the state as the file has it now, or NULL if there is no file
 * or it cannot be understood (reported once on stderr). The caller releases the
 * state, which does not change until then.
 */
const struct state *state_acquire(void);

/* For calls that must be fast: the state as the file had it in this tick of the kernel's clock (1 to 10 ms). */
const struct state *state_acquire_recent(void);

void state_release(const struct state *state);

/* The first fault of a kind for a call, NULL when there is none. */
const struct fault *faults_find(const struct faults *faults, enum fault_kind kind, const char *call);

#endif
