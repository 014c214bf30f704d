/*
 * An NVML program that a test controls: it loads the given library, reads one
 * command a line, and answers each with one line: return code, then figures.
 * Unlike the bindings it passes exactly the given buffers and version fields.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include "nvml.h"

#define ROOM 64

static void *library;

static void *symbol(const char *name)
{
	void *found = dlsym(library, name);
	if (!found) {
		printf("no %s\n", name);
		fflush(stdout);
		exit(1);
	}
	return found;
}

#define CALL(name, ...) (((__typeof__(&name))symbol(#name))(__VA_ARGS__))

static nvmlDevice_t device(unsigned int index)
{
	static nvmlDevice_t known[ROOM];
	if (index >= ROOM)
		return (nvmlDevice_t){ (void *)&known };
	if (!known[index].handle)
		CALL(nvmlDeviceGetHandleByIndex_v2, index, &known[index]);
	return known[index];
}

/* "processes VERSION INDEX COUNT": -1 passes a NULL buffer and a count of 0. */
static void processes(int version, unsigned int index, int room)
{
	static nvmlProcessInfo_v1_t first[ROOM];
	static nvmlProcessInfo_t second[ROOM];
	memset(first, 0xAA, sizeof first);
	memset(second, 0xAA, sizeof second);
	unsigned int count = room < 0 ? 0 : (unsigned int)room;
	nvmlReturn_t answer;
	if (version == 1)
		answer = CALL(nvmlDeviceGetComputeRunningProcesses, device(index), &count, room < 0 ? NULL : first);
	else if (version == 2)
		answer = CALL(nvmlDeviceGetComputeRunningProcesses_v2, device(index), &count, room < 0 ? NULL : second);
	else
		answer = CALL(nvmlDeviceGetComputeRunningProcesses_v3, device(index), &count, room < 0 ? NULL : second);
	printf("%d %u", answer, count);
	for (unsigned int i = 0; answer == NVML_SUCCESS && i < count && i < ROOM; i++)
		printf(" %u:%llu", version == 1 ? first[i].pid : second[i].pid,
		       version == 1 ? first[i].usedGpuMemory : second[i].usedGpuMemory);
	printf("\n");
}

/* "pci VERSION INDEX": the answer, the bus ID, the device ID, and how many bytes of the struct were written at most. */
static void pci_info(int version, unsigned int index)
{
	union {
		nvmlPciInfo_t info;
		unsigned char bytes[sizeof(nvmlPciInfo_t)];
	} given;
	memset(&given, 0xAA, sizeof given);
	nvmlReturn_t answer;
	if (version == 1)
		answer = CALL(nvmlDeviceGetPciInfo, device(index), &given.info);
	else if (version == 2)
		answer = CALL(nvmlDeviceGetPciInfo_v2, device(index), &given.info);
	else
		answer = CALL(nvmlDeviceGetPciInfo_v3, device(index), &given.info);
	size_t written = sizeof given;
	while (written > 0 && given.bytes[written - 1] == 0xAA)
		written--;
	printf("%d %s %x %zu\n", answer, given.info.busIdLegacy, given.info.pciDeviceId, written);
}

