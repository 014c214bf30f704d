/* A GPU's attributes and its PCI address. Most attributes that the state lacks have an H100's values. */
#include "driver.h"

#include <stdio.h>
#include <strings.h>

static int known(number value, int otherwise)
{
	return value < ABSENT ? (int)value : otherwise;
}

/* CUDA's clocks are in kHz. */
static int kilohertz(number megahertz)
{
	return known(megahertz, 0) * 1000;
}

static int attribute_of(const struct gpu *gpu, const struct instance *instance, CUdevice_attribute attribute)
{
	switch (attribute) {
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return 1024;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X: return 1024;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: return 1024;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: return 64;
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: return 2147483647;
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y: return 65535;
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: return 65535;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: return 49152;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return 232448;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: return 233472;
	case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY: return 65536;
	case CU_DEVICE_ATTRIBUTE_WARP_SIZE: return 32;
	case CU_DEVICE_ATTRIBUTE_MAX_PITCH: return 2147483647;
	case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK: return 65536;
	case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: return 65536;
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return 2048;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: return 32;
	case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: return kilohertz(gpu->clock_sm_max);
	case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: return kilohertz(gpu->clock_memory_max);
	case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: return known(gpu->bus_width, 0);
	case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: return 50 * (int)MIB;
	case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT: return 512;
	case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT: return 32;
	case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: return 3;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		return instance ? known(instance->multiprocessors, 0) : known(gpu->cores, 16896) / 128;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE: return known(gpu->compute_mode, 0);
	case CU_DEVICE_ATTRIBUTE_ECC_ENABLED: return gpu->ecc_mode == 1;
	case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID: return known(gpu->pci_domain, 0);
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: return known(gpu->pci_bus, 0);
	case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID: return known(gpu->pci_device, 0);
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return known(gpu->cuda_major, 9);
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return known(gpu->cuda_minor, 0);
	case CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES: return CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
	case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
	case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
	case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
	case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
	case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
	case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
	case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED: return 1;
	default: return 0; /* not supported by this GPU */
	}
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice ordinal)
{
	struct call call;
	struct device *device;
	CUresult answer = call_begin(&call, "cuDeviceGetAttribute", INITIALISED);
	if (answer == CUDA_SUCCESS)
		answer = call_device(&call, ordinal, &device);
	if (answer == CUDA_SUCCESS && (!value || attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		const struct gpu *gpu = device_gpu(call.state, device);
		if (gpu)
			*value = attribute_of(gpu, device_instance(call.state, device), attribute);
		else
			answer = CUDA_ERROR_DEVICE_UNAVAILABLE;
	}
	return call_end(&call, answer);
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
	if (!major || !minor)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult answer = cuDeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
	return answer == CUDA_SUCCESS
	           ? cuDeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)
	           : answer;
}

#define BUS_ID_SIZE 32

static void bus_id(const struct gpu *gpu, char *id)
{
	snprintf(id, BUS_ID_SIZE, "%04x:%02x:%02x.0", (unsigned int)known(gpu->pci_domain, 0),
	         (unsigned int)known(gpu->pci_bus, 0), (unsigned int)known(gpu->pci_device, 0));
}

CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice ordinal)
{
	struct call call;
	struct device *device;
	CUresult answer = call_begin(&call, "cuDeviceGetPCIBusId", INITIALISED);
	if (answer == CUDA_SUCCESS)
		answer = call_device(&call, ordinal, &device);
	if (answer == CUDA_SUCCESS && (!id || length < 13))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		const struct gpu *gpu = device_gpu(call.state, device);
		char whole[BUS_ID_SIZE] = "";
		if (gpu)
			bus_id(gpu, whole);
		snprintf(id, (size_t)length, "%s", whole);
		answer = gpu ? CUDA_SUCCESS : CUDA_ERROR_DEVICE_UNAVAILABLE;
	}
	return call_end(&call, answer);
}

/* "[domain]:[bus]:[device].[function]", also without domain or function. */
CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *id)
{
	struct call call;
	unsigned int domain = 0, bus = 0, slot = 0;
	CUresult answer = call_begin(&call, "cuDeviceGetByPCIBusId", INITIALISED);
	if (answer == CUDA_SUCCESS &&
	    (!device || !id || (sscanf(id, "%x:%x:%x", &domain, &bus, &slot) != 3 &&
	                        (domain = 0, sscanf(id, "%x:%x", &bus, &slot)) != 2)))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		answer = CUDA_ERROR_INVALID_DEVICE;
		for (int i = 0; i < own.device_count && answer != CUDA_SUCCESS; i++) {
			const struct gpu *gpu = device_gpu(call.state, &own.devices[i]);
			if (gpu && known(gpu->pci_domain, 0) == (int)domain && known(gpu->pci_bus, 0) == (int)bus &&
			    known(gpu->pci_device, 0) == (int)slot) {
				*device = i;
				answer = CUDA_SUCCESS;
			}
		}
	}
	return call_end(&call, answer);
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuDeviceCanAccessPeer", INITIALISED);
	if (answer == CUDA_SUCCESS && !can)
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS && (device < 0 || device >= own.device_count || peer < 0 || peer >= own.device_count))
		answer = CUDA_ERROR_INVALID_DEVICE;
	if (answer == CUDA_SUCCESS)
		*can = device != peer;
	return call_end(&call, answer);
}
