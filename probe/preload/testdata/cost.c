/*
 * Measures the cost of a call: allocates and frees from THREADS threads, each with
 * LIVE other allocations, and prints nanoseconds of CPU time per call.
 *
 *   cost CALLS THREADS LIVE
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int cuCtxCreate_v2(void **context, unsigned int flags, int device);
int cuMemAlloc_v2(unsigned long long *pointer, size_t size);
int cuMemFree_v2(unsigned long long pointer);

static long calls, live;

static void *work(void *unused)
{
	enum { BATCH = 16 };
	unsigned long long pointers[BATCH];
	void *context;
	struct timespec from, to;
	double *spent = malloc(sizeof *spent);
	(void)unused;
	cuCtxCreate_v2(&context, 0, 0);
	for (long i = 0; i < live; i++)
		cuMemAlloc_v2(&pointers[0], 2 << 20);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	for (long i = 0; i < calls; i += 2 * BATCH) {
		for (int k = 0; k < BATCH; k++)
			cuMemAlloc_v2(&pointers[k], 2 << 20);
		for (int k = 0; k < BATCH; k++)
			cuMemFree_v2(pointers[k]);
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	*spent = ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / (double)calls;
	return spent;
}

int main(int count, char **arguments)
{
	pthread_t all[64];
	double sum = 0;
	if (count != 4)
		return 2;
	calls = atol(arguments[1]);
	int threads = atoi(arguments[2]);
	live = atol(arguments[3]);
	if (threads < 1 || threads > 64)
		return 2;
	for (int i = 0; i < threads; i++)
		pthread_create(&all[i], NULL, work, NULL);
	for (int i = 0; i < threads; i++) {
		void *spent;
		pthread_join(all[i], &spent);
		sum += *(double *)spent;
		free(spent);
	}
	printf("%.2f\n", sum / threads);
	return 0;
}
