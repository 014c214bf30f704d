/*
 * A program that links libcudart, for the tests. For each line of standard input
 * it makes a call and prints the result code and the call's results. Pointers and
 * streams are named by numbers.
 */
#include "api.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { NAMES = 16 };
static void *pointers[NAMES];
static cudaStream_t streams[NAMES];
static cudaMemPool_t pool;
static cudaGraph_t graph;
static cudaGraphExec_t executable;
static char host[4096];

#if RUNTIME_VERSION < 13000
#define properties_of cudaGetDeviceProperties_v2
#else
#define properties_of cudaGetDeviceProperties
#endif

static void properties(int device)
{
	struct cudaDeviceProp p;
	cudaError_t answer = properties_of(&p, device);
	printf("%d %s %d.%d %zu %d %zu %02x%02x\n", answer, p.name, p.major, p.minor, p.totalGlobalMem, p.multiProcessorCount,
	       p.sharedMemPerBlockOptin, (unsigned char)p.uuid.bytes[0], (unsigned char)p.uuid.bytes[1]);
}

static void attributes(const void *pointer)
{
	struct cudaPointerAttributes a;
	cudaError_t answer = cudaPointerGetAttributes(&a, pointer);
	printf("%d %d %d %d %d\n", answer, (int)a.type, a.device, a.devicePointer == pointer, a.hostPointer == pointer);
}

/* Does what nvcc compiles kernel<<<grid, block, 0, stream>>>() to. */
static void kernel(unsigned int threads, cudaStream_t stream)
{
	dim3 grid = { 2, 1, 1 }, block = { threads, 1, 1 };
	size_t shared;
	cudaError_t answer = cudaErrorUnknown;
	if (__cudaPushCallConfiguration(grid, block, 0, stream) == 0 &&
	    __cudaPopCallConfiguration(&grid, &block, &shared, &stream) == cudaSuccess)
		answer = cudaLaunchKernel((const void *)kernel, grid, block, NULL, shared, stream);
	printf("%d\n", answer);
}

static void count_call(void *data)
{
	++*(int *)data;
}

static void count_callback(cudaStream_t stream, cudaError_t status, void *data)
{
	(void)stream, (void)status;
	++*(int *)data;
}

static void *other_thread(void *device)
{
	if (cudaGetDevice(device) != cudaSuccess)
		*(int *)device = -1;
	return NULL;
}

static int memory(const char *word, int a, unsigned long long b, int c)
{
	size_t size = (size_t)b, free = 0, total = 0, pitch = 0;
	if (strcmp(word, "malloc") == 0)
		printf("%d\n", cudaMalloc(&pointers[a], size));
	else if (strcmp(word, "free") == 0)
		printf("%d\n", cudaFree(pointers[a]));
	else if (strcmp(word, "null") == 0)
		printf("%d\n", pointers[a] == NULL);
	else if (strcmp(word, "pitch") == 0) {
		cudaError_t answer = cudaMallocPitch(&pointers[a], &pitch, size, (size_t)c);
		printf("%d %zu\n", answer, pitch);
	} else if (strcmp(word, "managed") == 0)
		printf("%d\n", cudaMallocManaged(&pointers[a], size, CU_MEM_ATTACH_GLOBAL));
	else if (strcmp(word, "host") == 0)
		printf("%d\n", cudaHostAlloc(&pointers[a], size, 0));
	else if (strcmp(word, "freehost") == 0)
		printf("%d\n", cudaFreeHost(pointers[a]));
	else if (strcmp(word, "register") == 0)
		printf("%d\n", cudaHostRegister(host, sizeof host, 0));
	else if (strcmp(word, "unregister") == 0)
		printf("%d\n", cudaHostUnregister(host));
	else if (strcmp(word, "async") == 0)
		printf("%d\n", cudaMallocAsync(&pointers[a], size, streams[c]));
	else if (strcmp(word, "freeasync") == 0)
		printf("%d\n", cudaFreeAsync(pointers[a], streams[b]));
	else if (strcmp(word, "trim") == 0) {
		cudaError_t answer = cudaDeviceGetDefaultMemPool(&pool, a);
		printf("%d\n", answer ? answer : cudaMemPoolTrimTo(pool, 0));
	} else if (strcmp(word, "set") == 0)
		printf("%d\n", cudaMemset(pointers[a], 1, size));
	else if (strcmp(word, "copy") == 0)
		printf("%d\n", cudaMemcpy(host, pointers[a], size, cudaMemcpyDeviceToHost));
	else if (strcmp(word, "copy2d") == 0) /* to itself, in rows of 16 bytes, 64 bytes apart */
		printf("%d\n", cudaMemcpy2DAsync(pointers[a], 64, pointers[a], 64, 16, size, cudaMemcpyDefault, NULL));
	else if (strcmp(word, "attributes") == 0)
		attributes(a < 0 ? host : pointers[a]);
	else if (strcmp(word, "info") == 0) {
		cudaError_t answer = cudaMemGetInfo(&free, &total);
		printf("%d %zu %zu\n", answer, free, total);
	} else
		return 0;
	return 1;
}

