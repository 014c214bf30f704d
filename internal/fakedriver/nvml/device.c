/* The devices and their constant facts: count, handles, name, UUID, PCI and others. */
#include "call.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static nvmlReturn_t device_count(const char *name, unsigned int *count)
{
	struct call call;
	nvmlReturn_t answer = system_call_begin(&call, name);
	if (answer == NVML_SUCCESS) {
		if (count)
			*count = (unsigned int)session_gpu_count();
		else
			answer = NVML_ERROR_INVALID_ARGUMENT;
	}
	call_end(&call);
	return answer;
}

/* A lost GPU has no handle. */
static nvmlReturn_t hand_out(struct call *call, const struct gpu *gpu, nvmlDevice_t *device)
{
	if (!gpu || gpu->lost == 1)
		return NVML_ERROR_GPU_IS_LOST;
	const struct fault *fault = faults_find(&gpu->faults, FAULT_RETURN, call->name);
	return fault ? (nvmlReturn_t)fault->value : handle_of_gpu(gpu, device);
}

static nvmlReturn_t by_index(const char *name, unsigned int index, nvmlDevice_t *device)
{
	struct call call;
	nvmlReturn_t answer = system_call_begin(&call, name);
	if (answer == NVML_SUCCESS) {
		if (!device || index >= session_gpu_count())
			answer = NVML_ERROR_INVALID_ARGUMENT;
		else
			answer = hand_out(&call, session_gpu(call.state, index), device);
	}
	call_end(&call);
	return answer;
}

typedef int (*matcher)(const struct gpu *gpu, const char *wanted);

static nvmlReturn_t by_match(const char *name, matcher matches, const char *wanted, nvmlDevice_t *device)
{
	struct call call;
	nvmlReturn_t answer = system_call_begin(&call, name);
	if (answer == NVML_SUCCESS && (!device || !wanted))
		answer = NVML_ERROR_INVALID_ARGUMENT;
	if (answer == NVML_SUCCESS) {
		answer = NVML_ERROR_NOT_FOUND;
		for (size_t i = 0; i < session_gpu_count() && answer == NVML_ERROR_NOT_FOUND; i++) {
			const struct gpu *gpu = session_gpu(call.state, i);
			if (gpu && matches(gpu, wanted))
				answer = hand_out(&call, gpu, device);
		}
	}
	call_end(&call);
	return answer;
}

static int uuid_matches(const struct gpu *gpu, const char *wanted)
{
	return strcmp(gpu->uuid, wanted) == 0;
}

static int serial_matches(const struct gpu *gpu, const char *wanted)
{
	return strcmp(gpu->serial, wanted) == 0;
}

static int bus_id_matches(const struct gpu *gpu, const char *wanted)
{
	unsigned int domain, bus, device;
	return sscanf(wanted, "%x:%x:%x.0", &domain, &bus, &device) == 3 && gpu->pci_domain == domain &&
	       gpu->pci_bus == bus && gpu->pci_device == device;
}

nvmlReturn_t nvmlDeviceGetCount(unsigned int *deviceCount)
{
	return device_count("nvmlDeviceGetCount", deviceCount);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
	return by_index("nvmlDeviceGetHandleByIndex", index, device);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *pciBusId, nvmlDevice_t *device)
{
	return by_match("nvmlDeviceGetHandleByPciBusId", bus_id_matches, pciBusId, device);
}

nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device)
{
	return by_match("nvmlDeviceGetHandleBySerial", serial_matches, serial, device);
}

#ifdef HAVE_V2
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *deviceCount)
{
	return device_count("nvmlDeviceGetCount_v2", deviceCount);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	return by_index("nvmlDeviceGetHandleByIndex_v2", index, device);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pciBusId, nvmlDevice_t *device)
{
	return by_match("nvmlDeviceGetHandleByPciBusId_v2", bus_id_matches, pciBusId, device);
}
#endif

/* The UUID of a MIG instance finds that instance. */
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	struct call call;
	nvmlReturn_t answer = system_call_begin(&call, "nvmlDeviceGetHandleByUUID");
	for (size_t i = 0; answer == NVML_SUCCESS && uuid && device && i < session_gpu_count(); i++) {
		const struct gpu *gpu = session_gpu(call.state, i);
		for (size_t j = 0; gpu && j < gpu->instance_count; j++)
			if (strcmp(gpu->instances[j].uuid, uuid) == 0) {
				answer = handle_of_instance(gpu, &gpu->instances[j], device);
				call_end(&call);
				return answer;
			}
	}
	call_end(&call);
	return by_match("nvmlDeviceGetHandleByUUID", uuid_matches, uuid, device);
}

