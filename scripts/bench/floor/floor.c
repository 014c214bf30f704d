/*
 * The floor of the benchmark: a program that makes the driver calls of a sample of
 * vramscope each second, or once (-once), and prints the used memory alone.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void *device;

static void *library;

static void *call(const char *name)
{
	void *function = dlsym(library, name);
	if (!function) {
		fprintf(stderr, "floor: the driver lacks %s\n", name);
		exit(1);
	}
	return function;
}

/* The types of the driver's functions. A function of type get fills one number, or two of 32 bits. */
typedef int (*get)(device, unsigned long long *);
typedef int (*get_of)(device, unsigned, unsigned long long *);
typedef int (*get_two)(device, unsigned *, unsigned *);
typedef int (*list)(device, unsigned *, void *);
typedef int (*samples)(device, void *, unsigned *, unsigned long long);
typedef int (*errors)(device, unsigned, unsigned, unsigned long long *);
typedef int (*text)(device, char *, unsigned);

struct memory {
	unsigned version;
	unsigned long long total, reserved, free, used;
};

static char buffer[4 << 20];

/* What vramscope reads every ten seconds. */
static void sample_rare(device gpu)
{
	unsigned long long value[4];
	unsigned a, b;

	((get_two)call("nvmlDeviceGetMigMode"))(gpu, &a, &b);
	((get)call("nvmlDeviceGetFanSpeed"))(gpu, value);
	((get)call("nvmlDeviceGetPerformanceState"))(gpu, value);
	((get_of)call("nvmlDeviceGetClockInfo"))(gpu, 2, value);
	((get)call("nvmlDeviceGetEnforcedPowerLimit"))(gpu, value);
	((errors)call("nvmlDeviceGetTotalEccErrors"))(gpu, 0, 0, value);
	((errors)call("nvmlDeviceGetTotalEccErrors"))(gpu, 1, 0, value);
}

static void sample(device gpu, const char *name)
{
	struct memory memory = { .version = sizeof memory | 2u << 24 };
	unsigned long long value[4];
	unsigned count;

	((int (*)(device, struct memory *))call("nvmlDeviceGetMemoryInfo_v2"))(gpu, &memory);
	((get)call("nvmlDeviceGetUtilizationRates"))(gpu, value);
	((get_of)call("nvmlDeviceGetTemperature"))(gpu, 0, value);
	((get_of)call("nvmlDeviceGetClockInfo"))(gpu, 1, value);
	((get)call("nvmlDeviceGetPowerUsage"))(gpu, value);
	((get)call("nvmlDeviceGetCurrentClocksThrottleReasons"))(gpu, value);
	for (int i = 0; i < 3; i++) {
		static const char *const lists[] = {
			"nvmlDeviceGetComputeRunningProcesses_v3",
			"nvmlDeviceGetGraphicsRunningProcesses_v3",
			"nvmlDeviceGetMPSComputeRunningProcesses_v3",
		};
		count = sizeof buffer / 64;
		((list)call(lists[i]))(gpu, &count, buffer);
	}
	count = sizeof buffer / 64;
	((samples)call("nvmlDeviceGetProcessUtilization"))(gpu, buffer, &count, 0);
	printf("%s %llu MiB\n", name, memory.used >> 20);
}

int main(int argc, char **argv)
{
	library = dlopen("libnvidia-ml.so.1", RTLD_LAZY);
	unsigned count;
	if (!library || ((int (*)(void))call("nvmlInit_v2"))() || ((int (*)(unsigned *))call("nvmlDeviceGetCount_v2"))(&count)) {
		fprintf(stderr, "floor: no driver\n");
		return 1;
	}
	struct gpu { device handle; char name[96]; } *gpus = calloc(count, sizeof *gpus);
	for (unsigned i = 0; i < count; i++) {
		char uuid[96];
		((int (*)(unsigned, device *))call("nvmlDeviceGetHandleByIndex_v2"))(i, &gpus[i].handle);
		((text)call("nvmlDeviceGetUUID"))(gpus[i].handle, uuid, sizeof uuid);
		((text)call("nvmlDeviceGetName"))(gpus[i].handle, gpus[i].name, sizeof gpus[i].name);
	}
	for (unsigned second = 0;; second++) {
		for (unsigned i = 0; i < count; i++) {
			if (second % 10 == 0)
				sample_rare(gpus[i].handle);
			sample(gpus[i].handle, gpus[i].name);
		}
		fflush(stdout);
		if (argc > 1 && !strcmp(argv[1], "-once"))
			return 0;
		nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
	}
}
