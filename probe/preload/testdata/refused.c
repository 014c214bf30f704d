/*
 * A program whose allocations may fail. It reads lines and prints each call's answer.
 * For allocations and frees it also prints errno after them, how long they took in
 * milliseconds, and the number of open descriptors.
 *
 *   alloc|pitch|managed|create|async|pool BYTES [TIMES [THREADS]]
 *   release               free what was allocated last
 *   capture | captured    begin and end a capture
 *   capturing             a thread begins a capture in 100 ms
 *   closing               a thread closes all descriptors above 2 in 100 ms, and opens others
 *   seal                  the main thread gets a filter that kills for a rescue's calls
 *   signals               an interval timer interrupts all waits
 */
#define _GNU_SOURCE
#include "api.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static CUcontext context;
static CUstream stream;
static CUmemoryPool pool;

static struct {
	char how[16];
	size_t bytes;
	int times, answers[1024], error;
	pthread_mutex_t lock;
} work = { .lock = PTHREAD_MUTEX_INITIALIZER };

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static int descriptors(void)
{
	int count = 0;
	DIR *list = opendir("/proc/self/fd");
	while (list && readdir(list))
		count++;
	if (list)
		closedir(list);
	return count;
}

static int try(void)
{
	static CUdeviceptr pointer;
	size_t pitch;
	CUmemGenericAllocationHandle handle;
	CUmemAllocationProp properties = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	if (!strcmp(work.how, "release"))
		return cuMemFree_v2(pointer);
	if (!strcmp(work.how, "pitch"))
		return cuMemAllocPitch_v2(&pointer, &pitch, work.bytes >> 16, 1 << 16, 16);
	if (!strcmp(work.how, "managed"))
		return cuMemAllocManaged(&pointer, work.bytes, 1);
	if (!strcmp(work.how, "create"))
		return cuMemCreate(&handle, work.bytes, &properties, 0);
	if (!strcmp(work.how, "async"))
		return cuMemAllocAsync(&pointer, work.bytes, stream);
	if (!strcmp(work.how, "pool"))
		return cuMemAllocFromPoolAsync(&pointer, work.bytes, pool, stream);
	return cuMemAlloc_v2(&pointer, work.bytes);
}

static void *all_times(void *unused)
{
	for (int i = 0; i < work.times; i++) {
		errno = 77;
		int answer = try();
		pthread_mutex_lock(&work.lock);
		work.answers[answer < 1024 ? answer : 1023]++;
		work.error = errno;
		pthread_mutex_unlock(&work.lock);
	}
	return unused;
}

static void *in_thread(void *unused)
{
	cuCtxSetCurrent(context);
	return all_times(unused);
}

static void allocate(const char *line)
{
	int threads = 1;
	double began = now();
	pthread_t made[64];
	memset(work.answers, 0, sizeof work.answers);
	work.times = 1;
	sscanf(line, "%15s %zu %d %d", work.how, &work.bytes, &work.times, &threads);
	if (threads == 1)
		all_times(NULL); /* on the main thread */
	for (int i = 0; threads > 1 && i < threads; i++)
		pthread_create(&made[i], NULL, in_thread, NULL);
	for (int i = 0; threads > 1 && i < threads; i++)
		pthread_join(made[i], NULL);
	for (int i = 0; i < 1024; i++)
		if (work.answers[i])
			printf("%d×%d ", work.answers[i], i);
	printf("errno %d ms %.0f descriptors %d\n", work.error, now() - began, descriptors());
}

static void *capture(void *unused)
{
	usleep(100 * 1000);
	cuCtxSetCurrent(context);
	cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
	return unused;
}

static void *close_all(void *unused)
{
	usleep(100 * 1000);
	for (int i = 3; i < 1024; i++)
		close(i);
	for (int i = 3; i < 64; i++)
		(void)!dup(2); /* the program's own files have the numbers now */
	return unused;
}

/* Installs a filter that kills for a rescue's system calls, except those that read the main thread's status. */
static int seal(void)
{
	static const unsigned int denied[] = { SYS_socket, SYS_connect, SYS_ppoll, SYS_recvfrom, SYS_sendto, SYS_getsockopt };
	struct sock_filter code[32] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
	unsigned short count = 1;
	for (size_t i = 0; i < sizeof denied / sizeof *denied; i++) {
		code[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, denied[i], 0, 1);
		code[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	}
	code[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { .len = count, .filter = code };
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) | prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void nothing(int number)
{
	(void)number;
}

/* As NVIDIA's runtime does: the context is current, by a handle from a table, before it is retained. */
static void make_current(void)
{
	static const unsigned char runtime[16] = { 0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
		                                   0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9 };
	const void *table;
	cuGetExportTable(&table, (const CUuuid *)runtime);
	((CUresult (*const *)(CUcontext *, CUdevice))table)[2](&context, 0);
	cuCtxSetCurrent(context);
	cuDevicePrimaryCtxRetain(&context, 0);
}

int main(void)
{
	char line[256];
	pthread_t thread;
	CUgraph graph;
	CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	setvbuf(stdout, NULL, _IOLBF, 0);
	cuInit(0);
	make_current();
	cuStreamCreate(&stream, 0);
	cuMemPoolCreate(&pool, &properties);
	printf("ready\n");
	while (fgets(line, sizeof line, stdin) || (ferror(stdin) && errno == EINTR)) {
		if (ferror(stdin)) {
			clearerr(stdin); /* the timer has interrupted the read */
		} else if (!strncmp(line, "captured", 8)) {
			printf("%d\n", cuStreamEndCapture(stream, &graph));
		} else if (!strncmp(line, "capturing", 9)) {
			printf("%d\n", pthread_create(&thread, NULL, capture, NULL));
		} else if (!strncmp(line, "capture", 7)) {
			printf("%d\n", cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
		} else if (!strncmp(line, "closing", 7)) {
			printf("%d\n", pthread_create(&thread, NULL, close_all, NULL));
		} else if (!strncmp(line, "seal", 4)) {
			printf("%d\n", seal());
		} else if (!strncmp(line, "signals", 7)) {
			struct sigaction action = { .sa_handler = nothing }; /* no SA_RESTART */
			struct itimerval often = { { 0, 3000 }, { 0, 3000 } };
			printf("%d\n", sigaction(SIGALRM, &action, NULL) | setitimer(ITIMER_REAL, &often, NULL));
		} else {
			allocate(line);
		}
	}
	exit(7);
}
