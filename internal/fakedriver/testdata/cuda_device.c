/* The commands about devices and contexts. */
#include "cuda_client.h"

#include <string.h>

CUresult use(int device)
{
	CUcontext context;
	CUresult answer = cuDevicePrimaryCtxRetain(&context, device);
	return answer == CUDA_SUCCESS ? cuCtxSetCurrent(context) : answer;
}

static void describe(int device)
{
	char name[100] = "", bus[20] = "";
	CUuuid first = { { 0 } }, second = { { 0 } };
	size_t total = 0;
	CUdevice found = -1;
	CUresult answer = cuDeviceGetName(name, sizeof name, device);
	if (answer == CUDA_SUCCESS)
		answer = cuDeviceGetUuid(&first, device);
	if (answer == CUDA_SUCCESS)
		answer = cuDeviceGetUuid_v2(&second, device);
	if (answer == CUDA_SUCCESS)
		answer = cuDeviceTotalMem_v2(&total, device);
	if (answer == CUDA_SUCCESS)
		answer = cuDeviceGetPCIBusId(bus, sizeof bus, device);
	if (answer == CUDA_SUCCESS)
		answer = cuDeviceGetByPCIBusId(&found, bus);
	printf("%d ", answer);
	for (int i = 0; i < 4; i++)
		printf("%02x", (unsigned char)first.bytes[i]);
	printf(" ");
	for (int i = 0; i < 4; i++)
		printf("%02x", (unsigned char)second.bytes[i]);
	printf(" %zu %s %d %s\n", total, bus, found, name);
}

int device_command(const char *word, int a, int b)
{
	int number = -1;
	CUresult answer;
	if (strcmp(word, "init") == 0)
		printf("%d\n", cuInit(0));
	else if (strcmp(word, "version") == 0) {
		answer = cuDriverGetVersion(&number);
		printf("%d %d\n", answer, number);
	} else if (strcmp(word, "count") == 0) {
		answer = cuDeviceGetCount(&number);
		printf("%d %d\n", answer, number);
	} else if (strcmp(word, "describe") == 0)
		describe(a);
	else if (strcmp(word, "attribute") == 0) {
		answer = cuDeviceGetAttribute(&number, (CUdevice_attribute)a, b);
		printf("%d %d\n", answer, number);
	} else if (strcmp(word, "use") == 0)
		printf("%d\n", use(a));
	else if (strcmp(word, "leave") == 0)
		printf("%d\n", cuCtxSetCurrent(NULL));
	else if (strcmp(word, "release") == 0)
		printf("%d\n", cuDevicePrimaryCtxRelease_v2(a));
	else if (strcmp(word, "reset") == 0)
		printf("%d\n", cuDevicePrimaryCtxReset_v2(a));
	else if (strcmp(word, "newcontext") == 0) {
		CUcontext context;
		printf("%d\n", cuCtxCreate_v2(&context, 0, a));
	} else if (strcmp(word, "peer") == 0) {
		CUcontext context;
		cuDevicePrimaryCtxRetain(&context, a);
		printf("%d\n", b ? cuCtxEnablePeerAccess(context, 0) : cuCtxDisablePeerAccess(context));
		cuDevicePrimaryCtxRelease_v2(a);
	} else if (strcmp(word, "destroycontext") == 0) {
		CUcontext context = NULL;
		cuCtxGetCurrent(&context);
		printf("%d\n", cuCtxDestroy_v2(context));
	} else
		return 0;
	return 1;
}
