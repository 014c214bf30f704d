/*
 * The part of the CUDA driver API that vramscope calls, without CUDA's own header
 * and without linking to the library: dlsym fills the table, so that the program
 * starts on every machine.
 *
 *   driver_open ── dlopen, dlsym ──→ struct driver ──→ one wrapper per call, for cgo
 *
 * The prototypes are those of the exported symbols with their versions (_v2): the
 * plain names of old calls are the API of 2010 with 32-bit sizes. header_test.go
 * compares them with the real cuda.h.
 * Source: https://docs.nvidia.com/cuda/cuda-driver-api/
 */
#ifndef VRAMSCOPE_CUDA_DRIVER_H
#define VRAMSCOPE_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifndef CUDA_VERSION
typedef unsigned int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef int CUdevice_attribute;
typedef int CUmemPool_attribute;
typedef struct CUuuid_st {
	char bytes[16];
} CUuuid;
typedef struct CUmemPoolProps_st {
	int allocType;
	int handleTypes;
	struct {
		int type;
		int id;
	} location;
	void *win32SecurityAttributes;
	size_t maxSize; /* part of reserved[] before CUDA 12.2; zero is right for both */
	unsigned short usage;
	unsigned char reserved[54];
} CUmemPoolProps;
#endif

#ifndef VRAMSCOPE_CUDA_TYPES_ONLY /* the check against cuda.h needs only the types, under other names */

/* Values of CUDA's enumerations. */
enum {
	DRIVER_NOT_SUPPORTED = 801,    /* CUDA_ERROR_NOT_SUPPORTED */
	DRIVER_POOLS_SUPPORTED = 115,  /* CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED */
	DRIVER_ALLOCATION_PINNED = 1,  /* CU_MEM_ALLOCATION_TYPE_PINNED */
	DRIVER_LOCATION_DEVICE = 1,    /* CU_MEM_LOCATION_TYPE_DEVICE */
	DRIVER_STREAM_NON_BLOCKING = 1, /* CU_STREAM_NON_BLOCKING */
	DRIVER_POOL_THRESHOLD = 4,     /* CU_MEMPOOL_ATTR_RELEASE_THRESHOLD */
	DRIVER_POOL_RESERVED = 5,      /* CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT */
	DRIVER_POOL_USED = 7,          /* CU_MEMPOOL_ATTR_USED_MEM_CURRENT */
};

/* Required. The newest came with CUDA 11.2. */
#define DRIVER_REQUIRED(CALL) \
	CALL(cuInit, (unsigned int)) \
	CALL(cuGetErrorName, (CUresult, const char **)) \
	CALL(cuGetErrorString, (CUresult, const char **)) \
	CALL(cuDeviceGetCount, (int *)) \
	CALL(cuDeviceGet, (CUdevice *, int)) \
	CALL(cuDeviceGetName, (char *, int, CUdevice)) \
	CALL(cuDeviceTotalMem_v2, (size_t *, CUdevice)) \
	CALL(cuDeviceGetAttribute, (int *, CUdevice_attribute, CUdevice)) \
	CALL(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice)) \
	CALL(cuDevicePrimaryCtxRelease_v2, (CUdevice)) \
	CALL(cuCtxSetCurrent, (CUcontext)) \
	CALL(cuMemGetInfo_v2, (size_t *, size_t *)) \
	CALL(cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream)) \
	CALL(cuStreamCreate, (CUstream *, unsigned int)) \
	CALL(cuStreamDestroy_v2, (CUstream)) \
	CALL(cuStreamSynchronize, (CUstream)) \
	CALL(cuMemPoolCreate, (CUmemoryPool *, const CUmemPoolProps *)) \
	CALL(cuMemPoolDestroy, (CUmemoryPool)) \
	CALL(cuMemPoolGetAttribute, (CUmemoryPool, CUmemPool_attribute, void *)) \
	CALL(cuMemPoolSetAttribute, (CUmemoryPool, CUmemPool_attribute, void *)) \
	CALL(cuMemPoolTrimTo, (CUmemoryPool, size_t)) \
	CALL(cuMemAllocFromPoolAsync, (CUdeviceptr *, size_t, CUmemoryPool, CUstream)) \
	CALL(cuMemFreeAsync, (CUdeviceptr, CUstream))

/* Optional. Either stands in for the other; without both, the UUID is "not supported". */
#define DRIVER_OPTIONAL(CALL) \
	CALL(cuDeviceGetUuid, (CUuuid *, CUdevice)) \
	CALL(cuDeviceGetUuid_v2, (CUuuid *, CUdevice))

#define DRIVER_MEMBER(name, parameters) CUresult(*name) parameters;
struct driver {
	void *library;
	DRIVER_REQUIRED(DRIVER_MEMBER)
	DRIVER_OPTIONAL(DRIVER_MEMBER)
};
#undef DRIVER_MEMBER

/*
 * Loads the library and fills the table. On failure it returns NULL. Then either
 * message says why, and the caller frees it, or missing is the symbol that an old
 * driver lacks.
 */
struct driver *driver_open(const char *path, char **message, const char **missing);

CUresult driver_init(const struct driver *d);
const char *driver_error_name(const struct driver *d, CUresult result);
const char *driver_error_text(const struct driver *d, CUresult result);

CUresult driver_device_count(const struct driver *d, int *count);
CUresult driver_device(const struct driver *d, int ordinal, CUdevice *device);
CUresult driver_device_name(const struct driver *d, CUdevice device, char *name, int size);
/* The UUID of the whole GPU, also for a MIG instance. */
CUresult driver_device_gpu_uuid(const struct driver *d, CUdevice device, CUuuid *uuid);
CUresult driver_device_uuid(const struct driver *d, CUdevice device, CUuuid *uuid);
CUresult driver_device_total(const struct driver *d, CUdevice device, size_t *bytes);
CUresult driver_device_attribute(const struct driver *d, CUdevice device, int attribute, int *value);

CUresult driver_context_retain(const struct driver *d, CUdevice device, CUcontext *context);
CUresult driver_context_release(const struct driver *d, CUdevice device);
CUresult driver_context_use(const struct driver *d, CUcontext context);
CUresult driver_memory_info(const struct driver *d, size_t *free, size_t *total);
CUresult driver_fill(const struct driver *d, CUdeviceptr address, unsigned char byte, size_t bytes, CUstream stream);

CUresult driver_stream_create(const struct driver *d, CUstream *stream);
CUresult driver_stream_destroy(const struct driver *d, CUstream stream);
CUresult driver_stream_synchronize(const struct driver *d, CUstream stream);

CUresult driver_pool_create(const struct driver *d, CUdevice device, CUmemoryPool *pool);
CUresult driver_pool_destroy(const struct driver *d, CUmemoryPool pool);
CUresult driver_pool_attribute(const struct driver *d, CUmemoryPool pool, int attribute, uint64_t *value);
CUresult driver_pool_set_attribute(const struct driver *d, CUmemoryPool pool, int attribute, uint64_t value);
CUresult driver_pool_trim(const struct driver *d, CUmemoryPool pool, size_t keep);
CUresult driver_pool_alloc(const struct driver *d, CUmemoryPool pool, CUstream stream, CUdeviceptr *address, size_t bytes);
CUresult driver_pool_free(const struct driver *d, CUdeviceptr address, CUstream stream);

#endif /* VRAMSCOPE_CUDA_TYPES_ONLY */
#endif
