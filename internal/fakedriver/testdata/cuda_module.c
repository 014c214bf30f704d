/* The commands about modules and kernels. */
#include "cuda_client.h"

#include <string.h>

int module_command(const char *word, int a)
{
	static CUmodule module;
	static CUfunction function;
	CUdeviceptr pointer = 0;
	size_t size = 0;
	int number = -1;
	CUresult answer;
	CUlaunchConfig configuration = { .gridDimX = (unsigned int)a, .gridDimY = 1, .gridDimZ = 1,
	                                 .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1 };
	if (strcmp(word, "load") == 0)
		printf("%d\n", cuModuleLoadData(&module, "code"));
	else if (strcmp(word, "unload") == 0)
		printf("%d\n", cuModuleUnload(module));
	else if (strcmp(word, "kernel") == 0)
		printf("%d\n", cuModuleGetFunction(&function, module, "kernel"));
	else if (strcmp(word, "variable") == 0)
		printf("%d\n", cuModuleGetGlobal_v2(&pointer, &size, module, "variable"));
	else if (strcmp(word, "threads") == 0) {
		answer = cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
		printf("%d %d\n", answer, number);
	} else if (strcmp(word, "occupancy") == 0) {
		answer = cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, function, a, 0);
		printf("%d %d\n", answer, number);
	} else if (strcmp(word, "run") == 0)
		printf("%d\n", cuLaunchKernel(function, (unsigned int)a, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	else if (strcmp(word, "runex") == 0)
		printf("%d\n", cuLaunchKernelEx(&configuration, function, NULL, NULL));
	else
		return 0;
	return 1;
}
