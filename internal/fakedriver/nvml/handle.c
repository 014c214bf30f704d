/*
 * Device handles. A handle names a GPU by its UUID, or a MIG instance by GPU
 * UUID and instance IDs, and stays valid for the life of the process. A lookup
 * walks the list of handles, so that an invalid one is refused.
 */
#include "call.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct nvmlDevice_st {
	struct nvmlDevice_st *next;
	char uuid[TEXT_SIZE];
	int is_instance;
	number gi, ci;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct nvmlDevice_st *handles; /* guarded by mutex; entries never change */

static nvmlReturn_t find_or_add(struct nvmlDevice_st wanted, nvmlDevice_t *device)
{
	pthread_mutex_lock(&mutex);
	struct nvmlDevice_st *handle = handles;
	for (; handle; handle = handle->next)
		if (strcmp(handle->uuid, wanted.uuid) == 0 && handle->is_instance == wanted.is_instance &&
		    handle->gi == wanted.gi && handle->ci == wanted.ci)
			break;
	if (!handle && (handle = malloc(sizeof *handle))) {
		*handle = wanted;
		handle->next = handles;
		handles = handle;
	}
	pthread_mutex_unlock(&mutex);
	device->handle = handle;
	return handle ? NVML_SUCCESS : NVML_ERROR_MEMORY;
}

nvmlReturn_t handle_of_gpu(const struct gpu *gpu, nvmlDevice_t *device)
{
	struct nvmlDevice_st wanted = { 0 };
	strcpy(wanted.uuid, gpu->uuid);
	return find_or_add(wanted, device);
}

nvmlReturn_t handle_of_instance(const struct gpu *gpu, const struct instance *instance, nvmlDevice_t *device)
{
	struct nvmlDevice_st wanted = { .is_instance = 1, .gi = instance->gi, .ci = instance->ci };
	strcpy(wanted.uuid, gpu->uuid);
	return find_or_add(wanted, device);
}

nvmlReturn_t handle_resolve(const struct state *state, nvmlDevice_t device,
                            const struct gpu **gpu, const struct instance **instance)
{
	pthread_mutex_lock(&mutex);
	const struct nvmlDevice_st *handle = handles;
	while (handle && handle != device.handle)
		handle = handle->next;
	pthread_mutex_unlock(&mutex);
	if (!handle)
		return NVML_ERROR_INVALID_ARGUMENT;

	for (size_t i = 0; i < state->gpu_count && !*gpu; i++)
		if (strcmp(state->gpus[i].uuid, handle->uuid) == 0)
			*gpu = &state->gpus[i];
	if (!*gpu)
		return NVML_ERROR_GPU_IS_LOST;
	if (!handle->is_instance)
		return NVML_SUCCESS;
	for (size_t i = 0; i < (*gpu)->instance_count; i++)
		if ((*gpu)->instances[i].gi == handle->gi && (*gpu)->instances[i].ci == handle->ci)
			*instance = &(*gpu)->instances[i];
	return *instance ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}
