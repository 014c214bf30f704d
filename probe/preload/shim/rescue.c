/*
 * Rescue: with VRAMSCOPE_RESCUE=1 an allocation that the driver refuses for lack of
 * memory waits while the daemon frees what other processes cache, and is then tried once
 * more. The program gets the memory, or the error that it would have had.
 *
 *   the call fails ── may it? ──→ {"cmd":"rescue","gpu":…,"bytes":…} ──→ daemon
 *                                          ↓ RESCUE_TIME at most
 *   the call again ←──────────────── {"ok":true,…}
 *        ↓
 *   {"cmd":"rescued","succeeded":…} ──→ daemon
 *
 * A program first frees what it caches itself: PyTorch does so after one failure, and
 * tries again. So only a repeated failure counts, except where nothing in the process
 * can cache.
 *
 * This runs on the program's thread. It takes no memory, makes no CUDA call, holds no
 * lock while it waits, and uses system calls past the C library's wrappers, which may
 * end the thread (pthread_cancel). Descriptors are checked before each use.
 */
#define _GNU_SOURCE
#include "rescue.h"
#include "server.h"

#include <errno.h>
#include <link.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long long big; /* as printf knows it */

enum {
	RESCUE_TIME = 2000,
	MOST_A_MINUTE = 10,
	MINUTE = 60 * 1000,
	/* A rescue that is older was left by longjmp, or is in a second call that hangs. */
	ABANDONED = 10 * 1000,
	PLACES = 3,
	ANSWER = 1024,
};

static struct {
	int wanted;                        /* VRAMSCOPE_RESCUE=1 */
	int open, caches, pooled;          /* accessed atomically */
	uint64_t under_way;                /* since when; 0: none is */
	uint64_t closed_until;             /* a rescue that brought nothing closes the door */
	uint64_t begun[MOST_A_MINUTE];     /* a ring */
	unsigned int next;                 /* in it */
	char places[PLACES][sizeof((struct sockaddr_un *)0)->sun_path];
	struct {
		uint64_t asked, succeeded, bytes, waited, time;
		int answer;
	} stats[DEVICES];
} rescues = { .caches = 1 };

__attribute__((constructor)) static void read_environment(void)
{
	const char *given = getenv("VRAMSCOPE_RESCUE");
	rescues.wanted = given && strcmp(given, "1") == 0;
}

void rescue_open(const char *runtime)
{
	unsigned int user = geteuid();
	if (!rescues.wanted)
		return;
	/* As daemon/socket/place.go has it; a path that does not fit is nobody's. */
	size_t size = sizeof rescues.places[0];
	snprintf(rescues.places[0], size, "/run/vramscope/daemon.sock");
	if (*runtime && snprintf(rescues.places[1], size, "%s/vramscope/daemon.sock", runtime) >= (int)size)
		rescues.places[1][0] = 0;
	else if (!*runtime)
		snprintf(rescues.places[1], size, "/run/user/%u/vramscope/daemon.sock", user);
	snprintf(rescues.places[2], size, "/tmp/vramscope-%u/daemon.sock", user);
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
	rescues.caches = 1;
}

void rescue_pooled(void)
{
	if (!__atomic_load_n(&rescues.pooled, __ATOMIC_RELAXED))
		__atomic_store_n(&rescues.pooled, 1, __ATOMIC_RELAXED);
}

static int can_cache(struct dl_phdr_info *object, size_t size, void *unused)
{
	/* Of PyTorch, TensorFlow, JAX and RMM; and whatever a Python program uses. */
	static const char *const names[] = { "libc10_cuda", "libtensorflow", "xla_cuda", "librmm", "python" };
	const char *name = object->dlpi_name && *object->dlpi_name ? object->dlpi_name : program_invocation_short_name;
	(void)size, (void)unused;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strstr(name, names[i]))
			return 1;
	return 0;
}

void rescue_prepare(void)
{
	if (!rescues.wanted)
		return;
	__atomic_store_n(&rescues.caches, dl_iterate_phdr(can_cache, NULL), __ATOMIC_RELAXED);
	for (int device = 0; device < DEVICES; device++)
		if (device_in_use(device))
			(void)gpu_of(device); /* remembers it, else the next time does */
}

/* Whether the process may take more from its own caches before it asks for others'. */
static int may_cache(void)
{
	return !serves() || __atomic_load_n(&rescues.caches, __ATOMIC_RELAXED) || __atomic_load_n(&rescues.pooled, __ATOMIC_RELAXED);
}

