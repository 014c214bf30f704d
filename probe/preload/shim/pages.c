/*
 * Memory from the kernel, by system call: other preloaded libraries hook mmap,
 * and some of those call CUDA.
 */
#define _GNU_SOURCE
#include "table.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HUGE = 2 << 20 }; /* on x86-64, and on arm64 with pages of 4 KiB */

static size_t whole_pages(size_t size)
{
	return (size + 4095) & ~(size_t)4095;
}

static void *map(size_t size)
{
	long at = syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
	return at == -1 ? NULL : (void *)at;
}

/* Maps memory aligned to huge pages, and made of them if the system provides some. With small
 * pages a random access to a table of a million entries takes 40 ns longer, just to translate
 * the address. */
static void *map_huge(size_t size)
{
	char *at = map(size + HUGE - 4096);
	if (!at)
		return NULL;
	size_t before = (HUGE - (uintptr_t)at % HUGE) % HUGE, behind = HUGE - 4096 - before;
	if (before)
		(void)syscall(SYS_munmap, at, before);
	if (behind)
		(void)syscall(SYS_munmap, at + before + size, behind);
	(void)syscall(SYS_madvise, at + before, size, MADV_HUGEPAGE);
	return at + before;
}

void *pages_alloc(size_t size)
{
	int before = errno;
	size = whole_pages(size);
	void *at = size < HUGE ? map(size) : map_huge(size);
	errno = before;
	return at;
}

void pages_free(void *memory, size_t size)
{
	int before = errno;
	(void)syscall(SYS_munmap, memory, whole_pages(size)); /* on failure the memory leaks */
	errno = before;
}
