/*
 * A libcuda older than its programs: for an unknown version, cuGetProcAddress
 * returns its newest function, at another address than the exported one.
 */
#include "api.h"

#include <stdarg.h>
#include <string.h>

static CUresult create(CUcontext *context, CUexecAffinityParam *affinities, int count, unsigned int flags, CUdevice device)
{
	*context = (CUcontext)(uintptr_t)0x1000;
	return affinities == (CUexecAffinityParam *)0x2000 && count == 1 && flags == 8 && device == 0 ? CUDA_SUCCESS
	                                                                                                : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *affinities, int count, unsigned int flags, CUdevice device)
{
	return create(context, affinities, count, flags, device);
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status)
{
	(void)version, (void)flags;
	*function = strcmp(symbol, "cuCtxCreate") == 0 ? (void *)create : NULL;
	*status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}
