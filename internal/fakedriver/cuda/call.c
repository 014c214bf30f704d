/*
 * The beginning and the end of a call:
 *
 *   fail_once → forked? initialised? → state → hang → fault → lock → context → lost? → capture → the call's own answer
 */
#define _GNU_SOURCE
#include "driver.h"
#include "totals.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

struct process_memory own;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int initialised;
/* A page that the kernel clears in every forked child (MADV_WIPEONFORK). */
static _Atomic int *here;

/* Finds a fault of the call's GPU, or else of the state. */
static const struct fault *find_fault(const struct call *call, struct device *device, enum fault_kind kind)
{
	const struct gpu *gpu = device ? device_gpu(call->state, device) : NULL;
	const struct fault *fault = gpu ? faults_find(&gpu->faults, kind, call->name) : NULL;
	return fault ? fault : faults_find(&call->state->faults, kind, call->name);
}

static number milliseconds_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (number)now.tv_sec * 1000 + (number)now.tv_nsec / 1000000;
}

/* Hangs for as long as the state file says, without a lock and without a state. Then it returns the
 * error that the state file asks for. */
static CUresult suffer(struct call *call, struct device *device)
{
	const struct fault *fault = find_fault(call, device, FAULT_HANG);
	number began = fault ? milliseconds_now() : 0;
	while (fault && milliseconds_now() - began <= fault->value) {
		state_release(call->state);
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
		call->state = state_acquire();
		if (!call->state)
			return CUDA_ERROR_DEVICE_UNAVAILABLE;
		fault = find_fault(call, device, FAULT_HANG);
	}
	fault = find_fault(call, device, FAULT_RETURN);
	return fault ? (CUresult)fault->value : CUDA_SUCCESS;
}

static _Atomic unsigned long long calls;

__attribute__((visibility("default"))) unsigned long long fake_calls(void)
{
	return calls;
}

/* VRAMSCOPE_FAKE_FAIL="N CODE": the process's Nth call that comes here does nothing and returns CODE. */
static CUresult fail_once(const char *name)
{
	unsigned long long failing, this = strncmp(name, "cu", 2) == 0 ? ++calls : 0;
	int code;
	const char *plan = getenv("VRAMSCOPE_FAKE_FAIL");
	return plan && sscanf(plan, "%llu %d", &failing, &code) == 2 && failing == this ? (CUresult)code : CUDA_SUCCESS;
}

CUresult call_begin(struct call *call, const char *name, enum need need)
{
	*call = (struct call){ .name = name, .need = need };
	CUresult failed = fail_once(name);
	if (failed != CUDA_SUCCESS)
		return failed;
	int ready = initialised;
	if ((ready && !*here) || (!ready && need & (INITIALISED | CURRENT)))
		return CUDA_ERROR_NOT_INITIALIZED;
	call->state = need & FAST ? state_acquire_recent() : state_acquire();
	if (!call->state)
		return ready ? CUDA_ERROR_DEVICE_UNAVAILABLE : CUDA_ERROR_NO_DEVICE;
	call->context = context_current();
	call->device = call->context ? call->context->device : NULL;
	CUresult answer = suffer(call, need & CURRENT ? call->device : NULL);
	if (answer != CUDA_SUCCESS)
		return answer;
	pthread_mutex_lock(&mutex);
	call->locked = 1;
	if (!(need & CURRENT))
		return CUDA_SUCCESS;
	if (!call->context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!call->context->alive)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	if (device_lost(call->state, call->device))
		return CUDA_ERROR_DEVICE_UNAVAILABLE;
	return need & UNSAFE && capture_forbids() ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult call_end(struct call *call, CUresult answer)
{
	if (call->locked)
		pthread_mutex_unlock(&mutex);
	state_release(call->state);
	return answer;
}

CUresult call_device(struct call *call, CUdevice ordinal, struct device **device)
{
	if (ordinal < 0 || ordinal >= own.device_count)
		return CUDA_ERROR_INVALID_DEVICE;
	*device = &own.devices[ordinal];
	if (call->locked)
		pthread_mutex_unlock(&mutex);
	call->locked = 0;
	CUresult answer = suffer(call, *device);
	if (answer != CUDA_SUCCESS)
		return answer;
	pthread_mutex_lock(&mutex);
	call->locked = 1;
	return CUDA_SUCCESS;
}

CUresult call_initialise(void)
{
	if (initialised)
		return CUDA_SUCCESS;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || madvise(page, 4096, MADV_WIPEONFORK) != 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	here = page;
	*here = 1;
	initialised = 1;
	return CUDA_SUCCESS;
}
