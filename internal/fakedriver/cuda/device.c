/* The GPUs: their number, names and memory. */
#include "driver.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

const struct gpu *device_gpu(const struct state *state, struct device *device)
{
	if (device->hint < state->gpu_count && strcmp(state->gpus[device->hint].uuid, device->gpu) == 0)
		return &state->gpus[device->hint];
	for (size_t i = 0; i < state->gpu_count; i++)
		if (strcmp(state->gpus[i].uuid, device->gpu) == 0)
			return &state->gpus[i];
	return NULL;
}

const struct instance *device_instance(const struct state *state, struct device *device)
{
	const struct gpu *gpu = device_gpu(state, device);
	for (size_t i = 0; gpu && *device->instance && i < gpu->instance_count; i++)
		if (strcmp(gpu->instances[i].uuid, device->instance) == 0)
			return &gpu->instances[i];
	return NULL;
}

int device_lost(const struct state *state, struct device *device)
{
	const struct gpu *gpu = device_gpu(state, device);
	return !gpu || gpu->lost == 1 || (*device->instance && !device_instance(state, device));
}

number device_capacity(const struct state *state, struct device *device)
{
	const struct gpu *gpu = device_gpu(state, device);
	const struct instance *instance = device_instance(state, device);
	number free = instance ? instance->free : gpu ? gpu->memory_free : 0;
	return free < ABSENT ? free : device_total(state, device);
}

number device_total(const struct state *state, struct device *device)
{
	const struct gpu *gpu = device_gpu(state, device);
	const struct instance *instance = device_instance(state, device);
	number total = instance ? instance->total : gpu ? gpu->memory_total : 0;
	number reserved = instance ? instance->reserved : gpu ? gpu->memory_reserved : 0;
	if (total >= ABSENT)
		return LARGEST; /* unified memory: its size is not in the state */
	return reserved < total ? total - reserved : total;
}

int device_take(const struct call *call, struct device *device, number bytes)
{
	if (bytes == 0)
		return 1;
	if (device->limit && bytes > device->limit - device->taken)
		return 0;
	if (!ledger_take(own.ledger, device->key, bytes, device_capacity(call->state, device)))
		return 0;
	device->taken += bytes;
	return 1;
}

void device_give(struct device *device, number bytes)
{
	if (bytes) {
		ledger_give(own.ledger, device->key, bytes);
		device->taken -= bytes;
	}
}

/* CUDA's answers where nvmlInit fails: no driver, or a driver of another version. */
static CUresult driver_trouble(const struct state *state)
{
	switch (state->driver.init) {
	case 0:
	case ABSENT: return CUDA_SUCCESS;
	case 18: return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
	default: return CUDA_ERROR_NO_DEVICE;
	}
}

static CUresult initialise(const struct call *call)
{
	if (own.ledger)
		return CUDA_SUCCESS;
	CUresult answer = driver_trouble(call->state);
	if (answer != CUDA_SUCCESS)
		return answer;
	visible_devices(call->state);
	if (own.device_count == 0)
		return CUDA_ERROR_NO_DEVICE;
	own.addresses = (struct space){ .granularity = 512 };
	if (!space_add(&own.addresses, FIRST_ADDRESS, ADDRESSES))
		return CUDA_ERROR_OUT_OF_MEMORY;
	struct ledger *ledger = ledger_open(1);
	answer = ledger ? call_initialise() : CUDA_ERROR_OPERATING_SYSTEM;
	if (answer == CUDA_SUCCESS)
		own.ledger = ledger;
	return answer;
}

CUresult cuInit(unsigned int flags)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuInit", NOTHING);
	if (answer == CUDA_SUCCESS)
		answer = flags ? CUDA_ERROR_INVALID_VALUE : initialise(&call);
	return call_end(&call, answer);
}

static int driver_version(const struct state *state)
{
	return state && state->driver.cuda_version < ABSENT ? (int)state->driver.cuda_version : 12040;
}

/* The library's CUDA version, which it returns without cuInit, too. */
CUresult cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	const struct state *state = state_acquire();
	*version = driver_version(state);
	state_release(state);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuDeviceGetCount", INITIALISED);
	if (answer == CUDA_SUCCESS && !count)
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS)
		*count = own.device_count;
	return call_end(&call, answer);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuDeviceGet", INITIALISED);
	if (answer == CUDA_SUCCESS && !device)
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS && (ordinal < 0 || ordinal >= own.device_count))
		answer = CUDA_ERROR_INVALID_DEVICE;
	if (answer == CUDA_SUCCESS)
		*device = ordinal;
	return call_end(&call, answer);
}

CUresult cuDeviceGetName(char *name, int length, CUdevice ordinal)
{
	struct call call;
	struct device *device;
	CUresult answer = call_begin(&call, "cuDeviceGetName", INITIALISED);
	if (answer == CUDA_SUCCESS)
		answer = call_device(&call, ordinal, &device);
	if (answer == CUDA_SUCCESS && (!name || length <= 0))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		const struct gpu *gpu = device_gpu(call.state, device);
		const struct instance *instance = device_instance(call.state, device);
		snprintf(name, (size_t)length, "%s%s%s", gpu ? gpu->name : "", instance ? " MIG " : "",
		         instance ? instance->profile : "");
	}
	return call_end(&call, answer);
}

/* The hexadecimal digits of a UUID, without its prefix. */
void uuid_bytes(const char *uuid, CUuuid *bytes)
{
	memset(bytes, 0, sizeof *bytes);
	size_t digits = 0;
	for (const char *c = uuid + 4 * (strlen(uuid) > 4); *c && digits < 32; c++) {
		const char *all = "0123456789abcdef", *digit = strchr(all, *c | 0x20);
		if (!digit)
			continue;
		bytes->bytes[digits / 2] |= (char)((digit - all) << (digits % 2 ? 0 : 4));
		digits++;
	}
}

static CUresult device_uuid(const char *name, CUuuid *uuid, CUdevice ordinal, int of_instance)
{
	struct call call;
	struct device *device;
	CUresult answer = call_begin(&call, name, INITIALISED);
	if (answer == CUDA_SUCCESS)
		answer = call_device(&call, ordinal, &device);
	if (answer == CUDA_SUCCESS && !uuid)
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS)
		uuid_bytes(of_instance && *device->instance ? device->instance : device->gpu, uuid);
	return call_end(&call, answer);
}

/* cuDeviceGetUuid returns the GPU's UUID, cuDeviceGetUuid_v2 that of the MIG instance. */
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
	return device_uuid("cuDeviceGetUuid", uuid, device, 0);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
	return device_uuid("cuDeviceGetUuid_v2", uuid, device, 1);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice ordinal)
{
	struct call call;
	struct device *device;
	CUresult answer = call_begin(&call, "cuDeviceTotalMem_v2", INITIALISED);
	if (answer == CUDA_SUCCESS)
		answer = call_device(&call, ordinal, &device);
	if (answer == CUDA_SUCCESS && !bytes)
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS)
		*bytes = (size_t)device_total(call.state, device);
	return call_end(&call, answer);
}
