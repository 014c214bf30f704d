/*
 * The GPUs that the process sees, and their numbers: CUDA_VISIBLE_DEVICES is a list
 * of indices, UUIDs or their prefixes, and UUIDs of MIG instances. The first
 * invalid entry ends the list. A duplicate makes the list empty (CUDA C++ Programming
 * Guide, "CUDA Environment Variables").
 */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* CUDA_MPS_PINNED_DEVICE_MEM_LIMIT, "0=2G,1=10240M", obeyed only by a client of MPS. */
static number client_limit(int ordinal)
{
	const char *limits = getenv("CUDA_MPS_PIPE_DIRECTORY") ? getenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT") : NULL;
	for (; limits; limits = strchr(limits, ',') ? strchr(limits, ',') + 1 : NULL) {
		int device;
		number size;
		char unit;
		if (sscanf(limits, "%d=%llu%c", &device, &size, &unit) == 3 && device == ordinal)
			return size << (unit == 'G' ? 30 : 20);
	}
	return 0;
}

static void add(const struct state *state, size_t index, const struct instance *instance)
{
	if (own.device_count == MAX_DEVICES)
		return;
	struct device *device = &own.devices[own.device_count];
	*device = (struct device){ .ordinal = own.device_count, .hint = index };
	strcpy(device->gpu, state->gpus[index].uuid);
	if (instance)
		strcpy(device->instance, instance->uuid);
	device->limit = client_limit(device->ordinal);
	device->key = ledger_key(instance ? device->instance : device->gpu);
	own.device_count++;
}

/* A GPU with MIG is seen as its first instance; without instances it is not seen at all. */
static int add_gpu(const struct state *state, size_t index)
{
	const struct gpu *gpu = &state->gpus[index];
	if (gpu->mig_mode == 1 && gpu->instance_count == 0)
		return 0;
	add(state, index, gpu->mig_mode == 1 ? &gpu->instances[0] : NULL);
	return 1;
}

static int add_named(const struct state *state, const char *name)
{
	char *end;
	long index = strtol(name, &end, 10);
	if (end != name && *end == 0)
		return index >= 0 && (size_t)index < state->gpu_count && add_gpu(state, (size_t)index);
	if (strncasecmp(name, "GPU-", 4) != 0 && strncasecmp(name, "MIG-", 4) != 0)
		return 0;
	for (size_t i = 0; i < state->gpu_count; i++) {
		if (strncasecmp(state->gpus[i].uuid, name, strlen(name)) == 0)
			return add_gpu(state, i);
		for (size_t j = 0; j < state->gpus[i].instance_count; j++)
			if (strcasecmp(state->gpus[i].instances[j].uuid, name) == 0) {
				add(state, i, &state->gpus[i].instances[j]);
				return 1;
			}
	}
	return 0;
}

static int named_twice(void)
{
	for (int i = 0; i < own.device_count; i++)
		for (int j = 0; j < i; j++)
			if (own.devices[i].key == own.devices[j].key)
				return 1;
	return 0;
}

void visible_devices(const struct state *state)
{
	own.device_count = 0;
	const char *wanted = getenv("CUDA_VISIBLE_DEVICES");
	if (!wanted) {
		for (size_t i = 0; i < state->gpu_count; i++)
			add_gpu(state, i);
		return;
	}
	char list[4096], *save = NULL;
	snprintf(list, sizeof list, "%s", wanted);
	for (char *name = strtok_r(list, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		name += strspn(name, " ");
		name[strcspn(name, " ")] = 0;
		if (!add_named(state, name))
			break;
	}
	if (named_twice())
		own.device_count = 0;
}
