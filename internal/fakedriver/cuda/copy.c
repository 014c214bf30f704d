/* Copying and filling. Nothing is moved, but a device address outside an allocation is refused. (A
 * real driver reports most such addresses only later, as CUDA_ERROR_ILLEGAL_ADDRESS.)
 */
#include "driver.h"

#include <stdint.h>

/* One side of a copy: EITHER with unified addressing. Of host addresses only NULL is refused. */
struct side {
	CUdeviceptr address;
	enum { DEVICE, HOST_MEMORY, EITHER } where;
};

static int usable(struct side side, number size)
{
	if (side.where == HOST_MEMORY || (side.where == EITHER && !is_device_address(side.address)))
		return side.address != 0;
	return device_range(side.address, size);
}

static CUresult copy(const char *name, struct side to, struct side from, number size, CUstream handle,
                     enum default_stream twin)
{
	struct call call;
	struct CUstream_st *stream;
	CUresult answer = call_begin(&call, name, CURRENT | FAST);
	if (answer == CUDA_SUCCESS)
		answer = stream_of(&call, handle, twin, &stream);
	if (answer == CUDA_SUCCESS && size > 0 && (!usable(to, size) || !usable(from, size)))
		answer = CUDA_ERROR_INVALID_VALUE;
	return call_end(&call, answer);
}

static CUresult fill(const char *name, CUdeviceptr to, number size, number width, CUstream handle,
                     enum default_stream twin)
{
	struct call call;
	struct CUstream_st *stream;
	CUresult answer = call_begin(&call, name, CURRENT | FAST);
	if (answer == CUDA_SUCCESS)
		answer = stream_of(&call, handle, twin, &stream);
	if (answer == CUDA_SUCCESS && size > 0 &&
	    (to % width || size > LARGEST || !device_range(to, size * width)))
		answer = CUDA_ERROR_INVALID_VALUE;
	return call_end(&call, answer);
}

#define ON_DEVICE(pointer) ((struct side){ .address = (pointer), .where = DEVICE })
#define ON_EITHER(pointer) ((struct side){ .address = (pointer), .where = EITHER })
#define ON_HOST(pointer) ((struct side){ .address = (CUdeviceptr)(uintptr_t)(pointer), .where = HOST_MEMORY })

#define COPY(function, twin, to_type, to_side, from_type, from_side)                          \
	CUresult function(to_type to, from_type from, size_t size)                                \
	{                                                                                         \
		return copy(#function, to_side(to), from_side(from), size, NULL, LEGACY);             \
	}                                                                                         \
	CUresult twin(to_type to, from_type from, size_t size)                                    \
	{                                                                                         \
		return copy(#function, to_side(to), from_side(from), size, NULL, PER_THREAD);         \
	}
#define COPY_ASYNC(function, twin, to_type, to_side, from_type, from_side)                    \
	CUresult function(to_type to, from_type from, size_t size, CUstream stream)               \
	{                                                                                         \
		return copy(#function, to_side(to), from_side(from), size, stream, LEGACY);           \
	}                                                                                         \
	CUresult twin(to_type to, from_type from, size_t size, CUstream stream)                   \
	{                                                                                         \
		return copy(#function, to_side(to), from_side(from), size, stream, PER_THREAD);       \
	}
#define FILL(function, twin, type)                                                            \
	CUresult function(CUdeviceptr to, type value, size_t count)                               \
	{                                                                                         \
		(void)value;                                                                          \
		return fill(#function, to, count, sizeof value, NULL, LEGACY);                        \
	}                                                                                         \
	CUresult twin(CUdeviceptr to, type value, size_t count)                                   \
	{                                                                                         \
		(void)value;                                                                          \
		return fill(#function, to, count, sizeof value, NULL, PER_THREAD);                    \
	}
#define FILL_ASYNC(function, twin, type)                                                      \
	CUresult function(CUdeviceptr to, type value, size_t count, CUstream stream)              \
	{                                                                                         \
		(void)value;                                                                          \
		return fill(#function, to, count, sizeof value, stream, LEGACY);                      \
	}                                                                                         \
	CUresult twin(CUdeviceptr to, type value, size_t count, CUstream stream)                  \
	{                                                                                         \
		(void)value;                                                                          \
		return fill(#function, to, count, sizeof value, stream, PER_THREAD);                  \
	}

COPY(cuMemcpy, cuMemcpy_ptds, CUdeviceptr, ON_EITHER, CUdeviceptr, ON_EITHER)
COPY(cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds, CUdeviceptr, ON_DEVICE, const void *, ON_HOST)
COPY(cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds, void *, ON_HOST, CUdeviceptr, ON_DEVICE)
COPY(cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds, CUdeviceptr, ON_DEVICE, CUdeviceptr, ON_DEVICE)
COPY_ASYNC(cuMemcpyAsync, cuMemcpyAsync_ptsz, CUdeviceptr, ON_EITHER, CUdeviceptr, ON_EITHER)
COPY_ASYNC(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz, CUdeviceptr, ON_DEVICE, const void *, ON_HOST)
COPY_ASYNC(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz, void *, ON_HOST, CUdeviceptr, ON_DEVICE)
COPY_ASYNC(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz, CUdeviceptr, ON_DEVICE, CUdeviceptr, ON_DEVICE)
FILL(cuMemsetD8_v2, cuMemsetD8_v2_ptds, unsigned char)
FILL(cuMemsetD16_v2, cuMemsetD16_v2_ptds, unsigned short)
FILL(cuMemsetD32_v2, cuMemsetD32_v2_ptds, unsigned int)
FILL_ASYNC(cuMemsetD8Async, cuMemsetD8Async_ptsz, unsigned char)
FILL_ASYNC(cuMemsetD16Async, cuMemsetD16Async_ptsz, unsigned short)
FILL_ASYNC(cuMemsetD32Async, cuMemsetD32Async_ptsz, unsigned int)

static CUresult write_value(const char *name, CUdeviceptr to, unsigned int flags, CUstream stream, enum default_stream twin)
{
	enum { KNOWN = 1 }; /* CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER */
	if (flags & ~(unsigned int)KNOWN)
		return CUDA_ERROR_INVALID_VALUE;
	return fill(name, to, 1, sizeof(cuuint32_t), stream, twin);
}

#define WRITE_VALUE(function)                                                                       \
	CUresult function(CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned int flags)        \
	{                                                                                               \
		(void)value;                                                                                \
		return write_value(#function, to, flags, stream, LEGACY);                                   \
	}                                                                                               \
	CUresult function##_ptsz(CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned int flags) \
	{                                                                                               \
		(void)value;                                                                                \
		return write_value(#function, to, flags, stream, PER_THREAD);                               \
	}

WRITE_VALUE(cuStreamWriteValue32)
WRITE_VALUE(cuStreamWriteValue32_v2)
