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

static size_t whole_pages(size_t size)
{
	return (size + 4095) & ~(size_t)4095;
}

void *pages_alloc(size_t size)
{
	int before = errno;
	long at = syscall(SYS_mmap, NULL, whole_pages(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
	errno = before;
	return at == -1 ? NULL : (void *)at;
}

void pages_free(void *memory, size_t size)
{
	int before = errno;
	(void)syscall(SYS_munmap, memory, whole_pages(size)); /* on failure the memory leaks */
	errno = before;
}
