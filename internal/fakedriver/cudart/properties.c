/* cudaGetDeviceProperties: the driver's attributes in one struct. */
#include "runtime.h"

#include <string.h>

/* Numbers of CUdevice_attribute, because our own driver header lacks some of the names. */
static const struct {
	size_t offset;
	int attribute;
} members[] = {
#define AT(member, attribute) { offsetof(struct cudaDeviceProp, member), attribute },
	AT(maxThreadsPerBlock, 1) AT(maxThreadsDim[0], 2) AT(maxThreadsDim[1], 3) AT(maxThreadsDim[2], 4)
	AT(maxGridSize[0], 5) AT(maxGridSize[1], 6) AT(maxGridSize[2], 7) AT(warpSize, 10) AT(regsPerBlock, 12)
	AT(multiProcessorCount, 16) AT(integrated, 18) AT(canMapHostMemory, 19) AT(concurrentKernels, 31)
	AT(ECCEnabled, 32) AT(pciBusID, 33) AT(pciDeviceID, 34) AT(memoryBusWidth, 37) AT(l2CacheSize, 38)
	AT(maxThreadsPerMultiProcessor, 39) AT(asyncEngineCount, 40) AT(unifiedAddressing, 41) AT(pciDomainID, 50)
	AT(major, 75) AT(minor, 76) AT(streamPrioritiesSupported, 78) AT(regsPerMultiprocessor, 82) AT(managedMemory, 83)
	AT(isMultiGpuBoard, 84) AT(pageableMemoryAccess, 88) AT(concurrentManagedAccess, 89)
	AT(computePreemptionSupported, 90) AT(cooperativeLaunch, 95) AT(hostRegisterSupported, 99)
	AT(maxBlocksPerMultiProcessor, 106) AT(memoryPoolsSupported, 115) AT(memoryPoolSupportedHandleTypes, 119)
	AT(clusterLaunch, 120) AT(ipcEventSupported, 125)
#if RUNTIME_VERSION < 13000
	AT(clockRate, 13) AT(deviceOverlap, 15) AT(kernelExecTimeoutEnabled, 17) AT(computeMode, 20) AT(memoryClockRate, 36)
#endif
};

/* The struct has these as size_t. */
static const struct {
	size_t offset;
	int attribute;
} sizes[] = {
	AT(sharedMemPerBlock, 8) AT(totalConstMem, 9) AT(memPitch, 11) AT(textureAlignment, 14) AT(texturePitchAlignment, 51)
	AT(sharedMemPerMultiprocessor, 81) AT(sharedMemPerBlockOptin, 97) AT(reservedSharedMemPerBlock, 111)
};

static cudaError_t fill(struct cudaDeviceProp *properties, int device)
{
	CUuuid uuid;
	memset(properties, 0, sizeof *properties);
	CUresult answer = driver.cuDeviceGetName(properties->name, sizeof properties->name, device);
	answer = answer ?: driver.cuDeviceTotalMem(&properties->totalGlobalMem, device);
	answer = answer ?: driver.cuDeviceGetUuid(&uuid, device);
	for (size_t i = 0; !answer && i < sizeof members / sizeof *members; i++)
		answer = driver.cuDeviceGetAttribute((int *)((char *)properties + members[i].offset),
		                                     (CUdevice_attribute)members[i].attribute, device);
	for (size_t i = 0; !answer && i < sizeof sizes / sizeof *sizes; i++) {
		int value = 0;
		answer = driver.cuDeviceGetAttribute(&value, (CUdevice_attribute)sizes[i].attribute, device);
		*(size_t *)((char *)properties + sizes[i].offset) = (size_t)value;
	}
	if (!answer)
		memcpy(&properties->uuid, &uuid, sizeof uuid);
	return (cudaError_t)answer;
}

#if RUNTIME_VERSION < 13000
cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *properties, int device)
#else
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
#endif
{
	if (!properties)
		return record(cudaErrorInvalidValue);
	return record(driver_ready() ?: fill(properties, device));
}
