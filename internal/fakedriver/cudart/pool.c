/* Memory pools and the memory of graphs. */
#include "runtime.h"

/* The structs are passed on as they are. */
_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps), "properties of pools");
_Static_assert(sizeof(struct cudaMemAccessDesc) == sizeof(CUmemAccessDesc), "access to pools");

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
	return WITH_DRIVER(cuDeviceGetDefaultMemPool, pool, device);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
	return WITH_DRIVER(cuDeviceGetMemPool, pool, device);
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
	return WITH_DRIVER(cuDeviceSetMemPool, device, pool);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties)
{
	return WITH_DRIVER(cuMemPoolCreate, pool, (const CUmemPoolProps *)properties);
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
	return WITH_DRIVER(cuMemPoolDestroy, pool);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
	return WITH_DRIVER(cuMemPoolTrimTo, pool, keep);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
	return WITH_DRIVER(cuMemPoolGetAttribute, pool, (CUmemPool_attribute)attribute, value);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
	return WITH_DRIVER(cuMemPoolSetAttribute, pool, (CUmemPool_attribute)attribute, value);
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *access, size_t count)
{
	return WITH_DRIVER(cuMemPoolSetAccess, pool, (const CUmemAccessDesc *)access, count);
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute, void *value)
{
	return WITH_DRIVER(cuDeviceGetGraphMemAttribute, device, (CUgraphMem_attribute)attribute, value);
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute, void *value)
{
	return WITH_DRIVER(cuDeviceSetGraphMemAttribute, device, (CUgraphMem_attribute)attribute, value);
}

cudaError_t cudaDeviceGraphMemTrim(int device)
{
	return WITH_DRIVER(cuDeviceGraphMemTrim, device);
}
