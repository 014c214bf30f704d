#include "program.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static CUcontext contexts[4];

static void use(int device)
{
	if (!contexts[device])
		show("retain", CU(cuDevicePrimaryCtxRetain)(&contexts[device], device));
	show("set", CU(cuCtxSetCurrent)(contexts[device]));
}

static void begin(void)
{
	show("init", CU(cuInit)(0));
	use(0);
}

static CUdeviceptr allocate(size_t size)
{
	CUdeviceptr pointer = 0;
	show("alloc", CU(cuMemAlloc_v2)(&pointer, size));
	return pointer;
}

static CUmemAllocationProp shared(int device)
{
	return (CUmemAllocationProp){ .type = CU_MEM_ALLOCATION_TYPE_PINNED,
		                      .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		                      .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device } };
}

static void linear(void)
{
	CUdeviceptr pointers[40], pitched, managed;
	size_t pitch;
	for (int i = 0; i < 40; i++) {
		use(i % 2);
		pointers[i] = allocate((size_t)(i * i + 1) * 12345);
	}
	for (int i = 0; i < 40; i += 3)
		show("free", CU(cuMemFree_v2)(pointers[i]));
	show("free", CU(cuMemFree_v2)(pointers[0]));
	show("free", CU(cuMemFree_v2)(0));
	show("free", CU(cuMemFree_v2)(12345));
	show("pitch", CU(cuMemAllocPitch_v2)(&pitched, &pitch, 1000, 3000, 16));
	show("managed", CU(cuMemAllocManaged)(&managed, 3 * MIB, 1));
	allocate((size_t)1 << 45);
	allocate(0);
	errno = 1234;
	allocate(5 * MIB);
	show("errno", errno);
}

