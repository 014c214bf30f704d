/*
 * Allocates while a signal handler allocates and frees too, as a clean-up handler
 * would, and exits from the handler. This is safe if libcuda takes no locks.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

int cuCtxCreate_v2(void **context, unsigned int flags, int device);
int cuMemAlloc_v2(unsigned long long *pointer, size_t size);
int cuMemFree_v2(unsigned long long pointer);

enum { INTERRUPTIONS = 1000 };

static volatile int interruptions, failures;

static void interrupted(int number)
{
	unsigned long long pointer;
	(void)number;
	/* Enough to use every shard of the ledger. */
	for (int i = 0; i < 256; i++)
		failures += cuMemAlloc_v2(&pointer, 4096) != 0 || cuMemFree_v2(pointer) != 0;
	if (++interruptions == INTERRUPTIONS)
		exit(failures ? 4 : 7);
}

int main(void)
{
	struct sigaction action = { .sa_handler = interrupted, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 50 }, { 0, 50 } };
	unsigned long long pointers[8];
	void *context;
	cuCtxCreate_v2(&context, 0, 0);
	if (sigaction(SIGALRM, &action, NULL) != 0 || setitimer(ITIMER_REAL, &often, NULL) != 0)
		return 3;
	for (;;) {
		for (int i = 0; i < 8; i++)
			failures += cuMemAlloc_v2(&pointers[i], (size_t)1 << 20) != 0;
		for (int i = 0; i < 8; i++)
			failures += cuMemFree_v2(pointers[i]) != 0;
	}
}
