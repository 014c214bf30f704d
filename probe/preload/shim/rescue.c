/*
 * Rescue: with VRAMSCOPE_RESCUE=1 an allocation that the driver refuses for lack of
 * memory waits while the daemon frees what other processes cache, and is then tried once
 * more. The program gets the memory, or the error that it would have had.
 *
 *   the call fails ── may it? ──→ {"cmd":"rescue","gpu":…,"bytes":…} ──→ daemon
 *                                          ↓ two seconds at most
 *   the call again ←──────────────── {"ok":true,…}
 *        ↓
 *   {"cmd":"rescued","succeeded":…} ──→ daemon
 *
 * A program first uses up its own means: means.c.
 *
 * This runs on the program's thread. It takes no memory, makes no CUDA call, and holds no
 * lock while it waits.
 */
#define _GNU_SOURCE
#include "rescue.h"
#include "server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long long big; /* for %llu */

enum {
	MOST_A_MINUTE = 10,
	MINUTE = 60 * 1000,
	SECOND = 1000,
	/* A rescue older than this was left by longjmp, or its second call hangs. */
	ABANDONED = 10 * 1000,
	/* The largest piece, if a library puts memory together from pieces: those of PyTorch's
	 * expandable segments have 20 MiB. */
	PIECE = 32 << 20,
};

static struct {
	int wanted;                        /* VRAMSCOPE_RESCUE=1 */
	int open;                          /* accessed atomically */
	uint64_t under_way;                /* since when; 0: none is */
	uint64_t closed_until;             /* no rescue before this time, because one has failed */
	uint64_t begun[MOST_A_MINUTE];     /* a ring */
	unsigned int next;                 /* the next place in begun */
	/* The newest rescue of a piece that succeeded. Accessed atomically. */
	struct {
		uint64_t size, asked, time;
		int device;
	} piece;
	struct {
		uint64_t asked, succeeded, bytes, waited, time;
		int answer;
	} stats[DEVICES];
} rescues;

__attribute__((constructor)) static void read_environment(void)
{
	const char *given = getenv("VRAMSCOPE_RESCUE");
	rescues.wanted = given && strcmp(given, "1") == 0;
}

void rescue_open(const char *runtime)
{
	if (!rescues.wanted)
		return;
	ask_prepare(runtime);
	__atomic_store_n(&rescues.open, 1, __ATOMIC_RELEASE);
}

void rescue_close(void)
{
	__atomic_store_n(&rescues.open, 0, __ATOMIC_RELEASE);
}

void rescue_reset(void)
{
	int wanted = rescues.wanted;
	memset(&rescues, 0, sizeof rescues);
	rescues.wanted = wanted;
	means_reset();
}

void rescue_prepare(void)
{
	if (!rescues.wanted)
		return;
	means_prepare();
	for (int device = 0; device < DEVICES; device++)
		if (device_in_use(device))
			(void)gpu_of(device); /* remembers the device's UUID; a later call tries again if this fails */
}

