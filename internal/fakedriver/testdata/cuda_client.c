/*
 * A CUDA program for the tests. For each line of standard input it makes a call
 * and prints the result code and the call's results. Pointers, streams, pools and
 * memory handles are named by numbers. Other files, such as cuda_work.c, have
 * more commands.
 */
#define _GNU_SOURCE
#include "cuda_client.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAMES = 64 };
static CUdeviceptr pointers[NAMES];
static size_t sizes[NAMES];
static CUstream streams[NAMES] = { NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD };
static CUmemoryPool pools[NAMES];
static CUmemGenericAllocationHandle handles[NAMES];
static CUgraph graph;
static CUgraphExec executable;
static char program_memory[1 << 16];

static CUresult create_pool(int name, int device, size_t largest)
{
	CUmemPoolProps properties = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device },
		.maxSize = largest,
	};
	return cuMemPoolCreate(&pools[name], &properties);
}

static void pool_info(CUmemoryPool pool)
{
	static const CUmemPool_attribute wanted[] = { CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
		CU_MEMPOOL_ATTR_USED_MEM_CURRENT, CU_MEMPOOL_ATTR_USED_MEM_HIGH };
	cuuint64_t values[4] = { 0 };
	CUresult answer = CUDA_SUCCESS;
	for (int i = 0; i < 4 && answer == CUDA_SUCCESS; i++)
		answer = cuMemPoolGetAttribute(pool, wanted[i], &values[i]);
	printf("%d %lu %lu %lu %lu\n", answer, values[0], values[1], values[2], values[3]);
}

static void graph_info(int device)
{
	cuuint64_t values[2] = { 0 };
	CUresult answer = cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &values[0]);
	if (answer == CUDA_SUCCESS)
		answer = cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &values[1]);
	printf("%d %lu %lu\n", answer, values[0], values[1]);
}

static CUmemAllocationProp physical(int device)
{
	return (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device },
	};
}

