/*
 * The processes of a GPU. There are three lists, which overlap, and three
 * versions of each: the first has no MIG instances in its entries, the second
 * and third are alike. All answer the same way:
 *
 *   the given count is too small → INSUFFICIENT_SIZE and the count needed
 *   else                         → entries written, and their count
 */
#include "call.h"

#include <stdlib.h>
#include <time.h>

enum list { COMPUTE, GRAPHICS, MPS };

static int listed(const struct call *call, enum list list, const struct process *process)
{
	int in_list = list == COMPUTE ? process->compute : list == GRAPHICS ? process->graphics : process->mps;
	if (!call->instance)
		return in_list;
	return in_list && process->gi == call->instance->gi && process->ci == call->instance->ci;
}

static number used_memory(const struct call *call, enum list list, const struct process *process)
{
	if (call->gpu->hide_process_memory == 1 || process->used == ABSENT)
		return UNAVAILABLE;
	if (list == GRAPHICS && process->graphics_used != ABSENT)
		return process->graphics_used;
	return process->used;
}

/* Without MIG there are no instance IDs. */
static unsigned int instance_id(const struct call *call, number id)
{
	return call->gpu->mig_mode == NVML_DEVICE_MIG_ENABLE && id != ABSENT ? (unsigned int)id : NO_INSTANCE;
}

static void write_entry(const struct call *call, enum list list, const struct process *process, size_t index,
                        nvmlProcessInfo_v1_t *first, nvmlProcessInfo_t *second)
{
	if (first) {
		first[index].pid = (unsigned int)process->pid;
		first[index].usedGpuMemory = used_memory(call, list, process);
	}
	if (second) {
		second[index].pid = (unsigned int)process->pid;
		second[index].usedGpuMemory = used_memory(call, list, process);
		second[index].gpuInstanceId = instance_id(call, process->gi);
		second[index].computeInstanceId = instance_id(call, process->ci);
	}
}

static nvmlReturn_t running_processes(const char *name, enum list list, nvmlDevice_t device, unsigned int *count,
                                      nvmlProcessInfo_v1_t *first, nvmlProcessInfo_t *second)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, name, device, ANY_HANDLE);
	if (answer == NVML_SUCCESS && (!count || (*count > 0 && !first && !second)))
		answer = NVML_ERROR_INVALID_ARGUMENT;
	if (answer == NVML_SUCCESS) {
		size_t all, needed = 0, written = 0;
		struct process *processes = held_processes(&call, &all);
		for (size_t i = 0; i < all; i++)
			needed += (size_t)listed(&call, list, &processes[i]);
		if (needed > *count) {
			answer = answer_insufficient(&call, count, needed);
		} else {
			for (size_t i = 0; i < all; i++)
				if (listed(&call, list, &processes[i]))
					write_entry(&call, list, &processes[i], written++, first, second);
			answer = answer_count(&call, count, written);
		}
		free(processes);
	}
	call_end(&call);
	return answer;
}

#define FIRST(function, list)                                                                                 \
	nvmlReturn_t function(nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_v1_t *infos)          \
	{                                                                                                         \
		return running_processes(#function, list, device, infoCount, infos, NULL);                            \
	}

#define LATER(function, list, entry)                                                                          \
	nvmlReturn_t function(nvmlDevice_t device, unsigned int *infoCount, entry *infos)                         \
	{                                                                                                         \
		return running_processes(#function, list, device, infoCount, NULL, infos);                            \
	}

FIRST(nvmlDeviceGetComputeRunningProcesses, COMPUTE)
FIRST(nvmlDeviceGetGraphicsRunningProcesses, GRAPHICS)
FIRST(nvmlDeviceGetMPSComputeRunningProcesses, MPS)
#ifdef HAVE_V2
LATER(nvmlDeviceGetComputeRunningProcesses_v2, COMPUTE, nvmlProcessInfo_v2_t)
LATER(nvmlDeviceGetGraphicsRunningProcesses_v2, GRAPHICS, nvmlProcessInfo_v2_t)
LATER(nvmlDeviceGetMPSComputeRunningProcesses_v2, MPS, nvmlProcessInfo_v2_t)
#endif
#ifdef HAVE_R510
LATER(nvmlDeviceGetComputeRunningProcesses_v3, COMPUTE, nvmlProcessInfo_t)
LATER(nvmlDeviceGetGraphicsRunningProcesses_v3, GRAPHICS, nvmlProcessInfo_t)
LATER(nvmlDeviceGetMPSComputeRunningProcesses_v3, MPS, nvmlProcessInfo_t)
#endif

#ifdef HAVE_V2
/* The driver samples once a period; the latest sample has the time of the period's beginning. */
static number last_sample(const struct gpu *gpu)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	number microseconds = (number)now.tv_sec * 1000000 + (number)now.tv_nsec / 1000;
	number period = gpu->sample_period_us == ABSENT || gpu->sample_period_us == 0 ? 1000000 : gpu->sample_period_us;
	return microseconds - microseconds % period;
}

/* Idle processes have no samples, so a process without sm in the state, or with 0, is left out. */
static int sampled(const struct process *process)
{
	return process->sm != ABSENT && process->sm > 0;
}

static unsigned int per_cent(number value)
{
	return value == ABSENT ? 0 : (unsigned int)value;
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t *utilization,
                                             unsigned int *processSamplesCount, unsigned long long lastSeenTimeStamp)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, "nvmlDeviceGetProcessUtilization", device, WHOLE_GPU);
	if (answer == NVML_SUCCESS && !processSamplesCount)
		answer = NVML_ERROR_INVALID_ARGUMENT;
	if (answer == NVML_SUCCESS && call.gpu->mig_mode == NVML_DEVICE_MIG_ENABLE)
		answer = NVML_ERROR_NOT_SUPPORTED;
	if (answer == NVML_SUCCESS) {
		size_t needed = 0, written = 0;
		number time = last_sample(call.gpu);
		for (size_t i = 0; i < call.gpu->process_count; i++)
			needed += (size_t)sampled(&call.gpu->processes[i]);
		if (time <= lastSeenTimeStamp || needed == 0) {
			answer = NVML_ERROR_NOT_FOUND;
		} else if (!utilization || needed > *processSamplesCount) {
			answer = answer_insufficient(&call, processSamplesCount, needed);
		} else {
			for (size_t i = 0; i < call.gpu->process_count; i++) {
				const struct process *process = &call.gpu->processes[i];
				if (sampled(process))
					utilization[written++] = (nvmlProcessUtilizationSample_t){
						.pid = (unsigned int)process->pid,
						.timeStamp = time,
						.smUtil = per_cent(process->sm),
						.memUtil = per_cent(process->mem),
						.encUtil = per_cent(process->enc),
						.decUtil = per_cent(process->dec),
					};
			}
			answer = answer_count(&call, processSamplesCount, written);
		}
	}
	call_end(&call);
	return answer;
}
#endif