/* One rescue at a time, and MOST_A_MINUTE a minute. */
static int admitted(uint64_t now)
{
	uint64_t other = __atomic_load_n(&rescues.under_way, __ATOMIC_RELAXED);
	if ((other && now - other < ABANDONED) || now < __atomic_load_n(&rescues.closed_until, __ATOMIC_RELAXED) ||
	    !__atomic_compare_exchange_n(&rescues.under_way, &other, now, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return 0;
	/* Only one thread at a time gets past here. */
	uint64_t oldest = rescues.begun[rescues.next % MOST_A_MINUTE];
	if (oldest && now - oldest < MINUTE) {
		__atomic_store_n(&rescues.under_way, 0, __ATOMIC_RELEASE);
		return 0;
	}
	rescues.begun[rescues.next++ % MOST_A_MINUTE] = now;
	return 1;
}

/* Returns what the previous rescue asked for if the program continues piece by piece, otherwise 0.
 * How much such a program needs in all is not known. */
static uint64_t asked_before(int device, uint64_t size, uint64_t now)
{
	if (size != __atomic_load_n(&rescues.piece.size, __ATOMIC_RELAXED) ||
	    device != __atomic_load_n(&rescues.piece.device, __ATOMIC_RELAXED) ||
	    now - __atomic_load_n(&rescues.piece.time, __ATOMIC_RELAXED) >= SECOND)
		return 0;
	return __atomic_load_n(&rescues.piece.asked, __ATOMIC_RELAXED);
}

/* Ends a rescue, whether it succeeded or not. */
static void finish(struct rescue *rescue, CUresult answer)
{
	struct timespec time;
	uint64_t now = milliseconds();
	clock_gettime(CLOCK_REALTIME, &time);
	__typeof__(rescues.stats[0]) *stats = &rescues.stats[rescue->device];
	__atomic_add_fetch(&stats->asked, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&stats->succeeded, answer == CUDA_SUCCESS, __ATOMIC_RELAXED);
	__atomic_store_n(&stats->bytes, rescue->bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&stats->waited, now - rescue->began, __ATOMIC_RELAXED);
	__atomic_store_n(&stats->time, (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec, __ATOMIC_RELAXED);
	__atomic_store_n(&stats->answer, answer, __ATOMIC_RELAXED);
	if (answer != CUDA_SUCCESS)
		__atomic_store_n(&rescues.closed_until, now + MINUTE, __ATOMIC_RELAXED);
	__atomic_store_n(&rescues.piece.size, answer == CUDA_SUCCESS && rescue->size <= PIECE ? rescue->size : 0, __ATOMIC_RELAXED);
	__atomic_store_n(&rescues.piece.device, rescue->device, __ATOMIC_RELAXED);
	__atomic_store_n(&rescues.piece.asked, rescue->bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&rescues.piece.time, now, __ATOMIC_RELAXED);
	__atomic_store_n(&rescues.under_way, 0, __ATOMIC_RELEASE);
}

int rescue_begin(struct rescue *rescue, int outer, int device, uint64_t size, enum api api)
{
	if (!outer || !__atomic_load_n(&rescues.open, __ATOMIC_ACQUIRE) || device < 0 || device >= DEVICES || captures_running())
		return 0;
	uint64_t now = milliseconds(), before_that = api == API_CREATE ? asked_before(device, size, now) : 0;
	if (!before_that && !means_used_up(device, size, api))
		return 0;
	char uuid[UUID_SIZE];
	if (!gpu_uuid(device, uuid))
		return 0; /* the serving thread has not seen the device yet */
	int before = errno;
	*rescue = (struct rescue){ .daemon = { .number = -1 }, .began = now, .size = size, .device = device };
	rescue->bytes = before_that ? 4 * before_that : size;
	int wanted = 0;
	if (admitted(rescue->began)) {
		/* A child that was made without atfork handlers is another process. */
		wanted = !sealed(&server.main_thread) && getpid() == server.pid && ask_daemon(rescue, uuid) &&
		         __atomic_load_n(&rescues.open, __ATOMIC_ACQUIRE) && !captures_running();
		if (!wanted) {
			descriptor_close(&rescue->daemon);
			finish(rescue, CUDA_ERROR_OUT_OF_MEMORY);
		}
	}
	errno = before;
	return wanted;
}

void rescue_report(struct text *text, int device)
{
	const __typeof__(rescues.stats[0]) *stats = &rescues.stats[device];
	uint64_t asked = __atomic_load_n(&stats->asked, __ATOMIC_RELAXED);
	if (!asked)
		return;
	text_add(text, ",\"rescues\":{\"asked\":%llu,\"succeeded\":%llu,\"last\":{\"time_ns\":%llu,\"bytes\":%llu,\"waited_ms\":%llu,\"succeeded\":%s}}",
	         (big)asked, (big)__atomic_load_n(&stats->succeeded, __ATOMIC_RELAXED), (big)__atomic_load_n(&stats->time, __ATOMIC_RELAXED),
	         (big)__atomic_load_n(&stats->bytes, __ATOMIC_RELAXED), (big)__atomic_load_n(&stats->waited, __ATOMIC_RELAXED),
	         __atomic_load_n(&stats->answer, __ATOMIC_RELAXED) == CUDA_SUCCESS ? "true" : "false");
}

CUresult rescue_end(struct rescue *rescue, CUresult answer)
{
	int before = errno;
	char line[128];
	int length = snprintf(line, sizeof line, "{\"id\":2,\"cmd\":\"rescued\",\"succeeded\":%s,\"waited_ms\":%llu}\n",
	                      answer == CUDA_SUCCESS ? "true" : "false", (big)(milliseconds() - rescue->began));
	ask_tell(rescue, line, length);
	descriptor_close(&rescue->daemon);
	finish(rescue, answer);
	errno = before;
	return answer;
}
