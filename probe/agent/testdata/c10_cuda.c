/*
 * The locks of PyTorch's own allocator, where libc10_cuda.so has them, for
 * test_busy.py. (c10/cuda/CUDACachingAllocator.cpp: NativeCachingAllocator and
 * DeviceCachingAllocator.)
 *
 *   allocator → struct native { …, devices } → struct device * [2] → struct device { lock, … }
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

struct device {
	pthread_mutex_t lock; /* std::recursive_mutex */
	long long stats[100];
};

struct device first, second;
static struct device *devices[] = { &first, &second };

static struct native {
	void *table;
	pthread_mutex_t shards[67]; /* no recursive ones */
	void **others[9]; /* vectors of other things */
	struct device **devices, **devices_end, **devices_capacity;
	char rest[32 << 10];
} native;

struct native *_ZN3c104cuda20CUDACachingAllocator9allocatorE = &native;

static atomic_int wanted, held;

__attribute__((constructor)) static void make(void)
{
	pthread_mutexattr_t recursive;
	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	for (int i = 0; i < 2; i++)
		pthread_mutex_init(&devices[i]->lock, &recursive);
	native.devices = devices;
	native.devices_end = native.devices_capacity = devices + 2;
	static void *numbers[] = { &first.stats, &second.stats };
	native.others[1] = numbers;
	native.others[2] = native.others[3] = numbers + 2;
}

/* A slow cudaMalloc of a thread without the GIL: holds a device's lock until let_go. */
void hold(int device)
{
	pthread_mutex_lock(&devices[device]->lock);
	wanted = 1;
	held = 1;
	while (wanted)
		usleep(1000);
	held = 0;
	pthread_mutex_unlock(&devices[device]->lock);
}

int holds(void)
{
	return held;
}

void let_go(void)
{
	wanted = 0;
}

/* Takes a device's lock, as memory_stats and _snapshot do with the GIL. */
void enter(int device)
{
	pthread_mutex_lock(&devices[device]->lock);
	pthread_mutex_unlock(&devices[device]->lock);
}
