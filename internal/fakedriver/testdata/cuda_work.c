/* Commands of more than one call: filling a GPU, random work that is checked, threads, and how long calls take. */
#define _GNU_SOURCE
#include "cuda_client.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LIVE 200

struct work {
	CUcontext context;
	uint64_t random;
	int operations;
	size_t largest;
	const char *wrong;
};

static uint64_t next(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

struct range {
	CUdeviceptr begin;
	size_t size;
	int asynchronous;
};

static int overlap(const struct range *ranges, const struct range *made)
{
	for (int i = 0; i < LIVE; i++)
		if (ranges[i].size && &ranges[i] != made && ranges[i].begin < made->begin + made->size &&
		    made->begin < ranges[i].begin + ranges[i].size)
			return 1;
	return 0;
}

/* Allocates and frees at random. Checks that live allocations do not overlap, and that all of each can be used. */
static void *soak(void *argument)
{
	struct work *work = argument;
	static _Thread_local struct range ranges[LIVE];
	CUstream stream;
	memset(ranges, 0, sizeof ranges);
	if (cuCtxSetCurrent(work->context) != CUDA_SUCCESS || cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
		work->wrong = "no context";
	for (int i = 0; i < work->operations && !work->wrong; i++) {
		struct range *range = &ranges[next(&work->random) % LIVE];
		CUresult answer;
		if (range->size) {
			answer = range->asynchronous ? cuMemFreeAsync(range->begin, stream) : cuMemFree_v2(range->begin);
			if (answer != CUDA_SUCCESS)
				work->wrong = "not freed";
			range->size = 0;
		} else {
			size_t size = next(&work->random) % (next(&work->random) % 8 ? work->largest / 64 : work->largest) + 1;
			range->asynchronous = next(&work->random) % 2;
			answer = range->asynchronous ? cuMemAllocAsync(&range->begin, size, stream)
			                             : cuMemAlloc_v2(&range->begin, size);
			if (answer == CUDA_ERROR_OUT_OF_MEMORY)
				continue;
			range->size = size;
			if (answer != CUDA_SUCCESS)
				work->wrong = "not allocated";
			else if (overlap(ranges, range))
				work->wrong = "two allocations overlap";
			else if (cuMemsetD8Async(range->begin, 0, size, stream) != CUDA_SUCCESS)
				work->wrong = "cannot be used";
			else if (range->begin % 256)
				work->wrong = "not aligned";
		}
		if (next(&work->random) % 64 == 0)
			cuStreamSynchronize(stream);
	}
	for (int i = 0; i < LIVE && !work->wrong; i++)
		if (ranges[i].size && (ranges[i].asynchronous ? cuMemFreeAsync(ranges[i].begin, stream)
		                                              : cuMemFree_v2(ranges[i].begin)) != CUDA_SUCCESS)
			work->wrong = "not freed in the end";
	if (!work->wrong && (cuStreamSynchronize(stream) != CUDA_SUCCESS || cuStreamDestroy_v2(stream) != CUDA_SUCCESS))
		work->wrong = "no stream";
	return NULL;
}

/* "soak THREADS OPERATIONS SEED" */
static void soak_threads(int count, unsigned long long operations, int seed)
{
	enum { MOST = 16 };
	pthread_t threads[MOST];
	struct work work[MOST] = { 0 };
	CUcontext context = NULL;
	cuCtxGetCurrent(&context);
	for (int i = 0; i < count && i < MOST; i++) {
		work[i] = (struct work){ .context = context, .random = (uint64_t)seed * 1000003 + (uint64_t)i + 1,
			.operations = (int)operations, .largest = 64 << 20 };
		if (pthread_create(&threads[i], NULL, soak, &work[i]) != 0)
			exit(1);
	}
	const char *wrong = NULL;
	for (int i = 0; i < count && i < MOST; i++) {
		pthread_join(threads[i], NULL);
		if (work[i].wrong)
			wrong = work[i].wrong;
	}
	printf("%s\n", wrong ? wrong : "0");
}

/* "fill 0 SIZE": allocates until there is no room; prints the last result code and the number of allocations. */
static void fill(size_t size)
{
	int count = 0;
	CUdeviceptr pointer;
	CUresult answer;
	while ((answer = cuMemAlloc_v2(&pointer, size)) == CUDA_SUCCESS)
		count++;
	printf("%d %d\n", answer, count);
}

/*
 * "alone OPERATIONS SIZE": the GPU has room for one such allocation, so the process
 * that has it is alone. Processes with the allocation count themselves in and out
 * in a file that they share. Prints how many others were inside, and how often this
 * process had the allocation.
 */
static void alone(int operations, size_t size)
{
	char path[4096];
	snprintf(path, sizeof path, "%s.alone", getenv("VRAMSCOPE_FAKE_STATE"));
	int file = open(path, O_RDWR | O_CREAT, 0600), had = 0, others = 0;
	_Atomic int *inside = MAP_FAILED;
	if (file >= 0 && ftruncate(file, sizeof *inside) == 0)
		inside = mmap(NULL, sizeof *inside, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (inside == MAP_FAILED)
		exit(1);
	for (int i = 0; i < operations; i++) {
		CUdeviceptr pointer;
		if (cuMemAlloc_v2(&pointer, size) != CUDA_SUCCESS)
			continue;
		others += (*inside)++;
		had++;
		if (i % 8 == 0)
			sched_yield();
		(*inside)--;
		cuMemFree_v2(pointer);
	}
	printf("%d %d\n", others, had);
}

/* "churn SEED OPERATIONS": random work that ends with some memory held; prints how many bytes. */
static void churn(int seed, unsigned long long operations)
{
	CUdeviceptr pointers[32] = { 0 };
	size_t sizes[32] = { 0 }, held = 0;
	uint64_t random = (uint64_t)seed + 88172645463325252ULL;
	for (unsigned long long i = 0; i < operations; i++) {
		size_t slot = next(&random) % 32, size = (next(&random) % 32 + 1) * (2 << 20);
		if (sizes[slot]) {
			if (cuMemFree_v2(pointers[slot]) != CUDA_SUCCESS)
				break;
			held -= sizes[slot];
			sizes[slot] = 0;
		} else if (cuMemAlloc_v2(&pointers[slot], size) == CUDA_SUCCESS) {
			held += sizes[slot] = size;
		}
	}
	printf("0 %zu\n", held);
}

static double nanoseconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* "measure 0 COUNT": prints the nanoseconds that allocating and freeing take: pages, a part of a page, from a pool. */
static void measure(int count)
{
	CUdeviceptr pointer;
	double took[3];
	for (int kind = 0; kind < 3; kind++) {
		double began = nanoseconds();
		for (int i = 0; i < count; i++) {
			CUresult answer = kind == 2   ? cuMemAllocAsync(&pointer, 1 << 20, NULL)
			                  : kind == 1 ? cuMemAlloc_v2(&pointer, 1000)
			                              : cuMemAlloc_v2(&pointer, 4 << 20);
			if (answer == CUDA_SUCCESS)
				answer = kind == 2 ? cuMemFreeAsync(pointer, NULL) : cuMemFree_v2(pointer);
			if (answer != CUDA_SUCCESS) {
				printf("%d\n", answer);
				return;
			}
		}
		took[kind] = (nanoseconds() - began) / count;
	}
	printf("0 %.0f %.0f %.0f\n", took[0], took[1], took[2]);
}

int work_command(const char *word, int a, unsigned long long b, int c)
{
	if (strcmp(word, "soak") == 0)
		soak_threads(a, b, c);
	else if (strcmp(word, "fill") == 0)
		fill((size_t)b);
	else if (strcmp(word, "alone") == 0)
		alone(a, (size_t)b);
	else if (strcmp(word, "churn") == 0)
		churn(a, b);
	else if (strcmp(word, "measure") == 0)
		measure((int)b);
	else
		return 0;
	return 1;
}
