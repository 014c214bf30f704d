/*
 * Whether a program's own means are used up when the driver refuses it memory. The
 * daemon is asked for other processes' memory only then:
 *
 *   PyTorch          at the second refusal of a size: after the first it has freed what it caches
 *   JAX, TensorFlow  at the second refusal of the smallest size: they try smaller sizes, then all
 *                    of them again. They do not try again where they got less than they wanted.
 *   pools            at the first refusal: the driver has used what the pool had before
 *   no cache at all  at the first refusal
 */
#define _GNU_SOURCE
#include "rescue.h"

#include <errno.h>
#include <link.h>

enum { CACHES = 1, SPILLS = 2 };

/* Accessed atomically. */
static int libraries = CACHES | SPILLS, pooled;

void means_reset(void)
{
	libraries = CACHES | SPILLS;
	pooled = 0;
}

void means_pooled(void)
{
	if (!__atomic_load_n(&pooled, __ATOMIC_RELAXED))
		__atomic_store_n(&pooled, 1, __ATOMIC_RELAXED);
}

static int look(struct dl_phdr_info *object, size_t size, void *found)
{
	static const struct {
		const char *name;
		int means;
	} known[] = {
		{ "libc10_cuda", CACHES }, { "libtensorflow", CACHES }, { "xla_cuda", CACHES },
		{ "python", CACHES }, /* whatever its program uses */
		{ "librmm", CACHES | SPILLS }, /* after a failure in a pool it may spill to the host */
	};
	const char *name = object->dlpi_name && *object->dlpi_name ? object->dlpi_name : program_invocation_short_name;
	(void)size;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strstr(name, known[i].name))
			*(int *)found |= known[i].means;
	return 0;
}

void means_prepare(void)
{
	int found = 0;
	(void)dl_iterate_phdr(look, &found);
	__atomic_store_n(&libraries, found, __ATOMIC_RELAXED);
}

int means_used_up(int device, uint64_t size, enum api api)
{
	int has = __atomic_load_n(&libraries, __ATOMIC_RELAXED), uses_pools = __atomic_load_n(&pooled, __ATOMIC_RELAXED);
	if (api == API_ALLOC_FROM_POOL && !uses_pools)
		return 0; /* a preallocation in the program's own pool, which the program can do without */
	if (api == API_ALLOC_ASYNC || api == API_ALLOC_FROM_POOL)
		return !(has & SPILLS) || failure_repeated((uint8_t)device, size);
	return (!(has & CACHES) && !uses_pools) || failure_repeated((uint8_t)device, size);
}
