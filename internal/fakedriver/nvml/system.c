/* Calls that concern no device: versions, error texts, process names, units. */
#include "call.h"

#include <stdio.h>
#include <string.h>

#define SYSTEM_TEXT(function, value)                                     \
	nvmlReturn_t function(char *version, unsigned int length)            \
	{                                                                    \
		struct call call;                                                \
		nvmlReturn_t answer = system_call_begin(&call, #function);       \
		if (answer == NVML_SUCCESS)                                      \
			answer = answer_text(version, length, call.state->value);    \
		call_end(&call);                                                 \
		return answer;                                                   \
	}

SYSTEM_TEXT(nvmlSystemGetDriverVersion, driver.version)
SYSTEM_TEXT(nvmlSystemGetNVMLVersion, driver.nvml_version)

static nvmlReturn_t cuda_version(const char *name, int *version)
{
	struct call call;
	nvmlReturn_t answer = system_call_begin(&call, name);
	if (answer == NVML_SUCCESS) {
		if (!version)
			answer = NVML_ERROR_INVALID_ARGUMENT;
		else if (call.state->driver.cuda_version == ABSENT)
			answer = NVML_ERROR_NOT_SUPPORTED;
		else
			*version = (int)call.state->driver.cuda_version;
	}
	call_end(&call);
	return answer;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
	return cuda_version("nvmlSystemGetCudaDriverVersion", version);
}

#ifdef HAVE_V2
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	return cuda_version("nvmlSystemGetCudaDriverVersion_v2", version);
}
#endif

/* Copies the state's name for a process. A test may choose a hostile name. */
static int told_name(const struct state *state, unsigned int pid, char *name)
{
	for (size_t i = 0; i < state->gpu_count; i++)
		for (size_t j = 0; j < state->gpus[i].process_count; j++)
			if (state->gpus[i].processes[j].pid == pid && *state->gpus[i].processes[j].name) {
				strcpy(name, state->gpus[i].processes[j].name);
				return 1;
			}
	return 0;
}

/* Copies argument 0 of a process from /proc, for a process without a name in the state. */
static int started_name(unsigned int pid, char *name)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return 0;
	size_t length = fread(name, 1, TEXT_SIZE - 1, file);
	fclose(file);
	name[length] = 0;
	return *name != 0;
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
	struct call call;
	nvmlReturn_t answer = system_call_begin(&call, "nvmlSystemGetProcessName");
	char found[TEXT_SIZE];
	if (answer == NVML_SUCCESS) {
		if (!name || length == 0)
			answer = NVML_ERROR_INVALID_ARGUMENT;
		else if (told_name(call.state, pid, found) || started_name(pid, found))
			snprintf(name, length, "%s", found);
		else
			answer = NVML_ERROR_NOT_FOUND;
	}
	call_end(&call);
	return answer;
}

/* S-class units, which are obsolete. */
nvmlReturn_t nvmlUnitGetCount(unsigned int *unitCount)
{
	struct call call;
	nvmlReturn_t answer = system_call_begin(&call, "nvmlUnitGetCount");
	if (answer == NVML_SUCCESS) {
		if (unitCount)
			*unitCount = 0;
		else
			answer = NVML_ERROR_INVALID_ARGUMENT;
	}
	call_end(&call);
	return answer;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
	switch (result) {
	case NVML_SUCCESS: return "Success";
	case NVML_ERROR_UNINITIALIZED: return "Uninitialized";
	case NVML_ERROR_INVALID_ARGUMENT: return "Invalid Argument";
	case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
	case NVML_ERROR_NO_PERMISSION: return "Insufficient Permissions";
	case NVML_ERROR_ALREADY_INITIALIZED: return "Already Initialized";
	case NVML_ERROR_NOT_FOUND: return "Not Found";
	case NVML_ERROR_INSUFFICIENT_SIZE: return "Insufficient Size";
	case NVML_ERROR_INSUFFICIENT_POWER: return "Insufficient External Power";
	case NVML_ERROR_DRIVER_NOT_LOADED: return "Driver Not Loaded";
	case NVML_ERROR_TIMEOUT: return "Timeout";
	case NVML_ERROR_IRQ_ISSUE: return "Interrupt Request Issue";
	case NVML_ERROR_LIBRARY_NOT_FOUND: return "NVML Shared Library Not Found";
	case NVML_ERROR_FUNCTION_NOT_FOUND: return "Function Not Found";
	case NVML_ERROR_CORRUPTED_INFOROM: return "Corrupted infoROM";
	case NVML_ERROR_GPU_IS_LOST: return "GPU is lost";
	case NVML_ERROR_RESET_REQUIRED: return "GPU requires restart";
	case NVML_ERROR_OPERATING_SYSTEM: return "The operating system has blocked the request.";
	case NVML_ERROR_LIB_RM_VERSION_MISMATCH: return "RM has detected an NVML/RM version mismatch.";
	case NVML_ERROR_IN_USE: return "In use by another client";
	case NVML_ERROR_MEMORY: return "Insufficient Memory";
	case NVML_ERROR_NO_DATA: return "No data";
	case NVML_ERROR_INSUFFICIENT_RESOURCES: return "Insufficient Resources";
	case NVML_ERROR_ARGUMENT_VERSION_MISMATCH: return "Version mismatch between input argument and version expected";
	case NVML_ERROR_DEPRECATED: return "Deprecated";
	case NVML_ERROR_NOT_READY: return "Not ready";
	case NVML_ERROR_GPU_NOT_FOUND: return "GPU not found";
	case NVML_ERROR_INVALID_STATE: return "Invalid state";
	default: return "Unknown Error";
	}
}
