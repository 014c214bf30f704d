/* MIG: the mode of a GPU, and its instances as devices of their own. NVML_V1_ONLY lacks all of it. */
#include "call.h"

#ifdef HAVE_V2

/* A GPU whose state has no mig_mode cannot do MIG. */
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *currentMode, unsigned int *pendingMode)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, "nvmlDeviceGetMigMode", device, WHOLE_GPU);
	if (answer == NVML_SUCCESS) {
		if (!currentMode || !pendingMode) {
			answer = NVML_ERROR_INVALID_ARGUMENT;
		} else if (call.gpu->mig_mode == ABSENT) {
			answer = NVML_ERROR_NOT_SUPPORTED;
		} else {
			*currentMode = (unsigned int)call.gpu->mig_mode;
			*pendingMode = (unsigned int)(call.gpu->mig_pending == ABSENT ? call.gpu->mig_mode : call.gpu->mig_pending);
		}
	}
	call_end(&call);
	return answer;
}

FIGURE(nvmlDeviceGetMaxMigDeviceCount, unsigned int, count, WHOLE_GPU,
       gpu->mig_mode == NVML_DEVICE_MIG_ENABLE && gpu->mig_max != ABSENT ? gpu->mig_max : 0)

FIGURE(nvmlDeviceIsMigDeviceHandle, unsigned int, isMigDevice, ANY_HANDLE, call.instance != NULL)

/* Indices may have holes: an instance keeps its index when one before it is destroyed. */
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t *migDevice)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, "nvmlDeviceGetMigDeviceHandleByIndex", device, WHOLE_GPU);
	if (answer == NVML_SUCCESS) {
		const struct gpu *gpu = call.gpu;
		if (!migDevice)
			answer = NVML_ERROR_INVALID_ARGUMENT;
		else if (gpu->mig_mode != NVML_DEVICE_MIG_ENABLE)
			answer = NVML_ERROR_NOT_SUPPORTED;
		else
			answer = gpu->mig_max != ABSENT && index >= gpu->mig_max ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_NOT_FOUND;
		for (size_t i = 0; answer == NVML_ERROR_NOT_FOUND && i < gpu->instance_count; i++)
			if (gpu->instances[i].index == index)
				answer = handle_of_instance(gpu, &gpu->instances[i], migDevice);
	}
	call_end(&call);
	return answer;
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t migDevice, nvmlDevice_t *device)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", migDevice, ANY_HANDLE);
	if (answer == NVML_SUCCESS)
		answer = device && call.instance ? handle_of_gpu(call.gpu, device) : NVML_ERROR_INVALID_ARGUMENT;
	call_end(&call);
	return answer;
}

static nvmlReturn_t instance_id(const char *name, nvmlDevice_t device, int compute, unsigned int *id)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, name, device, ANY_HANDLE);
	if (answer == NVML_SUCCESS) {
		if (!id || !call.instance)
			answer = NVML_ERROR_INVALID_ARGUMENT;
		else
			*id = (unsigned int)(compute ? call.instance->ci : call.instance->gi);
	}
	call_end(&call);
	return answer;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *id)
{
	return instance_id("nvmlDeviceGetGpuInstanceId", device, 0, id);
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int *id)
{
	return instance_id("nvmlDeviceGetComputeInstanceId", device, 1, id);
}

static unsigned int or_zero(number value)
{
	return value == ABSENT ? 0 : (unsigned int)value;
}

static nvmlReturn_t attributes_of(const char *name, nvmlDevice_t device, nvmlDeviceAttributes_t *attributes)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, name, device, ANY_HANDLE);
	if (answer == NVML_SUCCESS) {
		if (!attributes)
			answer = NVML_ERROR_INVALID_ARGUMENT;
		else if (!call.instance)
			answer = NVML_ERROR_NOT_SUPPORTED;
		else
			*attributes = (nvmlDeviceAttributes_t){
				.multiprocessorCount = or_zero(call.instance->multiprocessors),
				.gpuInstanceSliceCount = or_zero(call.instance->slices),
				.computeInstanceSliceCount = or_zero(call.instance->compute_slices),
				.memorySizeMB = call.instance->memory_mib == ABSENT ? call.instance->total >> 20
				                                                    : call.instance->memory_mib,
			};
	}
	call_end(&call);
	return answer;
}

nvmlReturn_t nvmlDeviceGetAttributes(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes)
{
	return attributes_of("nvmlDeviceGetAttributes", device, attributes);
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes)
{
	return attributes_of("nvmlDeviceGetAttributes_v2", device, attributes);
}

#endif
