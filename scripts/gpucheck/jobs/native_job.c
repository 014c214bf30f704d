/*
 * A native CUDA program that allocates on request, one step a line:
 *
 *   begin | take NAME COUNT BYTES | pool NAME COUNT BYTES | give NAME
 *   stats | cost BATCHES PAIRS
 *
 * Built by nvcc the program uses NVIDIA's runtime, as most programs do. Built by cc it
 * loads libcuda. It answers in JSON. stats prints the program's own sums.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef unsigned long long address;

#ifdef __CUDACC__
#include <cuda_runtime.h>
#define BUILT "nvcc"
static int begin(void) { return cudaFree(0); }
static int take(address *p, size_t n) { return cudaMalloc((void **)p, n); }
static int give(address p) { return cudaFree((void *)p); }
static int pool(address *p, size_t n) { return cudaMallocAsync((void **)p, n, 0); }
static int unpool(address p) { return cudaFreeAsync((void *)p, 0); }
static int settle(void) { return cudaDeviceSynchronize(); }
static int info(size_t *available, size_t *total) { return cudaMemGetInfo(available, total); }
static int keep(void)
{
	unsigned long long most = ~0ull;
	cudaMemPool_t own;
	int failed = cudaDeviceGetDefaultMemPool(&own, 0);
	return failed ? failed : cudaMemPoolSetAttribute(own, cudaMemPoolAttrReleaseThreshold, &most);
}
#else
#include <dlfcn.h>
#define BUILT "cc"
static void *library;
/* Calls a function of libcuda by its name. */
#define CALL(name, types, ...) (((int (*) types)dlsym(library, name)) __VA_ARGS__)
static int begin(void)
{
	int device, failed;
	void *context;
	library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	if (!library)
		return -1;
	if ((failed = CALL("cuInit", (unsigned), (0))) || (failed = CALL("cuDeviceGet", (int *, int), (&device, 0))))
		return failed;
	if ((failed = CALL("cuDevicePrimaryCtxRetain", (void **, int), (&context, device))))
		return failed;
	return CALL("cuCtxSetCurrent", (void *), (context));
}
static int (*allocate)(address *, size_t), (*release)(address);
static int take(address *p, size_t n)
{
	if (!allocate)
		*(void **)&allocate = dlsym(library, "cuMemAlloc_v2");
	return allocate(p, n);
}
static int give(address p)
{
	if (!release)
		*(void **)&release = dlsym(library, "cuMemFree_v2");
	return release(p);
}
static int pool(address *p, size_t n) { return CALL("cuMemAllocAsync", (address *, size_t, void *), (p, n, NULL)); }
static int unpool(address p) { return CALL("cuMemFreeAsync", (address, void *), (p, NULL)); }
static int settle(void) { return CALL("cuCtxSynchronize", (void), ()); }
static int info(size_t *available, size_t *total) { return CALL("cuMemGetInfo_v2", (size_t *, size_t *), (available, total)); }
static int keep(void)
{
	unsigned long long most = ~0ull;
	void *own;
	int failed = CALL("cuDeviceGetDefaultMemPool", (void **, int), (&own, 0));
	return failed ? failed : CALL("cuMemPoolSetAttribute", (void *, int, void *), (own, 4, &most));
}
#endif

enum { MOST = 4096 };
static struct { char name[16]; int pooled; address at; size_t bytes; } held[MOST];
static int count;

static int take_all(const char *name, int pooled, int times, size_t bytes)
{
	int failed = pooled && times ? keep() : 0;
	for (; !failed && times > 0 && count < MOST; times--) {
		failed = pooled ? pool(&held[count].at, bytes) : take(&held[count].at, bytes);
		if (failed)
			break;
		snprintf(held[count].name, sizeof held[count].name, "%s", name);
		held[count].pooled = pooled;
		held[count++].bytes = bytes;
	}
	return failed ? failed : settle();
}

static int give_all(const char *name)
{
	int failed = 0, left = 0;
	for (int i = 0; i < count; i++) {
		if (strcmp(held[i].name, name) != 0) {
			held[left++] = held[i];
			continue;
		}
		int result = held[i].pooled ? unpool(held[i].at) : give(held[i].at);
		failed = failed ? failed : result;
	}
	count = left;
	return failed ? failed : settle();
}

static void print_stats(void)
{
	size_t available = 0, total = 0, bytes[2] = {0, 0};
	int number[2] = {0, 0}, failed = info(&available, &total);
	for (int i = 0; i < count; i++) {
		bytes[held[i].pooled] += held[i].bytes;
		number[held[i].pooled]++;
	}
	if (failed)
		printf("{\"error\": \"cuMemGetInfo: CUDA error %d\"}\n", failed);
	else
		printf("{\"ok\": {\"raw\": %zu, \"raw_count\": %d, \"pooled\": %zu, \"pooled_count\": %d, \"free\": %zu, \"total\": %zu}}\n",
			bytes[0], number[0], bytes[1], number[1], available, total);
}

/* Prints how many nanoseconds an allocation and its free take together, for each of the batches
 * of pairs. */
static void print_cost(int batches, int pairs)
{
	struct timespec from, to;
	address at;
	printf("{\"ok\": [");
	for (int batch = 0; batch < batches; batch++) {
		clock_gettime(CLOCK_MONOTONIC, &from);
		for (int i = 0; i < pairs; i++)
			if (take(&at, 2 << 20) == 0)
				give(at);
		clock_gettime(CLOCK_MONOTONIC, &to);
		printf("%s%.1f", batch ? ", " : "",
			((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / pairs);
	}
	printf("]}\n");
}

int main(void)
{
	char line[256], step[16], name[16];
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("{\"version\": \"%s\"}\n", BUILT);
	while (fgets(line, sizeof line, stdin)) {
		int failed = 0, first = 0;
		long long bytes = 0;
		name[0] = '\0';
		if (sscanf(line, "%15s", step) != 1)
			continue;
		if (strcmp(step, "cost") == 0 && sscanf(line, "%*s %d %lld", &first, &bytes) == 2) {
			print_cost(first, (int)bytes);
			continue;
		}
		if (strcmp(step, "stats") == 0) {
			print_stats();
			continue;
		}
		(void)sscanf(line, "%*s %15s %d %lld", name, &first, &bytes);
		if (strcmp(step, "begin") == 0)
			failed = begin();
		else if (strcmp(step, "take") == 0 || strcmp(step, "pool") == 0)
			failed = take_all(name, step[0] == 'p', first, (size_t)bytes);
		else if (strcmp(step, "give") == 0)
			failed = give_all(name);
		else
			failed = -2;
		if (failed)
			printf("{\"error\": \"CUDA error %d\"}\n", failed);
		else
			printf("{\"ok\": true}\n");
	}
	return 0;
}
