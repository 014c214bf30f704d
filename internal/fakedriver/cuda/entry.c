/*
 * Finding calls by name: cuGetProcAddress returns the latest version of a call
 * that both the caller's CUDA version and the driver's have.
 */
#include "driver.h"

#include <string.h>

struct entry {
	const char *name;
	int version;
	void *function; /* NULL: a version that this library lacks */
	int twin_version;
	void *twin; /* for the thread's own default stream */
};

#define ENTRY(name, version, symbol) { #name, version, (void *)symbol, 0, NULL },
#define TWIN(name, version, symbol, twin_version, kind) \
	{ #name, version, (void *)symbol, twin_version, (void *)symbol##_##kind },
#define OTHER(name, version) { #name, version, NULL, 0, NULL },
static const struct entry entries[] = {
#include "entries.h"
};
#undef ENTRY
#undef TWIN
#undef OTHER

#ifdef REAL_CUDA_HEADER
/* Checks the prototypes against NVIDIA's headers, and the versions against the names of their types. */
#define SAME(type, symbol) _Static_assert(__builtin_types_compatible_p(type, __typeof__(&symbol)), #symbol);
#define ENTRY(name, version, symbol) SAME(PFN_##name##_v##version, symbol)
#define TWIN(name, version, symbol, twin_version, kind) \
	SAME(PFN_##name##_v##version, symbol) SAME(PFN_##name##_v##twin_version##_##kind, symbol##_##kind)
#define OTHER(name, version) _Static_assert(sizeof(PFN_##name##_v##version) > 0, #name);
#include "entries.h"
#undef ENTRY
#undef TWIN
#undef OTHER
#endif

static CUdriverProcAddressQueryResult find(const char *symbol, int version, int driver, cuuint64_t flags, void **function)
{
	int known = 0, best = 0;
	*function = NULL;
	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
		const struct entry *entry = &entries[i];
		if (entry->version > driver || strcmp(entry->name, symbol) != 0)
			continue;
		known = 1;
		if (entry->version > version || entry->version < best)
			continue;
		best = entry->version;
		int twin = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM && entry->twin && entry->twin_version <= version;
		*function = twin ? entry->twin : entry->function;
	}
	if (*function)
		return CU_GET_PROC_ADDRESS_SUCCESS;
	return known && !best ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
}

static CUresult look_up(const char *symbol, void **function, int version, cuuint64_t flags,
                        CUdriverProcAddressQueryResult *status)
{
	cuuint64_t known = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	int driver;
	if (!symbol || !function || version <= 0 || flags & ~known || flags == known ||
	    cuDriverGetVersion(&driver) != CUDA_SUCCESS)
		return CUDA_ERROR_INVALID_VALUE;
	*status = find(symbol, version, driver, flags, function);
	return CUDA_SUCCESS;
}

/* For a missing call cuGetProcAddress returns an error, cuGetProcAddress_v2 NULL and a status. */
CUresult cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags)
{
	CUdriverProcAddressQueryResult status;
	CUresult answer = look_up(symbol, function, version, flags, &status);
	return answer == CUDA_SUCCESS && status != CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_ERROR_NOT_FOUND : answer;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status)
{
	CUdriverProcAddressQueryResult ignored;
	return look_up(symbol, function, version, flags, status ? status : &ignored);
}
