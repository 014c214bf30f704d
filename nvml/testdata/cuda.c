/*
 * A stand-in for libcuda.so.1, as far as scripts/gpu-check calls it. What its
 * process allocates it writes into the fake driver's state file, as a process
 * of the last GPU there. With STAND_IN_CUDA_KEEPS in the environment, memory
 * that is freed stays on the books.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONTEXT (500ULL << 20)

static char before[1 << 20]; /* the state file without this process */
static unsigned long long held;

static int publish(void)
{
	const char *path = getenv("VRAMSCOPE_FAKE_STATE");
	char new_path[4096];
	snprintf(new_path, sizeof new_path, "%s.new", path);
	FILE *file = fopen(new_path, "w");
	if (!file)
		return 999;
	fprintf(file, "%sprocess C pid=%d used=%llu\n", before, (int)getpid(), held);
	return fclose(file) != 0 || rename(new_path, path) != 0 ? 999 : 0;
}

int cuInit(unsigned int flags)
{
	(void)flags;
	FILE *file = fopen(getenv("VRAMSCOPE_FAKE_STATE"), "r");
	if (!file)
		return 100;
	size_t size = fread(before, 1, sizeof before - 1, file);
	before[size] = 0;
	return fclose(file) != 0 ? 999 : 0;
}

int cuDeviceGet(int *device, int ordinal)
{
	*device = ordinal;
	return 0;
}

int cuDeviceGetUuid(unsigned char uuid[16], int device)
{
	(void)device;
	const char *last = NULL;
	for (const char *line = before; (line = strstr(line, "\ngpu GPU-")); line++)
		last = line + strlen("\ngpu GPU-");
	for (int i = 0; last && i < 16; last += 2) {
		if (*last == '-')
			last++;
		unsigned int byte;
		if (sscanf(last, "%2x", &byte) != 1)
			return 101;
		uuid[i++] = (unsigned char)byte;
	}
	return last ? 0 : 101;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
	(void)device;
	*context = before;
	held = CONTEXT;
	return publish();
}

int cuCtxSetCurrent(void *context)
{
	return context ? 0 : 201;
}

int cuMemAlloc_v2(unsigned long long *address, size_t size)
{
	*address = size;
	held += size;
	return publish();
}

int cuMemFree_v2(unsigned long long address)
{
	held -= getenv("STAND_IN_CUDA_KEEPS") ? 0 : address;
	return publish();
}