static int work(const char *word, int a, unsigned long long b)
{
	int calls = 0;
	if (strcmp(word, "stream") == 0)
		printf("%d\n", cudaStreamCreateWithFlags(&streams[a], CU_STREAM_NON_BLOCKING));
	else if (strcmp(word, "sync") == 0)
		printf("%d\n", cudaStreamSynchronize(streams[a]));
	else if (strcmp(word, "devicesync") == 0)
		printf("%d\n", cudaDeviceSynchronize());
	else if (strcmp(word, "handle") == 0) {
		cudaFunction_t first = NULL, second = NULL;
		cudaError_t answer = cudaGetFuncBySymbol(&first, a ? (void *)attributes : NULL);
		printf("%d %d\n", answer, first && cudaGetFuncBySymbol(&second, (void *)count_call) == cudaSuccess && second != NULL);
	} else if (strcmp(word, "launch") == 0)
		kernel((unsigned int)b, streams[a]);
	else if (strcmp(word, "callbacks") == 0) {
		cudaError_t answer = cudaLaunchHostFunc(streams[a], count_call, &calls);
		cudaError_t second = cudaStreamAddCallback(streams[a], count_callback, &calls, 0);
		printf("%d %d %d\n", answer, second, calls);
	} else if (strcmp(word, "capture") == 0)
		printf("%d\n", cudaStreamBeginCapture(streams[a], (enum cudaStreamCaptureMode)b));
	else if (strcmp(word, "instantiate") == 0) {
		cudaError_t answer = cudaStreamEndCapture(streams[a], &graph);
		answer = answer ? answer : cudaGraphInstantiateWithFlags(&executable, graph, 0);
		printf("%d\n", answer ? answer : cudaGraphDestroy(graph));
	} else if (strcmp(word, "replay") == 0)
		printf("%d\n", cudaGraphLaunch(executable, streams[a]));
	else if (strcmp(word, "forget") == 0)
		printf("%d\n", cudaGraphExecDestroy(executable));
	else
		return 0;
	return 1;
}

static int device(const char *word, int a, int b)
{
	int number = -1, second = -1;
	void *function = NULL;
	cudaError_t answer;
	if (strcmp(word, "count") == 0) {
		answer = cudaGetDeviceCount(&number);
		printf("%d %d\n", answer, number);
	} else if (strcmp(word, "use") == 0)
		printf("%d\n", cudaSetDevice(a));
	else if (strcmp(word, "used") == 0) {
		pthread_t thread;
		answer = cudaGetDevice(&number);
		pthread_create(&thread, NULL, other_thread, &second);
		pthread_join(thread, NULL);
		printf("%d %d %d\n", answer, number, second);
	} else if (strcmp(word, "versions") == 0) {
		cudaDriverGetVersion(&number);
		cudaRuntimeGetVersion(&second);
		printf("%d %d\n", number, second);
	} else if (strcmp(word, "properties") == 0)
		properties(a);
	else if (strcmp(word, "peer") == 0)
		printf("%d\n", b ? cudaDeviceEnablePeerAccess(a, 0) : cudaDeviceDisablePeerAccess(a));
	else if (strcmp(word, "reset") == 0)
		printf("%d\n", cudaDeviceReset());
	else if (strcmp(word, "entry") == 0) {
		answer = cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, 0, NULL);
		printf("%d %d\n", answer, function != NULL);
	} else if (strcmp(word, "last") == 0) {
		answer = cudaPeekAtLastError();
		second = (int)cudaGetLastError();
		printf("%d %d %d %s: %s\n", answer, second, cudaGetLastError(), cudaGetErrorName(answer), cudaGetErrorString(answer));
	} else
		return 0;
	return 1;
}

int main(void)
{
	char line[200], word[40];
	while (fgets(line, sizeof line, stdin)) {
		int a = 0, c = 0;
		unsigned long long b = 0;
		sscanf(line, "%39s %d %llu %d", word, &a, &b, &c);
		if (!device(word, a, (int)b) && !memory(word, a, b, c) && !work(word, a, b))
			printf("what? %s", line);
		fflush(stdout);
	}
	return 0;
}