/* One at a time, and so many a minute. */
static int admitted(uint64_t now)
{
	uint64_t other = __atomic_load_n(&rescues.under_way, __ATOMIC_RELAXED);
	if ((other && now - other < ABANDONED) || now < __atomic_load_n(&rescues.closed_until, __ATOMIC_RELAXED) ||
	    !__atomic_compare_exchange_n(&rescues.under_way, &other, now, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return 0;
	/* From here on this thread alone. */
	uint64_t oldest = rescues.begun[rescues.next % MOST_A_MINUTE];
	if (oldest && now - oldest < MINUTE) {
		__atomic_store_n(&rescues.under_way, 0, __ATOMIC_RELEASE);
		return 0;
	}
	rescues.begun[rescues.next++ % MOST_A_MINUTE] = now;
	return 1;
}

static long left(const struct rescue *rescue)
{
	uint64_t waited = milliseconds() - rescue->began;
	return waited < RESCUE_TIME ? (long)(RESCUE_TIME - waited) : 0;
}

/* Connects to a daemon of root's or of this user, as daemon/socket/place.go does; 0: there is none. */
static int reach(struct rescue *rescue, const char *place)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct ucred peer = { .uid = (uid_t)-1 };
	unsigned int owner;
	socklen_t size = sizeof peer;
	if (!*place || !owner_alone(place, &owner))
		return 0;
	memcpy(address.sun_path, place, sizeof address.sun_path);
	rescue->daemon = descriptor_of((int)syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (rescue->daemon.number < 0)
		return 0;
	/* A full queue is a busy daemon's: EAGAIN. */
	if (syscall(SYS_connect, rescue->daemon.number, &address, sizeof address) == 0 &&
	    syscall(SYS_getsockopt, rescue->daemon.number, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	    peer.uid == owner)
		return 1;
	descriptor_close(&rescue->daemon);
	return 0;
}

static int transmit(const struct rescue *rescue, const char *line, int length)
{
	/* A new connection's buffer has room for it. */
	return descriptor_is(&rescue->daemon) &&
	       syscall(SYS_sendto, rescue->daemon.number, line, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0) == length;
}

/* Whether the daemon answers in time that there is room. */
static int answered(const struct rescue *rescue)
{
	char line[ANSWER];
	size_t have = 0;
	long time;
	while ((time = left(rescue)) > 0 && descriptor_is(&rescue->daemon)) {
		struct pollfd wanted = { .fd = rescue->daemon.number, .events = POLLIN };
		struct timespec most = { .tv_sec = time / 1000, .tv_nsec = time % 1000 * 1000000 };
		long ready = syscall(SYS_ppoll, &wanted, 1, &most, NULL, 0);
		if (ready < 0 && errno != EINTR)
			return 0;
		if (ready <= 0)
			continue;
		if (!descriptor_is(&rescue->daemon))
			return 0;
		long got = syscall(SYS_recvfrom, rescue->daemon.number, line + have, sizeof line - 1 - have, MSG_DONTWAIT, NULL, NULL);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got <= 0)
			return 0;
		have += (size_t)got;
		line[have] = 0;
		/* A quote within a JSON string is escaped: this is a field. */
		if (strchr(line, '\n'))
			return strstr(line, "\"ok\":true") != NULL;
		if (have == sizeof line - 1)
			return 0;
	}
	return 0;
}

static int ask(struct rescue *rescue, const char *uuid)
{
	char line[256];
	int length = snprintf(line, sizeof line, "{\"id\":1,\"cmd\":\"rescue\",\"gpu\":\"%s\",\"bytes\":%llu}\n", uuid,
	                      (big)rescue->bytes);
	/* Root's may have no guard that acts, or one for root's processes only. */
	for (int i = 0; i < PLACES && left(rescue) > 0; i++) {
		if (!reach(rescue, rescues.places[i]))
			continue;
		if (transmit(rescue, line, length) && answered(rescue))
			return 1;
		descriptor_close(&rescue->daemon);
	}
	return 0;
}

/* Whatever came of it. */
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
	__atomic_store_n(&rescues.under_way, 0, __ATOMIC_RELEASE);
}

int rescue_begin(struct rescue *rescue, int outer, int device, uint64_t size)
{
	if (!outer || !__atomic_load_n(&rescues.open, __ATOMIC_ACQUIRE) || device < 0 || device >= DEVICES || captures_running() || (may_cache() && !failure_repeated((uint8_t)device, size)))
		return 0;
	char uuid[UUID_SIZE];
	if (!gpu_uuid(device, uuid))
		return 0; /* the serving thread has not seen the device yet */
	int before = errno;
	*rescue = (struct rescue){ .daemon = { .number = -1 }, .began = milliseconds(), .bytes = size, .device = device };
	int wanted = 0;
	if (admitted(rescue->began)) {
		/* A child that was made without atfork handlers is another process. */
		wanted = !sealed(&server.main_thread) && getpid() == server.pid && ask(rescue, uuid) &&
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
	(void)transmit(rescue, line, length); /* a daemon that is gone misses it */
	descriptor_close(&rescue->daemon);
	finish(rescue, answer);
	errno = before;
	return answer;
}
