#include "scenario.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

void threads(void)
{
	pthread_t all[THREADS];
	long failures = 0;
	use_device(1);
	use_device(0);
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
void fork_before(void)
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

void fork_after(void)
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
void unseen(void)
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
void fork_storm(void)
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

void become_another(void)
{
	begin();
	allocate(50 * MIB);
	fflush(stdout);
	execl(program_path, program_path, program_way, "linear", NULL);
	exit(9);
}

/* Shares an allocation with another process, and prints that process's output here. */
void share(void)
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

void import(void)
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
void close_all(void)
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
void leave_main(void)
{
	pthread_t other;
	allocate(12 * MIB);
	if (pthread_create(&other, NULL, outlive, NULL))
		exit(9);
	pthread_exit(NULL);
}
