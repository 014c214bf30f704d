#define _GNU_SOURCE
#include "shim.h"

#include <time.h>

struct process process;
__thread volatile int own_locks __attribute__((tls_model("initial-exec")));
__thread struct thread own_thread __attribute__((tls_model("initial-exec")));

uint64_t milliseconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint32_t deciseconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint32_t)((uint64_t)now.tv_sec * 10 + (uint64_t)now.tv_nsec / 100000000);
}

void count_out_of_memory(uint8_t device)
{
	__atomic_add_fetch(&process.out_of_memory[device], 1, __ATOMIC_RELAXED);
}