static void pooled(void)
{
	CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUdeviceptr pointers[30];
	CUmemoryPool pool, gone;
	CUstream stream;
	cuuint64_t all = UINT64_MAX;
	show("stream", CU(cuStreamCreate)(&stream, 0));
	show("pool", CU(cuMemPoolCreate)(&pool, &properties));
	show("pool", CU(cuMemPoolCreate)(&gone, &properties));
	show("threshold", CU(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
	for (int i = 0; i < 30; i++)
		show("async", i % 3 == 0 ? CU(cuMemAllocFromPoolAsync)(&pointers[i], (size_t)(i + 1) * MIB, pool, stream)
		                         : CU(cuMemAllocAsync)(&pointers[i], (size_t)(i + 1) * MIB, i % 2 ? stream : NULL));
	for (int i = 0; i < 30; i += 4)
		show("free", CU(cuMemFreeAsync)(pointers[i], stream));
	show("free", CU(cuMemFree_v2)(pointers[1]));
	CUdeviceptr plain = allocate(7 * MIB);
	show("free", CU(cuMemFreeAsync)(plain, stream));
	show("set", CU(cuDeviceSetMemPool)(0, pool));
	show("async", CU(cuMemAllocAsync)(&plain, 11 * MIB, stream));
	show("async", CU(cuMemAllocFromPoolAsync)(&plain, (size_t)1 << 44, pool, stream));
	show("destroy", CU(cuMemPoolDestroy)(gone));
	show("destroy", CU(cuMemPoolDestroy)(gone));
}

/* Two pools that keep freed memory, most of theirs. */
static void idle_pools(void)
{
	CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUdeviceptr pointers[64];
	CUmemoryPool pools[2];
	cuuint64_t all = UINT64_MAX;
	for (int i = 0; i < 2; i++) {
		show("pool", CU(cuMemPoolCreate)(&pools[i], &properties));
		show("threshold", CU(cuMemPoolSetAttribute)(pools[i], CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
	}
	for (int i = 0; i < 64; i++)
		show("async", CU(cuMemAllocFromPoolAsync)(&pointers[i], 8 * MIB, pools[i % 2], NULL));
	for (int i = 16; i < 64; i++)
		show("free", CU(cuMemFreeAsync)(pointers[i], NULL));
	show("wait", CU(cuCtxSynchronize)());
	/* These frees count as used until the device is synchronised. */
	for (int i = 0; i < 8; i++)
		show("free", CU(cuMemFreeAsync)(pointers[i], NULL));
}

/* Captures a graph, and ends the capture or leaves it running. */
static void capturing(int leave)
{
	CUstream stream;
	CUgraph graph;
	CUdeviceptr pointer;
	show("stream", CU(cuStreamCreate)(&stream, 1));
	show("begin", CU(cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	show("async", CU(cuMemAllocAsync)(&pointer, 9 * MIB, stream));
	if (leave)
		return;
	show("end", CU(cuStreamEndCapture)(stream, &graph));
	show("begin", CU(cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	show("destroy", CU(cuStreamDestroy_v2)(stream));
}

static void virtual_memory(void)
{
	CUmemAllocationProp properties = shared(1), host = properties;
	CUmemGenericAllocationHandle handles[6], again, imported;
	CUdeviceptr place;
	int file = -1;
	host.location.type = CU_MEM_LOCATION_TYPE_HOST;
	show("reserve", CU(cuMemAddressReserve)(&place, 64 * MIB, 0, 0, 0));
	for (int i = 0; i < 6; i++)
		show("create", CU(cuMemCreate)(&handles[i], (size_t)(i + 1) * 2 * MIB, i == 5 ? &host : &properties, 0));
	show("create", CU(cuMemCreate)(&again, (size_t)1 << 44, &properties, 0));
	show("map", CU(cuMemMap)(place, 2 * MIB, 0, handles[0], 0));
	show("map", CU(cuMemMap)(place + 2 * MIB, 4 * MIB, 0, handles[1], 0));
	show("map", CU(cuMemMap)(place + 6 * MIB, 6 * MIB, 0, handles[2], 0));
	show("release", CU(cuMemRelease)(handles[0])); /* remains, since it is mapped */
	show("release", CU(cuMemRelease)(handles[1])); /* freed with its mapping */
	show("retain", CU(cuMemRetainAllocationHandle)(&again, (void *)(uintptr_t)(place + 6 * MIB)));
	show("release", CU(cuMemRelease)(again));
	show("retain", CU(cuMemRetainAllocationHandle)(&again, (void *)(uintptr_t)place)); /* and has a handle again */
	show("unmap", CU(cuMemUnmap)(place, 6 * MIB));
	show("unmap", CU(cuMemUnmap)(place, 2 * MIB));
	show("release", CU(cuMemRelease)(handles[3]));
	show("release", CU(cuMemRelease)((CUmemGenericAllocationHandle)(uintptr_t)&file));
	show("export", CU(cuMemExportToShareableHandle)(&file, handles[4], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	show("import", CU(cuMemImportFromShareableHandle)(&imported, (void *)(intptr_t)file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	show("map", CU(cuMemMap)(place + 20 * MIB, 10 * MIB, 0, imported, 0));
}

static void teardown(void)
{
	CUcontext own, popped;
	allocate(3 * MIB);
	show("create", CU(cuCtxCreate_v2)(&own, 0, 1));
	allocate(20 * MIB);
	show("pop", CU(cuCtxPopCurrent_v2)(&popped));
	allocate(MIB);
	show("push", CU(cuCtxPushCurrent_v2)(own));
	allocate(2 * MIB);
	show("destroy", CU(cuCtxDestroy_v2)(own));
	show("destroy", CU(cuCtxDestroy_v2)(own));
	use(2);
	allocate(30 * MIB);
	show("reset", CU(cuDevicePrimaryCtxReset_v2)(2));
	contexts[2] = NULL;
	use(2);
	allocate(31 * MIB);
	use(3);
	allocate(32 * MIB);
	contexts[3] = NULL;
	use(3);
	show("release", CU(cuDevicePrimaryCtxRelease_v2)(3));
	allocate(33 * MIB);
	use(0);
	show("release", CU(cuDevicePrimaryCtxRelease_v2)(3));
	show("create", CU(cuCtxCreate_v2)(&own, 0, 1));
	allocate(4 * MIB);
}

enum { THREADS = 8, ROUNDS = 20000, KEPT = 37 };

static void *churn(void *argument)
{
	unsigned int seed = (unsigned int)(uintptr_t)argument;
	CUdeviceptr kept[KEPT] = { 0 };
	long failures = CU(cuCtxSetCurrent)(contexts[seed % 2]) != CUDA_SUCCESS;
	for (int i = 0; i < ROUNDS; i++) {
		int place = rand_r(&seed) % KEPT;
		if (kept[place])
			failures += CU(cuMemFree_v2)(kept[place]) != CUDA_SUCCESS;
		kept[place] = 0;
		if (rand_r(&seed) % 3)
			failures += CU(cuMemAlloc_v2)(&kept[place], (size_t)rand_r(&seed) % 300000 + 1) != CUDA_SUCCESS;
	}
	return (void *)failures;
}

static void threads(void)
{
	pthread_t all[THREADS];
	long failures = 0;
	use(1);
	use(0);
	for (uintptr_t i = 0; i < THREADS; i++)
		failures += pthread_create(&all[i], NULL, churn, (void *)i) != 0;
	for (int i = 0; i < THREADS; i++) {
		void *failed;
		pthread_join(all[i], &failed);
		failures += (long)failed;
	}
	show("failures", (int)failures);
}

static void wait_for(pid_t child)
{
	int status = -1;
	show("waited", waitpid(child, &status, 0) == child);
	show("status", status);
}

/* A child forked before CUDA is initialised may initialise it; one forked later must not use it. */
static void fork_before(void)
{
	pid_t child = fork();
	if (child == 0) {
		begin();
		allocate(100 * MIB);
		_exit(5);
	}
	wait_for(child);
	begin();
	allocate(50 * MIB);
}

static void fork_after(void)
{
	begin();
	CUdeviceptr pointer = allocate(50 * MIB);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		allocate(100 * MIB);
		show("free", CU(cuMemFree_v2)(pointer));
		exit(6);
	}
	wait_for(child);
}

/* Contexts made current by calls that are not hooked: the library must ask for the memory's device. */
static void unseen(void)
{
	CUresult (*retain)(CUcontext *, CUdevice) = (CUresult(*)(CUcontext *, CUdevice))find_unseen("cuDevicePrimaryCtxRetain");
	CUresult (*set)(CUcontext) = (CUresult(*)(CUcontext))find_unseen("cuCtxSetCurrent");
	show("init", CU(cuInit)(0));
	for (int device = 0; device < 3; device++) {
		show("retain", retain(&contexts[device], device));
		show("set", set(contexts[device]));
		for (int i = 1; i < 100; i++) {
			CUdeviceptr pointer = allocate((size_t)i * 100000);
			if (i % 2)
				show("free", CU(cuMemFree_v2)(pointer));
		}
		CUdeviceptr pooled;
		show("async", CU(cuMemAllocAsync)(&pooled, 3 * MIB, NULL));
	}
}

static volatile int stopping;

static void *churn_on(void *argument)
{
	(void)argument;
	long failures = CU(cuCtxSetCurrent)(contexts[0]) != CUDA_SUCCESS;
	while (!stopping) {
		CUdeviceptr pointers[8];
		for (int i = 0; i < 8; i++)
			failures += CU(cuMemAlloc_v2)(&pointers[i], MIB) != CUDA_SUCCESS;
		for (int i = 0; i < 8; i++)
			failures += CU(cuMemFree_v2)(pointers[i]) != CUDA_SUCCESS;
	}
	return (void *)failures;
}

/* Forks while other threads allocate. */
static void fork_storm(void)
{
	pthread_t all[4];
	int failures = 0;
	for (int i = 0; i < 4; i++)
		failures += pthread_create(&all[i], NULL, churn_on, NULL) != 0;
	for (int i = 0; i < 60; i++) {
		int status = -1;
		pid_t child = fork();
		if (child == 0) {
			CUdeviceptr pointer;
			int refused = CU(cuMemAlloc_v2)(&pointer, MIB) != CUDA_SUCCESS && CU(cuMemFree_v2)(0) != CUDA_SUCCESS;
			_exit(refused ? 0 : 1);
		}
		failures += child < 0 || waitpid(child, &status, 0) != child || status != 0;
	}
	stopping = 1;
	for (int i = 0; i < 4; i++) {
		void *failed;
		pthread_join(all[i], &failed);
		failures += failed != NULL;
	}
	show("failures", failures);
}

static void become_another(void)
{
	begin();
	allocate(50 * MIB);
	fflush(stdout);
	execl(program_path, program_path, program_way, "linear", NULL);
	exit(9);
}

/* Shares an allocation with another process, and prints that process's output here. */
static void share(void)
{
	CUipcMemHandle handle;
	int to[2], from[2];
	char line[4096];
	CUdeviceptr pointer = allocate(40 * MIB);
	show("handle", CU(cuIpcGetMemHandle)(&handle, pointer));
	if (pipe(to) || pipe(from))
		exit(9);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		close(to[1]);
		close(from[0]);
		execl(program_path, program_path, program_way, "import", NULL);
		_exit(9);
	}
	close(to[0]);
	close(from[1]);
	show("sent", write(to[1], &handle, sizeof handle) == sizeof handle);
	FILE *answers = fdopen(from[0], "r");
	while (fgets(line, sizeof line, answers) && strcmp(line, "ready\n") != 0)
		printf("there: %s", line);
	close(to[1]);
	wait_for(child);
}

static void import(void)
{
	CUipcMemHandle handle;
	CUdeviceptr pointer, again;
	if (read(0, &handle, sizeof handle) != sizeof handle)
		exit(9);
	show("open", CU(cuIpcOpenMemHandle_v2)(&pointer, handle, 1));
	show("open", CU(cuIpcOpenMemHandle_v2)(&again, handle, 1));
	show("close", CU(cuIpcCloseMemHandle)(again));
	show("close", CU(cuIpcCloseMemHandle)(again));
	allocate(6 * MIB);
}

/* Closes all descriptors, as a daemon does, and reuses their numbers: a byte in each of many pipes. */
static void close_all(void)
{
	int pipes[40][2], kept = 0;
	char byte;
	allocate(12 * MIB);
	print_stats();
	printf("ready\n");
	if (read(0, &byte, 1) != 1)
		exit(9);
	for (int file = 3; file < 256; file++)
		close(file);
	for (int i = 0; i < 40; i++)
		if (pipe(pipes[i]) || write(pipes[i][1], "x", 1) != 1)
			exit(9);
	print_stats();
	printf("ready\n");
	if (read(0, &byte, 1) != 1)
		exit(9);
	for (int i = 0; i < 40; i++)
		kept += read(pipes[i][0], &byte, 1) == 1 && byte == 'x' && write(pipes[i][1], "y", 1) == 1;
	show("kept", kept);
}

static void *outlive(void *unused)
{
	char byte;
	(void)unused;
	print_stats();
	printf("ready\n");
	while (read(0, &byte, 1) > 0)
		;
	return NULL;
}

/* The process exits with the last of its other threads. */
static void leave_main(void)
{
	pthread_t other;
	allocate(12 * MIB);
	if (pthread_create(&other, NULL, outlive, NULL))
		exit(9);
	pthread_exit(NULL);
}

int play(const char *scenario)
{
	static const struct {
		const char *name;
		void (*play)(void);
		int begun;
	} scenarios[] = {
		{ "linear", linear, 1 },   { "pooled", pooled, 1 },   { "virtual", virtual_memory, 1 },    { "teardown", teardown, 1 },
		{ "threads", threads, 1 }, { "share", share, 1 },     { "import", import, 1 },
		{ "fork-before", fork_before, 0 }, { "fork-after", fork_after, 0 }, { "exec", become_another, 0 },
		{ "idle-pools", idle_pools, 1 },
		{ "close-all", close_all, 1 },
		{ "leave-main", leave_main, 1 },
		{ "unseen", unseen, 0 },   { "fork-storm", fork_storm, 1 },
	};
	for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
		if (strcmp(scenarios[i].name, scenario) != 0)
			continue;
		if (scenarios[i].begun)
			begin();
		scenarios[i].play();
		return 1;
	}
	if (strncmp(scenario, "captur", 6) != 0)
		return 0;
	begin();
	pooled();
	capturing(strcmp(scenario, "capturing") == 0);
	return 1;
}