static CUresult export_and_import(int from, int to)
{
	int file = -1;
	CUresult answer = cuMemExportToShareableHandle(&file, handles[from], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	if (answer == CUDA_SUCCESS)
		answer = cuMemImportFromShareableHandle(&handles[to], (void *)(intptr_t)file,
		                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	if (file >= 0)
		close(file);
	return answer;
}

/* "proc NAME VERSION FLAGS": both versions' answers, the status, and the symbol that was found. */
static void proc_address(const char *name, int version, unsigned long long flags)
{
	void *first = NULL, *second = NULL;
	CUdriverProcAddressQueryResult status = 9;
	CUresult answer1 = cuGetProcAddress(name, &first, version, flags);
	CUresult answer2 = cuGetProcAddress_v2(name, &second, version, flags, &status);
	Dl_info info = { 0 };
	if (second)
		dladdr(second, &info);
	printf("%d %d %d %s%s\n", answer1, answer2, (int)status, info.dli_sname ? info.dli_sname : "-",
	       first == second ? "" : " differs");
}

/* Prints what the driver answers to a forked child of this process. */
static void fork_child(size_t size)
{
	int answers[2];
	if (pipe(answers) != 0)
		exit(1);
	pid_t child = fork();
	if (child == 0) {
		size_t free = 0, total = 0;
		CUdeviceptr pointer;
		int values[5] = { cuInit(0), use(0), cuMemGetInfo_v2(&free, &total), cuMemAlloc_v2(&pointer, size),
			cuMemFree_v2(pointers[0]) };
		_exit(write(answers[1], values, sizeof values) == sizeof values ? 0 : 1);
	}
	int values[5] = { 0 };
	if (read(answers[0], values, sizeof values) != sizeof values)
		printf("the child has said nothing ");
	waitpid(child, NULL, 0);
	close(answers[0]);
	close(answers[1]);
	printf("%d %d %d %d %d\n", values[0], values[1], values[2], values[3], values[4]);
}

/* Runs a command about memory. Returns 0 for any other command. */
static int memory_command(const char *word, int a, unsigned long long b, int c)
{
	CUmemAllocationProp properties = physical((int)c);
	CUmemAccessDesc access = { .location = properties.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	size_t free = 0, total = 0, size = (size_t)b, pitch = 0;
	CUresult answer;
	if (strcmp(word, "alloc") == 0)
		printf("%d\n", cuMemAlloc_v2(&pointers[a], size));
	else if (strcmp(word, "free") == 0)
		printf("%d\n", cuMemFree_v2(pointers[a]));
	else if (strcmp(word, "address") == 0)
		printf("0 %llx\n", pointers[a]);
	else if (strcmp(word, "pitch") == 0) {
		answer = cuMemAllocPitch_v2(&pointers[a], &pitch, size, (size_t)c, 4);
		printf("%d %zu\n", answer, pitch);
	} else if (strcmp(word, "managed") == 0)
		printf("%d\n", cuMemAllocManaged(&pointers[a], size, CU_MEM_ATTACH_GLOBAL));
	else if (strcmp(word, "info") == 0) {
		answer = cuMemGetInfo_v2(&free, &total);
		printf("%d %zu %zu\n", answer, free, total);
	} else if (strcmp(word, "memset") == 0)
		printf("%d\n", cuMemsetD8_v2(pointers[a], 1, size));
	else if (strcmp(word, "async") == 0)
		printf("%d\n", cuMemAllocAsync(&pointers[a], size, streams[c]));
	else if (strcmp(word, "freeasync") == 0)
		printf("%d\n", cuMemFreeAsync(pointers[a], streams[b]));
	else if (strcmp(word, "async_ptsz") == 0)
		printf("%d\n", cuMemAllocAsync_ptsz(&pointers[a], size, streams[c]));
	else if (strcmp(word, "freeasync_ptsz") == 0)
		printf("%d\n", cuMemFreeAsync_ptsz(pointers[a], streams[b]));
	else if (strcmp(word, "frompool") == 0) /* on the legacy stream */
		printf("%d\n", cuMemAllocFromPoolAsync(&pointers[a], size, pools[c], NULL));
	else if (strcmp(word, "write") == 0)
		printf("%d\n", cuStreamWriteValue32_v2(streams[c], pointers[a] + size, 1, 0));
	else if (strcmp(word, "register") == 0)
		printf("%d\n", cuMemHostRegister_v2(program_memory + a, size, 0));
	else if (strcmp(word, "unregister") == 0)
		printf("%d\n", cuMemHostUnregister(program_memory + a));
	else if (strcmp(word, "create") == 0)
		printf("%d\n", cuMemCreate(&handles[a], size, &properties, 0));
	else if (strcmp(word, "createfabric") == 0) {
		properties.requestedHandleTypes = 8; /* CU_MEM_HANDLE_TYPE_FABRIC */
		printf("%d\n", cuMemCreate(&handles[a], size, &properties, 0));
	} else if (strcmp(word, "let") == 0)
		printf("%d\n", cuMemRelease(handles[a]));
	else if (strcmp(word, "share") == 0)
		printf("%d\n", export_and_import(a, (int)b));
	else if (strcmp(word, "reserve") == 0)
		printf("%d\n", cuMemAddressReserve(&pointers[a], sizes[a] = size, 0, 0, 0));
	else if (strcmp(word, "unreserve") == 0)
		printf("%d\n", cuMemAddressFree(pointers[a], sizes[a]));
	else if (strcmp(word, "map") == 0)
		printf("%d\n", cuMemMap(pointers[a], size, 0, handles[c], 0));
	else if (strcmp(word, "access") == 0)
		printf("%d\n", cuMemSetAccess(pointers[a], size, &access, 1));
	else if (strcmp(word, "unmap") == 0)
		printf("%d\n", cuMemUnmap(pointers[a], size));
	else
		return 0;
	return 1;
}

/* Runs a command about pools, streams, captures or graphs. Returns 0 for any other command. */
static int pool_command(const char *word, int a, unsigned long long b, int c)
{
	cuuint64_t bytes = b, nothing = 0;
	CUgraph ended = NULL;
	CUstreamCaptureStatus status = 0;
	CUresult answer;
	if (strcmp(word, "stream") == 0)
		printf("%d\n", cuStreamCreate(&streams[a], (unsigned int)b));
	else if (strcmp(word, "sync") == 0)
		printf("%d\n", cuStreamSynchronize(streams[a]));
	else if (strcmp(word, "sync_ptsz") == 0)
		printf("%d\n", cuStreamSynchronize_ptsz(streams[a]));
	else if (strcmp(word, "query") == 0)
		printf("%d\n", cuStreamQuery(streams[a]));
	else if (strcmp(word, "ctxsync") == 0)
		printf("%d\n", cuCtxSynchronize());
	else if (strcmp(word, "defaultpool") == 0)
		printf("%d\n", cuDeviceGetDefaultMemPool(&pools[a], (int)b));
	else if (strcmp(word, "pool") == 0)
		printf("%d\n", create_pool(a, c, (size_t)b));
	else if (strcmp(word, "setpool") == 0)
		printf("%d\n", cuDeviceSetMemPool((int)b, pools[a]));
	else if (strcmp(word, "destroypool") == 0)
		printf("%d\n", cuMemPoolDestroy(pools[a]));
	else if (strcmp(word, "threshold") == 0)
		printf("%d\n", cuMemPoolSetAttribute(pools[a], CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes));
	else if (strcmp(word, "resethigh") == 0)
		printf("%d\n", cuMemPoolSetAttribute(pools[a], CU_MEMPOOL_ATTR_USED_MEM_HIGH, &nothing));
	else if (strcmp(word, "trim") == 0)
		printf("%d\n", cuMemPoolTrimTo(pools[a], (size_t)b));
	else if (strcmp(word, "poolinfo") == 0)
		pool_info(pools[a]);
	else if (strcmp(word, "graphinfo") == 0)
		graph_info(a);
	else if (strcmp(word, "graphtrim") == 0)
		printf("%d\n", cuDeviceGraphMemTrim(a));
	else if (strcmp(word, "capture") == 0)
		printf("%d\n", cuStreamBeginCapture_v2(streams[a], (CUstreamCaptureMode)b));
	else if (strcmp(word, "capturing") == 0) {
		answer = cuStreamIsCapturing(streams[a], &status);
		printf("%d %d\n", answer, (int)status);
	} else if (strcmp(word, "endcapture") == 0) {
		answer = cuStreamEndCapture(streams[a], &ended);
		printf("%d\n", answer);
		graph = ended;
	} else if (strcmp(word, "destroygraph") == 0)
		printf("%d\n", cuGraphDestroy(graph));
	else if (strcmp(word, "instantiate") == 0)
		printf("%d\n", cuGraphInstantiateWithFlags(&executable, graph, 0));
	else if (strcmp(word, "launch") == 0)
		printf("%d\n", cuGraphLaunch(executable, streams[a]));
	else if (strcmp(word, "destroyexec") == 0)
		printf("%d\n", cuGraphExecDestroy(executable));
	else
		return 0;
	return 1;
}

int main(void)
{
	char line[300], word[40], name[100];
	while (fgets(line, sizeof line, stdin)) {
		int a = 0, c = 0, version = 0;
		unsigned long long b = 0, flags = 0;
		sscanf(line, "%39s %d %llu %d", word, &a, &b, &c);
		if (strcmp(word, "proc") == 0 && sscanf(line, "%*s %99s %d %llu", name, &version, &flags) == 3) {
			proc_address(name, version, flags);
		} else if (strcmp(word, "fork") == 0) {
			fork_child((size_t)b);
		} else if (strcmp(word, "exec") == 0) {
			printf("0\n");
			fflush(stdout);
			execlp("cat", "cat", (char *)NULL); /* like this program, cat runs until its input ends */
			return 1;
		} else if (!device_command(word, a, (int)b) && !memory_command(word, a, b, c) && !pool_command(word, a, b, c) &&
		           !work_command(word, a, b, c) && !module_command(word, a)) {
			printf("what? %s", line);
		}
		fflush(stdout);
	}
	return 0;
}
