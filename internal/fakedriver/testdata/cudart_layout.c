/* Prints how structs are laid out; compiled with this project's header and with NVIDIA's. */
#include "api.h"

#include <stdio.h>

#define SIZE(type) printf(#type " %zu\n", sizeof(type));
#define AT(member) printf(#member " %zu\n", offsetof(struct cudaDeviceProp, member));

int main(void)
{
	SIZE(struct cudaDeviceProp)
	SIZE(struct cudaPointerAttributes)
	SIZE(struct cudaFuncAttributes)
	SIZE(struct cudaMemPoolProps)
	SIZE(struct cudaMemAccessDesc)
	SIZE(cudaIpcMemHandle_t)
	SIZE(cudaIpcEventHandle_t)
	SIZE(dim3)
	SIZE(cudaGraphConditionalHandle)
	printf("pointer %zu %zu\n", offsetof(struct cudaPointerAttributes, device),
	       offsetof(struct cudaPointerAttributes, hostPointer));
	printf("function %zu %zu\n", offsetof(struct cudaFuncAttributes, maxThreadsPerBlock),
	       offsetof(struct cudaFuncAttributes, maxDynamicSharedSizeBytes));
	printf("pool %zu %zu\n", offsetof(struct cudaMemPoolProps, location), offsetof(struct cudaMemPoolProps, maxSize));
	printf("access %zu\n", offsetof(struct cudaMemAccessDesc, flags));
	AT(uuid) AT(totalGlobalMem) AT(sharedMemPerBlock) AT(regsPerBlock) AT(warpSize) AT(memPitch) AT(maxThreadsPerBlock)
	AT(maxThreadsDim) AT(maxGridSize) AT(totalConstMem) AT(major) AT(minor) AT(textureAlignment) AT(texturePitchAlignment)
	AT(multiProcessorCount) AT(integrated) AT(canMapHostMemory) AT(surfaceAlignment) AT(concurrentKernels) AT(ECCEnabled)
	AT(pciBusID) AT(pciDeviceID) AT(pciDomainID) AT(asyncEngineCount) AT(unifiedAddressing) AT(memoryBusWidth)
	AT(l2CacheSize) AT(maxThreadsPerMultiProcessor) AT(streamPrioritiesSupported) AT(sharedMemPerMultiprocessor)
	AT(regsPerMultiprocessor) AT(managedMemory) AT(isMultiGpuBoard) AT(pageableMemoryAccess) AT(concurrentManagedAccess)
	AT(computePreemptionSupported) AT(cooperativeLaunch) AT(sharedMemPerBlockOptin) AT(maxBlocksPerMultiProcessor)
	AT(reservedSharedMemPerBlock) AT(hostRegisterSupported) AT(memoryPoolsSupported) AT(memoryPoolSupportedHandleTypes)
	AT(ipcEventSupported) AT(clusterLaunch)
#if RUNTIME_VERSION < 13000
	AT(clockRate) AT(deviceOverlap) AT(kernelExecTimeoutEnabled) AT(computeMode) AT(memoryClockRate)
#endif
	return 0;
}
