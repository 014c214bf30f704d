/* Adds what processes hold through the fake CUDA driver to the state file's processes. Each such
 * process is in the compute list with its contexts and allocations. A process that the state file
 * also names is listed once, with the sum.
 */
#define _GNU_SOURCE
#include "call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The state's process of this pid in this instance; NULL if the state has none. */
static struct process *find(struct process *processes, size_t count, number pid, number gi, number ci)
{
	for (size_t i = 0; i < count; i++)
		if (processes[i].pid == pid && processes[i].gi == gi && processes[i].ci == ci)
			return &processes[i];
	return NULL;
}

/* A process whose environment names MPS's pipes is a client of MPS. */
static int mps_client(number pid)
{
	char path[64], environment[1 << 16];
	snprintf(path, sizeof path, "/proc/%llu/environ", (unsigned long long)pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return 0;
	size_t size = fread(environment, 1, sizeof environment, file);
	fclose(file);
	return memmem(environment, size, "CUDA_MPS_PIPE_DIRECTORY=", 24) != NULL;
}

static struct process *add(struct process *processes, size_t *count, const struct holder *holders, size_t more,
                           number gi, number ci)
{
	struct process *grown = realloc(processes, (*count + more + 1) * sizeof *processes);
	if (!grown)
		return processes;
	for (size_t i = 0; i < more; i++) {
		struct process *process = find(grown, *count, holders[i].pid, gi, ci);
		if (!process) {
			process = &grown[(*count)++];
			*process = (struct process){
				.pid = holders[i].pid, .used = 0, .graphics_used = ABSENT, .gi = gi, .ci = ci,
				.sm = ABSENT, .mem = ABSENT, .enc = ABSENT, .dec = ABSENT,
			};
		}
		process->compute = 1;
		process->mps = process->mps || mps_client(holders[i].pid);
		if (process->used < ABSENT)
			process->used += holders[i].used;
	}
	return grown;
}

struct process *held_processes(const struct call *call, size_t *count)
{
	const struct gpu *gpu = call->gpu;
	struct process *processes = malloc((gpu->process_count + 1) * sizeof *processes);
	*count = 0;
	if (!processes)
		return NULL;
	if (gpu->process_count)
		memcpy(processes, gpu->processes, gpu->process_count * sizeof *processes);
	*count = gpu->process_count;

	const struct ledger *ledger = ledger_open(0);
	if (!ledger)
		return processes;
	struct holder *holders;
	size_t more = ledger_list(ledger, ledger_key(gpu->uuid), &holders);
	processes = add(processes, count, holders, more, ABSENT, ABSENT);
	free(holders);
	for (size_t i = 0; i < gpu->instance_count; i++) {
		const struct instance *instance = &gpu->instances[i];
		more = ledger_list(ledger, ledger_key(instance->uuid), &holders);
		processes = add(processes, count, holders, more, instance->gi, instance->ci);
		free(holders);
	}
	return processes;
}

number ledger_bytes(const struct call *call)
{
	const struct ledger *ledger = ledger_open(0);
	if (!ledger)
		return 0;
	if (call->instance)
		return ledger_held(ledger, ledger_key(call->instance->uuid));
	number held = ledger_held(ledger, ledger_key(call->gpu->uuid));
	for (size_t i = 0; i < call->gpu->instance_count; i++)
		held += ledger_held(ledger, ledger_key(call->gpu->instances[i].uuid));
	return held;
}
