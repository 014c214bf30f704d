/*
 * The beginning and the end of a call of the fake NVML.
 *
 *   call_begin: state → initialised? → handle → hang → fault → lost → the call's own answer
 *   call_end:   releases the state
 *
 * nvml.h is go-nvml's own header, so the compiler checks every signature,
 * the superseded ones (NVML_NO_UNVERSIONED_FUNC_DEFS) included.
 */
#ifndef VRAMSCOPE_FAKE_CALL_H
#define VRAMSCOPE_FAKE_CALL_H

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#pragma GCC visibility push(default)
#include "nvml.h"
#pragma GCC visibility pop

#include "../state/ledger.h"
#include "../state/state.h"

/*
 * Three libraries come out of these sources:
 *   (nothing)       today's driver
 *   -DNVML_R470     a driver of 2021: process lists v2, memory v1, MIG; no *_v3, no clocks event reasons
 *   -DNVML_V1_ONLY  only the first version of every call; the symbols of the others are absent
 */
#ifndef NVML_V1_ONLY
#define HAVE_V2
#ifndef NVML_R470
#define HAVE_R510
#endif
#endif

#define NO_INSTANCE 0xFFFFFFFFU

/* Which handles a call takes. Most calls refuse those of MIG instances. */
enum handles { WHOLE_GPU, ANY_HANDLE };

/* What a call is about. Only SETUP calls, which begin and end a session, need no session. */
enum scope { DEVICE, SYSTEM, SETUP };

struct call {
	const char *name;
	enum scope scope;
	nvmlDevice_t device;
	const struct state *state;
	const struct gpu *gpu;           /* NULL for a call that concerns no device */
	const struct instance *instance; /* NULL for a handle of a whole GPU */
};

/* An error that these return is the call's answer. call_end is due in either case. */
nvmlReturn_t call_begin(struct call *call, const char *name, nvmlDevice_t device, enum handles handles);
nvmlReturn_t system_call_begin(struct call *call, const char *name);
nvmlReturn_t setup_call_begin(struct call *call, const char *name);
void call_end(struct call *call);

/* handle.c */
struct nvmlDevice_st;
nvmlReturn_t handle_of_gpu(const struct gpu *gpu, nvmlDevice_t *device);
nvmlReturn_t handle_of_instance(const struct gpu *gpu, const struct instance *instance, nvmlDevice_t *device);
nvmlReturn_t handle_resolve(const struct state *state, nvmlDevice_t device,
                            const struct gpu **gpu, const struct instance **instance);

/* session.c: which GPUs this process has attached to, and whether the driver has been reloaded. */
int session_alive(const struct state *state);
const struct gpu *session_gpu(const struct state *state, size_t index);
size_t session_gpu_count(void);
/* The index of a GPU among the attached ones; NO_INSTANCE if it is not attached. */
unsigned int session_index(const struct gpu *gpu);

/* held.c: the processes of a GPU or an instance, from the state file and from the ledger, in a
 * list that the caller frees; and the bytes that the ledger's processes hold.
 */
struct process *held_processes(const struct call *call, size_t *count);
number ledger_bytes(const struct call *call);

/* The answers to a query for a list: the buffer was too small, or this many entries were written. A
 * state can make both counts wrong. */
nvmlReturn_t answer_insufficient(struct call *call, unsigned int *count, size_t needed);
nvmlReturn_t answer_count(struct call *call, unsigned int *count, size_t written);
nvmlReturn_t answer_text(char *out, unsigned int size, const char *text);

/* A device call that returns one figure. */
#define FIGURE(function, type, parameter, handles, value)                            \
	nvmlReturn_t function(nvmlDevice_t device, type *parameter)                      \
	{                                                                                \
		struct call call;                                                            \
		nvmlReturn_t answer = call_begin(&call, #function, device, handles);         \
		if (answer == NVML_SUCCESS) {                                                \
			const struct gpu *gpu = call.gpu;                                        \
			number figure = (value);                                                 \
			if (!parameter)                                                          \
				answer = NVML_ERROR_INVALID_ARGUMENT;                                \
			else if (figure == ABSENT)                                               \
				answer = NVML_ERROR_NOT_SUPPORTED;                                   \
			else                                                                     \
				*parameter = (type)figure;                                           \
			(void)gpu;                                                               \
		}                                                                            \
		call_end(&call);                                                             \
		return answer;                                                               \
	}

/* A device call that copies a text into the caller's buffer. */
#define TEXT(function, parameter, handles, value)                                           \
	nvmlReturn_t function(nvmlDevice_t device, char *parameter, unsigned int length)        \
	{                                                                                       \
		struct call call;                                                                   \
		nvmlReturn_t answer = call_begin(&call, #function, device, handles);                \
		if (answer == NVML_SUCCESS) {                                                       \
			const struct gpu *gpu = call.gpu;                                               \
			answer = answer_text(parameter, length, (value));                               \
			(void)gpu;                                                                      \
		}                                                                                   \
		call_end(&call);                                                                    \
		return answer;                                                                      \
	}

#endif
