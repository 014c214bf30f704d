/* How a rescue asks the daemon. This runs on the program's thread. So system calls bypass the C
 * library's wrappers, which may end the thread (pthread_cancel). Descriptors are checked before
 * each use, because the program may close them and use their numbers for its own files.
 */
#define _GNU_SOURCE
#include "rescue.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
	RESCUE_TIME = 2000,
	PLACES = 3,
	ANSWER = 1024,
	AGAIN = 10 * 1000000, /* nanoseconds between two attempts to connect */
};

static char places[PLACES][sizeof((struct sockaddr_un *)0)->sun_path];

void ask_prepare(const char *runtime)
{
	unsigned int user = geteuid();
	/* The places of daemon/socket/place.go. A path that does not fit is no daemon's. */
	size_t size = sizeof places[0];
	snprintf(places[0], size, "/run/vramscope/daemon.sock");
	if (*runtime && snprintf(places[1], size, "%s/vramscope/daemon.sock", runtime) >= (int)size)
		places[1][0] = 0;
	else if (!*runtime)
		snprintf(places[1], size, "/run/user/%u/vramscope/daemon.sock", user);
	snprintf(places[2], size, "/tmp/vramscope-%u/daemon.sock", user);
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
	long answer;
	/* The queue may be full: the daemon is busy, or others flood it. */
	while ((answer = syscall(SYS_connect, rescue->daemon.number, &address, sizeof address)) != 0 && errno == EAGAIN &&
	       left(rescue) > RESCUE_TIME / 2 && descriptor_is(&rescue->daemon))
		(void)syscall(SYS_ppoll, NULL, 0, &(struct timespec){ .tv_nsec = AGAIN }, NULL, 0);
	if (answer == 0 && syscall(SYS_getsockopt, rescue->daemon.number, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	    peer.uid == owner)
		return 1;
	descriptor_close(&rescue->daemon);
	return 0;
}

static int transmit(const struct rescue *rescue, const char *line, int length)
{
	/* A new connection's buffer has room for the line. */
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
		/* A quote within a JSON string is escaped: "ok" can only be a field. */
		if (strchr(line, '\n'))
			return strstr(line, "\"ok\":true") != NULL;
		if (have == sizeof line - 1)
			return 0;
	}
	return 0;
}

void ask_tell(const struct rescue *rescue, const char *line, int length)
{
	(void)transmit(rescue, line, length); /* a daemon that is gone misses it */
}

/* Asks for the whole amount; 0: no room was made. */
static int ask_all(struct rescue *rescue, const char *uuid)
{
	char line[256];
	int length = snprintf(line, sizeof line, "{\"id\":1,\"cmd\":\"rescue\",\"gpu\":\"%s\",\"bytes\":%llu}\n", uuid,
	                      (unsigned long long)rescue->bytes);
	/* Root's daemon may have no guard that acts, or one for root's processes only: then the user's is asked. */
	for (int i = 0; i < PLACES && left(rescue) > 0; i++) {
		if (!reach(rescue, places[i]))
			continue;
		if (transmit(rescue, line, length) && answered(rescue))
			return 1;
		descriptor_close(&rescue->daemon);
	}
	return 0;
}

int ask_daemon(struct rescue *rescue, const char *uuid)
{
	if (ask_all(rescue, uuid))
		return 1;
	if (rescue->bytes == rescue->size)
		return 0;
	rescue->bytes = rescue->size; /* the larger amount was a guess */
	return ask_all(rescue, uuid);
}
