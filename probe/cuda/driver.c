//go:build linux && cgo

#include "driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* POSIX allows the conversion of dlsym's data pointer to a function pointer; ISO C has no cast for it. */
#define RESOLVE(name, parameters) \
	*(void **)&d->name = dlsym(d->library, #name);
#define REQUIRE(name, parameters) \
	if (d->name == NULL && *missing == NULL) \
		*missing = #name;

struct driver *driver_open(const char *path, char **message, const char **missing)
{
	*message = NULL;
	*missing = NULL;
	struct driver *d = calloc(1, sizeof *d);
	if (d == NULL) {
		*message = strdup("out of host memory");
		return NULL;
	}
	d->library = dlopen(path, RTLD_NOW);
	if (d->library == NULL) {
		const char *why = dlerror();
		*message = strdup(why != NULL ? why : "dlopen gives no reason");
		free(d);
		return NULL;
	}
	DRIVER_REQUIRED(RESOLVE)
	DRIVER_OPTIONAL(RESOLVE)
	DRIVER_REQUIRED(REQUIRE)
	if (*missing != NULL) {
		/* The library stays loaded: its threads may already run. */
		free(d);
		return NULL;
	}
	return d;
}

CUresult driver_init(const struct driver *d) { return d->cuInit(0); }

const char *driver_error_name(const struct driver *d, CUresult result)
{
	const char *text = NULL;
	return d->cuGetErrorName(result, &text) == 0 ? text : NULL;
}

const char *driver_error_text(const struct driver *d, CUresult result)
{
	const char *text = NULL;
	return d->cuGetErrorString(result, &text) == 0 ? text : NULL;
}

CUresult driver_device_count(const struct driver *d, int *count) { return d->cuDeviceGetCount(count); }

CUresult driver_device(const struct driver *d, int ordinal, CUdevice *device) { return d->cuDeviceGet(device, ordinal); }

CUresult driver_device_name(const struct driver *d, CUdevice device, char *name, int size)
{
	return d->cuDeviceGetName(name, size, device);
}

static CUresult uuid_by(CUresult (*call)(CUuuid *, CUdevice), CUresult (*other)(CUuuid *, CUdevice), CUuuid *uuid,
			CUdevice device)
{
	if (call == NULL)
		call = other;
	return call != NULL ? call(uuid, device) : DRIVER_NOT_SUPPORTED;
}

CUresult driver_device_gpu_uuid(const struct driver *d, CUdevice device, CUuuid *uuid)
{
	return uuid_by(d->cuDeviceGetUuid, d->cuDeviceGetUuid_v2, uuid, device);
}

CUresult driver_device_uuid(const struct driver *d, CUdevice device, CUuuid *uuid)
{
	return uuid_by(d->cuDeviceGetUuid_v2, d->cuDeviceGetUuid, uuid, device);
}

CUresult driver_device_total(const struct driver *d, CUdevice device, size_t *bytes)
{
	return d->cuDeviceTotalMem_v2(bytes, device);
}

CUresult driver_device_attribute(const struct driver *d, CUdevice device, int attribute, int *value)
{
	return d->cuDeviceGetAttribute(value, attribute, device);
}

CUresult driver_context_retain(const struct driver *d, CUdevice device, CUcontext *context)
{
	return d->cuDevicePrimaryCtxRetain(context, device);
}

CUresult driver_context_release(const struct driver *d, CUdevice device) { return d->cuDevicePrimaryCtxRelease_v2(device); }

CUresult driver_context_use(const struct driver *d, CUcontext context) { return d->cuCtxSetCurrent(context); }

CUresult driver_memory_info(const struct driver *d, size_t *free, size_t *total) { return d->cuMemGetInfo_v2(free, total); }

CUresult driver_fill(const struct driver *d, CUdeviceptr address, unsigned char byte, size_t bytes, CUstream stream)
{
	return d->cuMemsetD8Async(address, byte, bytes, stream);
}

CUresult driver_stream_create(const struct driver *d, CUstream *stream)
{
	return d->cuStreamCreate(stream, DRIVER_STREAM_NON_BLOCKING);
}

CUresult driver_stream_destroy(const struct driver *d, CUstream stream) { return d->cuStreamDestroy_v2(stream); }

CUresult driver_stream_synchronize(const struct driver *d, CUstream stream) { return d->cuStreamSynchronize(stream); }

CUresult driver_pool_create(const struct driver *d, CUdevice device, CUmemoryPool *pool)
{
	CUmemPoolProps properties;
	memset(&properties, 0, sizeof properties);
	properties.allocType = DRIVER_ALLOCATION_PINNED;
	properties.location.type = DRIVER_LOCATION_DEVICE;
	properties.location.id = device;
	return d->cuMemPoolCreate(pool, &properties);
}

CUresult driver_pool_destroy(const struct driver *d, CUmemoryPool pool) { return d->cuMemPoolDestroy(pool); }

CUresult driver_pool_attribute(const struct driver *d, CUmemoryPool pool, int attribute, uint64_t *value)
{
	return d->cuMemPoolGetAttribute(pool, attribute, value);
}

CUresult driver_pool_set_attribute(const struct driver *d, CUmemoryPool pool, int attribute, uint64_t value)
{
	return d->cuMemPoolSetAttribute(pool, attribute, &value);
}

CUresult driver_pool_trim(const struct driver *d, CUmemoryPool pool, size_t keep) { return d->cuMemPoolTrimTo(pool, keep); }

CUresult driver_pool_alloc(const struct driver *d, CUmemoryPool pool, CUstream stream, CUdeviceptr *address, size_t bytes)
{
	return d->cuMemAllocFromPoolAsync(address, bytes, pool, stream);
}

CUresult driver_pool_free(const struct driver *d, CUdeviceptr address, CUstream stream)
{
	return d->cuMemFreeAsync(address, stream);
}
