/* Only compiled, with the real header before driver.h: see header_test.go. */
#include <cuda.h>

#ifdef cuDeviceGetUuid
/* CUDA 13 gives the name to the second version; the library still has the first. */
#undef cuDeviceGetUuid
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev);
#endif

#include "../driver.h"

#define SAME(name, parameters) \
	_Static_assert(__builtin_types_compatible_p(__typeof__(name), CUresult parameters), #name);
DRIVER_REQUIRED(SAME)
DRIVER_OPTIONAL(SAME)

#define VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs);
VALUE(DRIVER_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED)
VALUE(DRIVER_POOLS_SUPPORTED, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)
VALUE(DRIVER_ALLOCATION_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED)
VALUE(DRIVER_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE)
VALUE(DRIVER_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING)
VALUE(DRIVER_POOL_THRESHOLD, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
VALUE(DRIVER_POOL_RESERVED, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)
VALUE(DRIVER_POOL_USED, CU_MEMPOOL_ATTR_USED_MEM_CURRENT)

/* The codes in error.go. */
VALUE(2, CUDA_ERROR_OUT_OF_MEMORY)
VALUE(3, CUDA_ERROR_NOT_INITIALIZED)
VALUE(34, CUDA_ERROR_STUB_LIBRARY)
VALUE(46, CUDA_ERROR_DEVICE_UNAVAILABLE)
VALUE(100, CUDA_ERROR_NO_DEVICE)
VALUE(101, CUDA_ERROR_INVALID_DEVICE)
VALUE(201, CUDA_ERROR_INVALID_CONTEXT)
VALUE(214, CUDA_ERROR_ECC_UNCORRECTABLE)
VALUE(802, CUDA_ERROR_SYSTEM_NOT_READY)
VALUE(803, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)
VALUE(804, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE)

/*
 * The types that driver.h declares, under other names, to compare sizes. Of the
 * pool's properties the members' places are compared, too.
 */
#undef CUDA_VERSION
#undef VRAMSCOPE_CUDA_DRIVER_H
#define CUresult ourResult
#define CUdevice ourDevice
#define CUdeviceptr ourDevicePointer
#define CUcontext ourContext
#define CUstream ourStream
#define CUmemoryPool ourPool
#define CUdevice_attribute ourDeviceAttribute
#define CUmemPool_attribute ourPoolAttribute
#define CUuuid ourUUID
#define CUuuid_st ourUUIDStructure
#define CUmemPoolProps ourProperties
#define CUmemPoolProps_st ourPropertiesStructure
#define VRAMSCOPE_CUDA_TYPES_ONLY
#include "../driver.h"
#undef CUresult
#undef CUdevice
#undef CUdeviceptr
#undef CUcontext
#undef CUstream
#undef CUmemoryPool
#undef CUdevice_attribute
#undef CUmemPool_attribute
#undef CUuuid
#undef CUuuid_st
#undef CUmemPoolProps
#undef CUmemPoolProps_st

#define SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #theirs);
SIZE(ourResult, CUresult)
SIZE(ourDevice, CUdevice)
SIZE(ourDevicePointer, CUdeviceptr)
SIZE(ourDeviceAttribute, CUdevice_attribute)
SIZE(ourPoolAttribute, CUmemPool_attribute)
SIZE(ourUUID, CUuuid)
SIZE(ourProperties, CUmemPoolProps)

#define PLACE(member) \
	_Static_assert(offsetof(ourProperties, member) == offsetof(CUmemPoolProps, member), #member);
PLACE(allocType)
PLACE(handleTypes)
PLACE(location.type)
PLACE(location.id)
PLACE(win32SecurityAttributes)
