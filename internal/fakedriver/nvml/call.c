#include "call.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const struct fault *find_fault(const struct call *call, enum fault_kind kind)
{
	const struct fault *fault = call->gpu ? faults_find(&call->gpu->faults, kind, call->name) : NULL;
	return fault ? fault : faults_find(&call->state->faults, kind, call->name);
}

static number microseconds_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (number)now.tv_sec * 1000000 + (number)now.tv_nsec / 1000;
}

/* Looks up the state and the device. Both may change during a hang, so it is called again afterwards. */
static nvmlReturn_t look_up(struct call *call)
{
	call->gpu = NULL;
	call->instance = NULL;
	call->state = state_acquire();
	if (!call->state)
		return call->scope == SETUP ? NVML_ERROR_DRIVER_NOT_LOADED : NVML_ERROR_UNINITIALIZED;
	if (call->scope != SETUP && !session_alive(call->state))
		return NVML_ERROR_UNINITIALIZED;
	if (call->scope != DEVICE)
		return NVML_SUCCESS;
	return handle_resolve(call->state, call->device, &call->gpu, &call->instance);
}

/*
 * Hangs for as long as the state file says; a test ends the hang by rewriting the
 * file. No lock is held and no state is kept meanwhile.
 */
static nvmlReturn_t hang(struct call *call)
{
	const struct fault *fault = find_fault(call, FAULT_HANG);
	if (!fault)
		return NVML_SUCCESS;
	number began = microseconds_now();
	while (fault && microseconds_now() - began <= fault->value * 1000) {
		call_end(call);
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
		nvmlReturn_t answer = look_up(call);
		if (answer != NVML_SUCCESS)
			return answer;
		fault = find_fault(call, FAULT_HANG);
	}
	return NVML_SUCCESS;
}

static _Atomic(_Atomic number *) counter;

/*
 * Counts this call in the file that VRAMSCOPE_FAKE_COUNT names, if it is set: 8 bytes in
 * the machine's order. Programs and tests read the file while the count grows.
 */
static void count(void)
{
	static _Atomic int looked;
	if (!atomic_exchange(&looked, 1)) {
		const char *path = getenv("VRAMSCOPE_FAKE_COUNT");
		int file = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
		if (file >= 0 && ftruncate(file, sizeof(number)) == 0) {
			void *page = mmap(NULL, sizeof(number), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
			if (page != MAP_FAILED)
				counter = page;
		}
		if (file >= 0)
			close(file);
	}
	if (counter)
		(*counter)++;
}

static nvmlReturn_t begin(struct call *call)
{
	count();
	nvmlReturn_t answer = look_up(call);
	if (answer == NVML_SUCCESS)
		answer = hang(call);
	if (answer != NVML_SUCCESS)
		return answer;
	const struct fault *fault = find_fault(call, FAULT_RETURN);
	return fault ? (nvmlReturn_t)fault->value : NVML_SUCCESS;
}

nvmlReturn_t call_begin(struct call *call, const char *name, nvmlDevice_t device, enum handles handles)
{
	*call = (struct call){ .name = name, .scope = DEVICE, .device = device };
	nvmlReturn_t answer = begin(call);
	if (answer != NVML_SUCCESS)
		return answer;
	if (call->gpu->lost == 1)
		return NVML_ERROR_GPU_IS_LOST;
	if (call->instance && handles == WHOLE_GPU)
		return NVML_ERROR_NOT_SUPPORTED;
	return NVML_SUCCESS;
}

nvmlReturn_t system_call_begin(struct call *call, const char *name)
{
	*call = (struct call){ .name = name, .scope = SYSTEM };
	return begin(call);
}

nvmlReturn_t setup_call_begin(struct call *call, const char *name)
{
	*call = (struct call){ .name = name, .scope = SETUP };
	return begin(call);
}

void call_end(struct call *call)
{
	state_release(call->state);
	call->state = NULL;
}

/* Answers a query for a size: the count comes with the error. A state can make the count wrong:
 * "size" replaces it in every answer, and "wobble" makes it one too low in a number of answers, as
 * if the list had grown between the two calls.
 */
nvmlReturn_t answer_insufficient(struct call *call, unsigned int *count, size_t needed)
{
	static _Atomic number shortened; /* answers made too low so far, in this process, over all lists */
	const struct fault *fault = find_fault(call, FAULT_SIZE);
	if (fault)
		*count = (unsigned int)fault->value;
	else if (call->gpu->wobble != ABSENT && needed > 0 && shortened++ < call->gpu->wobble)
		*count = (unsigned int)needed - 1;
	else
		*count = (unsigned int)needed;
	return NVML_ERROR_INSUFFICIENT_SIZE;
}

nvmlReturn_t answer_count(struct call *call, unsigned int *count, size_t written)
{
	const struct fault *fault = find_fault(call, FAULT_COUNT);
	*count = (unsigned int)(fault ? fault->value : written);
	return NVML_SUCCESS;
}

nvmlReturn_t answer_text(char *out, unsigned int size, const char *text)
{
	if (!out)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!*text)
		return NVML_ERROR_NOT_SUPPORTED;
	if (strlen(text) + 1 > size)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	strcpy(out, text);
	return NVML_SUCCESS;
}
