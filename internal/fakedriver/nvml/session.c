/*
 * Init, shutdown, and the GPUs of a process. A process sees the GPUs that existed when it
 * initialised. A GPU that disappears later is lost, and a GPU that is added later is not seen
 * until the next initialisation. A new driver.generation in the file is a reload of the driver:
 * calls answer UNINITIALIZED until the process has shut down and initialised again.
 */
#include "call.h"

#include <pthread.h>
#include <string.h>

#define MOST_GPUS 256

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* Guarded by mutex. */
static unsigned int references;
static number generation;
static size_t attached_count;
static char attached[MOST_GPUS][TEXT_SIZE];

static void attach(const struct state *state)
{
	generation = state->driver.generation;
	attached_count = 0;
	for (size_t i = 0; i < state->gpu_count && i < MOST_GPUS; i++)
		strcpy(attached[attached_count++], state->gpus[i].uuid);
}

static nvmlReturn_t initialise(const char *name)
{
	struct call call;
	nvmlReturn_t answer = setup_call_begin(&call, name);
	if (answer == NVML_SUCCESS && call.state->driver.init != ABSENT)
		answer = (nvmlReturn_t)call.state->driver.init;
	if (answer == NVML_SUCCESS) {
		pthread_mutex_lock(&mutex);
		if (references++ == 0)
			attach(call.state);
		pthread_mutex_unlock(&mutex);
	}
	call_end(&call);
	return answer;
}

nvmlReturn_t nvmlInit(void)
{
	return initialise("nvmlInit");
}

#ifdef HAVE_V2
nvmlReturn_t nvmlInit_v2(void)
{
	return initialise("nvmlInit_v2");
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
	(void)flags;
	return initialise("nvmlInitWithFlags");
}
#endif

/*
 * Shutting down works after a reload and without a driver, too: a program must be able
 * to end its old session.
 */
nvmlReturn_t nvmlShutdown(void)
{
	struct call call;
	nvmlReturn_t answer = setup_call_begin(&call, "nvmlShutdown");
	if (!call.state)
		answer = NVML_SUCCESS;
	call_end(&call);
	if (answer != NVML_SUCCESS)
		return answer;
	pthread_mutex_lock(&mutex);
	if (references == 0)
		answer = NVML_ERROR_UNINITIALIZED;
	else
		references--;
	pthread_mutex_unlock(&mutex);
	return answer;
}

int session_alive(const struct state *state)
{
	pthread_mutex_lock(&mutex);
	int alive = references > 0 && generation == state->driver.generation;
	pthread_mutex_unlock(&mutex);
	return alive;
}

size_t session_gpu_count(void)
{
	pthread_mutex_lock(&mutex);
	size_t count = attached_count;
	pthread_mutex_unlock(&mutex);
	return count;
}

const struct gpu *session_gpu(const struct state *state, size_t index)
{
	char uuid[TEXT_SIZE] = "";
	pthread_mutex_lock(&mutex);
	if (index < attached_count)
		strcpy(uuid, attached[index]);
	pthread_mutex_unlock(&mutex);
	for (size_t i = 0; i < state->gpu_count; i++)
		if (strcmp(state->gpus[i].uuid, uuid) == 0)
			return &state->gpus[i];
	return NULL;
}

unsigned int session_index(const struct gpu *gpu)
{
	unsigned int index = NO_INSTANCE;
	pthread_mutex_lock(&mutex);
	for (size_t i = 0; i < attached_count && index == NO_INSTANCE; i++)
		if (strcmp(attached[i], gpu->uuid) == 0)
			index = (unsigned int)i;
	pthread_mutex_unlock(&mutex);
	return index;
}