/* "utilization INDEX LAST_SEEN", through the size query, as programs do. */
static void utilization(unsigned int index, unsigned long long seen)
{
	static nvmlProcessUtilizationSample_t samples[ROOM];
	unsigned int count = 0;
	nvmlReturn_t answer = CALL(nvmlDeviceGetProcessUtilization, device(index), NULL, &count, seen);
	printf("%d %u", answer, count);
	if (answer == NVML_ERROR_INSUFFICIENT_SIZE && count <= ROOM) {
		answer = CALL(nvmlDeviceGetProcessUtilization, device(index), samples, &count, seen);
		printf(" %d", answer);
		for (unsigned int i = 0; answer == NVML_SUCCESS && i < count; i++)
			printf(" %u:%u@%llu", samples[i].pid, samples[i].smUtil, samples[i].timeStamp);
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!library) {
		fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "usage: client LIBRARY");
		return 1;
	}
	static nvmlEventSet_t set;
	char line[200], word[40];
	while (fgets(line, sizeof line, stdin)) {
		unsigned int index = 0;
		unsigned long long number = 0;
		int a = 0, b = 0;
		sscanf(line, "%39s %u %llu", word, &index, &number);
		if (strcmp(word, "init") == 0) {
			printf("%d\n", CALL(nvmlInit_v2));
		} else if (strcmp(word, "shutdown") == 0) {
			printf("%d\n", CALL(nvmlShutdown));
		} else if (strcmp(word, "count") == 0) {
			unsigned int count = 0;
			nvmlReturn_t answer = CALL(nvmlDeviceGetCount_v2, &count);
			printf("%d %u\n", answer, count);
		} else if (strcmp(word, "handle") == 0) {
			nvmlDevice_t handle;
			printf("%d\n", CALL(nvmlDeviceGetHandleByIndex_v2, index, &handle));
		} else if (strcmp(word, "memory1") == 0) {
			nvmlMemory_t memory = { 0 };
			nvmlReturn_t answer = CALL(nvmlDeviceGetMemoryInfo, device(index), &memory);
			printf("%d %llu %llu %llu\n", answer, memory.total, memory.used, memory.free);
		} else if (strcmp(word, "memory2") == 0) { /* memory2 INDEX VERSION; 0 stands for nvmlMemory_v2 */
			nvmlMemory_v2_t memory = { .version = number ? (unsigned int)number : nvmlMemory_v2 };
			nvmlReturn_t answer = CALL(nvmlDeviceGetMemoryInfo_v2, device(index), &memory);
			printf("%d %llu %llu %llu %llu\n", answer, memory.total, memory.reserved, memory.used, memory.free);
		} else if (strcmp(word, "processes") == 0) {
			sscanf(line, "%*s %d %u %d", &a, &index, &b);
			processes(a, index, b);
		} else if (strcmp(word, "pci") == 0) {
			sscanf(line, "%*s %d %u", &a, &index);
			pci_info(a, index);
		} else if (strcmp(word, "utilization") == 0) {
			utilization(index, number);
		} else if (strcmp(word, "power") == 0) {
			unsigned int power = 0;
			nvmlReturn_t answer = CALL(nvmlDeviceGetPowerUsage, device(index), &power);
			printf("%d %u\n", answer, power);
		} else if (strcmp(word, "nvlink") == 0) {
			nvmlIntNvLinkDeviceType_t type;
			nvmlPciInfo_t pci;
			nvmlEnableState_t active;
			nvmlGpuFabricInfoV_t fabric = { .version = nvmlGpuFabricInfo_v3 };
			printf("%d %d %d %d\n", CALL(nvmlDeviceGetNvLinkState, device(index), 0, &active),
			       CALL(nvmlDeviceGetNvLinkRemotePciInfo_v2, device(index), 0, &pci),
			       CALL(nvmlDeviceGetNvLinkRemoteDeviceType, device(index), 0, &type),
			       CALL(nvmlDeviceGetGpuFabricInfoV, device(index), &fabric));
		} else if (strcmp(word, "register") == 0) {
			if (!set.handle)
				CALL(nvmlEventSetCreate, &set);
			printf("%d\n", CALL(nvmlDeviceRegisterEvents, device(index), nvmlEventTypeXidCriticalError, set));
		} else if (strcmp(word, "wait") == 0) { /* wait TIMEOUT */
			nvmlEventData_t data = { 0 };
			nvmlReturn_t answer = CALL(nvmlEventSetWait_v2, set, &data, index);
			printf("%d %llu\n", answer, data.eventData);
		} else {
			printf("what? %s", line);
		}
		fflush(stdout);
	}
	return 0;
}
