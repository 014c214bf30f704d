/* Frame buffer and BAR1 memory, in bytes, of a GPU or of a MIG instance. */
#include "call.h"

struct memory {
	number total, reserved, used, free;
};

/* The state's figures plus what processes hold through the fake CUDA driver. */
static struct memory memory_of(const struct call *call)
{
	const struct gpu *gpu = call->gpu;
	const struct instance *instance = call->instance;
	struct memory figures = { gpu->memory_total, gpu->memory_reserved, gpu->memory_used, gpu->memory_free };
	if (instance)
		figures = (struct memory){ instance->total, instance->reserved, instance->used, instance->free };
	number held = ledger_bytes(call);
	if (figures.used < UNAVAILABLE - 1 - held)
		figures.used += held;
	if (figures.free < ABSENT)
		figures.free -= held < figures.free ? held : figures.free;
	return figures;
}

/* The first version counts reserved memory as used. */
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, "nvmlDeviceGetMemoryInfo", device, ANY_HANDLE);
	if (answer == NVML_SUCCESS) {
		struct memory figures = memory_of(&call);
		if (!memory)
			answer = NVML_ERROR_INVALID_ARGUMENT;
		else if (figures.total == ABSENT)
			answer = NVML_ERROR_NOT_SUPPORTED;
		else
			*memory = (nvmlMemory_t){
				.total = figures.total,
				.used = figures.used + (figures.reserved == ABSENT ? 0 : figures.reserved),
				.free = figures.free,
			};
	}
	call_end(&call);
	return answer;
}

#ifdef HAVE_R510
/* Drivers take different version fields. go-nvml's field also has the struct's size, nvtop's is only 2. */
static int version_taken(const struct state *state, unsigned int version)
{
	switch (state->driver.memory_v2) {
	case 1: return version == nvmlMemory_v2;
	case 2: return version == 2;
	default: return version == nvmlMemory_v2 || version == 2;
	}
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, "nvmlDeviceGetMemoryInfo_v2", device, ANY_HANDLE);
	if (answer == NVML_SUCCESS) {
		struct memory figures = memory_of(&call);
		if (!memory) {
			answer = NVML_ERROR_INVALID_ARGUMENT;
		} else if (!version_taken(call.state, memory->version)) {
			answer = NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
		} else if (figures.total == ABSENT) {
			answer = NVML_ERROR_NOT_SUPPORTED;
		} else {
			memory->total = figures.total;
			memory->reserved = figures.reserved == ABSENT ? 0 : figures.reserved;
			memory->used = figures.used;
			memory->free = figures.free;
		}
	}
	call_end(&call);
	return answer;
}
#endif

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *bar1Memory)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, "nvmlDeviceGetBAR1MemoryInfo", device, ANY_HANDLE);
	if (answer == NVML_SUCCESS) {
		if (!bar1Memory)
			answer = NVML_ERROR_INVALID_ARGUMENT;
		else if (call.gpu->bar1_total == ABSENT)
			answer = NVML_ERROR_NOT_SUPPORTED;
		else
			*bar1Memory = (nvmlBAR1Memory_t){
				.bar1Total = call.gpu->bar1_total,
				.bar1Used = call.gpu->bar1_used,
				.bar1Free = call.gpu->bar1_total - call.gpu->bar1_used,
			};
	}
	call_end(&call);
	return answer;
}
