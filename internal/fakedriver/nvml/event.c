/*
 * Event sets. A set delivers each Xid that appears in the state file after the GPU was
 * registered with the set, once, in the order of the sequence numbers.
 */
#include "call.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct registration {
	nvmlDevice_t device;
	unsigned long long types;
	number seen; /* the highest sequence number delivered */
	struct registration *next;
};

struct nvmlEventSet_st {
	struct registration *registrations;
	struct nvmlEventSet_st *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct nvmlEventSet_st *sets; /* guarded by mutex, like the registrations */

static int known(nvmlEventSet_t set)
{
	const struct nvmlEventSet_st *each = sets;
	while (each && each != set.handle)
		each = each->next;
	return each != NULL;
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
	struct call call;
	nvmlReturn_t answer = system_call_begin(&call, "nvmlEventSetCreate");
	call_end(&call);
	if (answer != NVML_SUCCESS)
		return answer;
	if (!set)
		return NVML_ERROR_INVALID_ARGUMENT;
	struct nvmlEventSet_st *created = calloc(1, sizeof *created);
	if (!created)
		return NVML_ERROR_MEMORY;
	pthread_mutex_lock(&mutex);
	created->next = sets;
	sets = created;
	pthread_mutex_unlock(&mutex);
	set->handle = created;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
	pthread_mutex_lock(&mutex);
	nvmlReturn_t answer = NVML_ERROR_INVALID_ARGUMENT;
	if (known(set)) {
		struct nvmlEventSet_st **link = &sets;
		while (*link != set.handle)
			link = &(*link)->next;
		*link = set.handle->next;
		while (set.handle->registrations) {
			struct registration *gone = set.handle->registrations;
			set.handle->registrations = gone->next;
			free(gone);
		}
		free(set.handle);
		answer = NVML_SUCCESS;
	}
	pthread_mutex_unlock(&mutex);
	return answer;
}

#define SUPPORTED_EVENTS                                                                                   \
	(nvmlEventTypeXidCriticalError | nvmlEventTypeSingleBitEccError | nvmlEventTypeDoubleBitEccError |     \
	 nvmlEventTypePState | nvmlEventTypeClock)

FIGURE(nvmlDeviceGetSupportedEventTypes, unsigned long long, eventTypes, WHOLE_GPU, SUPPORTED_EVENTS)

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long eventTypes, nvmlEventSet_t set)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, "nvmlDeviceRegisterEvents", device, WHOLE_GPU);
	if (answer == NVML_SUCCESS && (eventTypes & ~(unsigned long long)SUPPORTED_EVENTS))
		answer = NVML_ERROR_NOT_SUPPORTED;
	struct registration *added = answer == NVML_SUCCESS ? calloc(1, sizeof *added) : NULL;
	if (added) {
		added->device = device;
		added->types = eventTypes;
		for (size_t i = 0; i < call.gpu->xid_count; i++)
			if (call.gpu->xids[i].seq > added->seen)
				added->seen = call.gpu->xids[i].seq;
		pthread_mutex_lock(&mutex);
		if (known(set)) {
			added->next = set.handle->registrations;
			set.handle->registrations = added;
		} else {
			free(added);
			answer = NVML_ERROR_INVALID_ARGUMENT;
		}
		pthread_mutex_unlock(&mutex);
	}
	call_end(&call);
	return answer;
}

static const struct xid *next_xid(const struct gpu *gpu, const struct registration *registration)
{
	const struct xid *next = NULL;
	for (size_t i = 0; i < gpu->xid_count; i++) {
		const struct xid *xid = &gpu->xids[i];
		if (xid->seq > registration->seen && (!next || xid->seq < next->seq))
			next = xid;
	}
	return registration->types & nvmlEventTypeXidCriticalError ? next : NULL;
}

/* Delivers one event if there is one. A lost GPU is reported after all events. */
static nvmlReturn_t deliver(const struct state *state, nvmlEventSet_t set, nvmlEventData_t *data)
{
	nvmlReturn_t answer = NVML_ERROR_TIMEOUT;
	pthread_mutex_lock(&mutex);
	if (!known(set)) {
		pthread_mutex_unlock(&mutex);
		return NVML_ERROR_INVALID_ARGUMENT;
	}
	for (struct registration *each = set.handle->registrations; each; each = each->next) {
		const struct gpu *gpu = NULL;
		const struct instance *instance = NULL;
		const struct xid *xid = NULL;
		if (handle_resolve(state, each->device, &gpu, &instance) == NVML_SUCCESS)
			xid = next_xid(gpu, each);
		if (xid) {
			each->seen = xid->seq;
			*data = (nvmlEventData_t){
				.device = each->device,
				.eventType = nvmlEventTypeXidCriticalError,
				.eventData = xid->code,
				.gpuInstanceId = xid->gi == ABSENT ? NO_INSTANCE : (unsigned int)xid->gi,
				.computeInstanceId = xid->ci == ABSENT ? NO_INSTANCE : (unsigned int)xid->ci,
			};
			answer = NVML_SUCCESS;
			break;
		}
		if (!gpu || gpu->lost == 1)
			answer = NVML_ERROR_GPU_IS_LOST;
	}
	pthread_mutex_unlock(&mutex);
	return answer;
}

static nvmlReturn_t wait_for(const char *name, nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout)
{
	const unsigned int step = 5; /* ms between two looks at the state */
	for (unsigned int waited = 0;; waited += step) {
		struct call call;
		nvmlReturn_t answer = system_call_begin(&call, name);
		if (answer == NVML_SUCCESS)
			answer = data ? deliver(call.state, set, data) : NVML_ERROR_INVALID_ARGUMENT;
		call_end(&call);
		if (answer != NVML_ERROR_TIMEOUT || waited >= timeout)
			return answer;
		nanosleep(&(struct timespec){ .tv_nsec = step * 1000000L }, NULL);
	}
}

nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms)
{
	return wait_for("nvmlEventSetWait", set, data, timeoutms);
}

#ifdef HAVE_V2
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms)
{
	return wait_for("nvmlEventSetWait_v2", set, data, timeoutms);
}
#endif