/* "NVIDIA H100 80GB HBM3 MIG 3g.40gb": a MIG instance is named after its GPU and its profile. */
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, "nvmlDeviceGetName", device, ANY_HANDLE);
	if (answer == NVML_SUCCESS) {
		char text[2 * TEXT_SIZE + 8];
		snprintf(text, sizeof text, "%s%s%s", call.gpu->name, call.instance ? " MIG " : "",
		         call.instance ? call.instance->profile : "");
		answer = answer_text(name, length, text);
	}
	call_end(&call);
	return answer;
}

TEXT(nvmlDeviceGetUUID, uuid, ANY_HANDLE, call.instance ? call.instance->uuid : gpu->uuid)
TEXT(nvmlDeviceGetSerial, serial, WHOLE_GPU, gpu->serial)
TEXT(nvmlDeviceGetVbiosVersion, version, WHOLE_GPU, gpu->vbios)
TEXT(nvmlDeviceGetBoardPartNumber, partNumber, WHOLE_GPU, gpu->part_number)

FIGURE(nvmlDeviceGetIndex, unsigned int, index, ANY_HANDLE,
       call.instance ? call.instance->index : session_index(gpu))
FIGURE(nvmlDeviceGetMinorNumber, unsigned int, minorNumber, ANY_HANDLE, gpu->minor)
FIGURE(nvmlDeviceGetBrand, nvmlBrandType_t, type, WHOLE_GPU, gpu->brand)
FIGURE(nvmlDeviceGetBoardId, unsigned int, boardId, WHOLE_GPU, gpu->pci_bus << 8)
FIGURE(nvmlDeviceGetMultiGpuBoard, unsigned int, multiGpuBool, WHOLE_GPU, 0)
FIGURE(nvmlDeviceGetComputeMode, nvmlComputeMode_t, mode, WHOLE_GPU, gpu->compute_mode)
FIGURE(nvmlDeviceGetPersistenceMode, nvmlEnableState_t, mode, WHOLE_GPU, gpu->persistence)
FIGURE(nvmlDeviceGetDisplayMode, nvmlEnableState_t, display, WHOLE_GPU, NVML_FEATURE_DISABLED)
FIGURE(nvmlDeviceGetDisplayActive, nvmlEnableState_t, isActive, WHOLE_GPU, NVML_FEATURE_DISABLED)

#ifdef HAVE_V2
FIGURE(nvmlDeviceGetArchitecture, nvmlDeviceArchitecture_t, arch, ANY_HANDLE, gpu->architecture)
FIGURE(nvmlDeviceGetNumGpuCores, unsigned int, numCores, WHOLE_GPU, gpu->cores)
FIGURE(nvmlDeviceGetMemoryBusWidth, unsigned int, busWidth, WHOLE_GPU, gpu->bus_width)
FIGURE(nvmlDeviceGetBusType, nvmlBusType_t, type, WHOLE_GPU, gpu->pcie_gen == ABSENT ? ABSENT : NVML_BUS_TYPE_PCIE)
#endif

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, "nvmlDeviceGetCudaComputeCapability", device, ANY_HANDLE);
	if (answer == NVML_SUCCESS) {
		if (!major || !minor) {
			answer = NVML_ERROR_INVALID_ARGUMENT;
		} else if (call.gpu->cuda_major == ABSENT) {
			answer = NVML_ERROR_NOT_SUPPORTED;
		} else {
			*major = (int)call.gpu->cuda_major;
			*minor = (int)call.gpu->cuda_minor;
		}
	}
	call_end(&call);
	return answer;
}

/* Driver models exist on Windows only; on Linux the call is refused. */
static nvmlReturn_t driver_model(const char *name, nvmlDevice_t device)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, name, device, WHOLE_GPU);
	call_end(&call);
	return answer == NVML_SUCCESS ? NVML_ERROR_NOT_SUPPORTED : answer;
}

nvmlReturn_t nvmlDeviceGetDriverModel(nvmlDevice_t device, nvmlDriverModel_t *current, nvmlDriverModel_t *pending)
{
	(void)current, (void)pending;
	return driver_model("nvmlDeviceGetDriverModel", device);
}

#ifdef HAVE_R510
nvmlReturn_t nvmlDeviceGetDriverModel_v2(nvmlDevice_t device, nvmlDriverModel_t *current, nvmlDriverModel_t *pending)
{
	(void)current, (void)pending;
	return driver_model("nvmlDeviceGetDriverModel_v2", device);
}
#endif
