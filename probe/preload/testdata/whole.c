/*
 * All of the library but resolve.c and pages.c, compiled into one program for the
 * sanitizers: threads allocate, make pools and destroy contexts through the hooks,
 * while others send requests. The program exits while the library still serves.
 */
#include "hooks.h"
#include "serve.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The sanitizer does not see memory from system calls. */
void *pages_alloc(size_t size)
{
	return calloc(1, size);
}

void pages_free(void *memory, size_t size)
{
	(void)size;
	free(memory);
}

static void *library;

void *resolve_driver(const char *symbol)
{
	return dlsym(library, symbol);
}

void *resolve_next(enum slot slot)
{
	static const char *const names[SLOTS] = {
#define CALL(symbol, ...) #symbol,
#include "calls.h"
#undef CALL
	};
	return dlsym(library, names[slot]);
}

void *resolve_handed_out(enum slot slot)
{
	return resolve_next(slot);
}

static int done;

static void *churn(void *argument)
{
	unsigned int seed = (unsigned int)(uintptr_t)argument;
	CUcontext context;
	CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 1 } };
	if (cuDevicePrimaryCtxRetain(&context, 1) || cuCtxSetCurrent(context))
		exit(3);
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
		CUdeviceptr plain, pooled;
		CUmemoryPool pool;
		CUcontext own;
		if (cuMemAlloc_v2(&plain, (size_t)rand_r(&seed) % 100000 + 1) || cuMemPoolCreate(&pool, &properties) ||
		    cuMemAllocFromPoolAsync(&pooled, 1 << 20, pool, NULL) || cuMemFreeAsync(pooled, NULL) || cuMemPoolDestroy(pool) ||
		    cuMemFree_v2(plain))
			exit(4);
		if (rand_r(&seed) % 16 == 0 && (cuCtxCreate_v2(&own, 0, 2) || cuMemAlloc_v2(&plain, 4096) || cuCtxDestroy_v2(own)))
			exit(5);
	}
	return NULL;
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	snprintf(address.sun_path, sizeof address.sun_path, "%.100s", path);
	int monitor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	while (connect(monitor, (struct sockaddr *)&address, sizeof address) != 0)
		usleep(1000);
	return monitor;
}

static void *ask(void *argument)
{
	static const char *const questions[] = {
		"{\"id\":1,\"cmd\":\"stats\"}\n", "{\"id\":2,\"cmd\":\"hello\"}\n", "{\"id\":3,\"cmd\":\"flush\",\"level\":\"gradual\",\"dry_run\":true}\n",
		"{\"id\":4,\"cmd\":\"flush\",\"level\":\"urgent\"}\n",
	};
	char *answer = malloc(LONGEST_LINE), path[108];
	snprintf(path, sizeof path, "%s/vramscope/%d-%llu.sock", getenv("XDG_RUNTIME_DIR"), (int)getpid(), process_start());
	int monitor = connect_to(path);
	for (long i = (long)(uintptr_t)argument; i < 120; i++) {
		const char *question = questions[i % 4];
		if (write(monitor, question, strlen(question)) < 0 || read(monitor, answer, LONGEST_LINE) <= 0)
			exit(6);
	}
	close(monitor);
	free(answer);
	return NULL;
}

int main(void)
{
	pthread_t changing[3], asking[2];
	library = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult (*init)(unsigned int) = library ? (CUresult(*)(unsigned int))dlsym(library, "cuInit") : NULL;
	if (!init || init(0) != CUDA_SUCCESS)
		return 2;
	for (uintptr_t i = 0; i < 3; i++)
		pthread_create(&changing[i], NULL, churn, (void *)i);
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&asking[i], NULL, ask, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(asking[i], NULL);
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 3; i++)
		pthread_join(changing[i], NULL);
	printf("ready\n");
	return 0; /* while the thread serves */
}
