/*
 * The socket's directory: the first that can be used of $XDG_RUNTIME_DIR/vramscope,
 * /tmp/vramscope-<uid> and /tmp/vramscope-<uid>-<random>. Only its user can open it, by the rules of
 * docs/protocol.md. Its files are reached through the directory's descriptor, so that the
 * directory cannot be swapped meanwhile and its path may have any length.
 */
#define _GNU_SOURCE
#include "serve.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { BACKLOG = 16, BINDING_SECONDS = 10, MOST_TIDIED = 4096, MOST_LISTED = 65536, SERVED = -2 };

/* Returns field 22 of a process's stat file; 0: the file cannot be read. */
static unsigned long long start_of(const char *path)
{
	char stat[1024];
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = file < 0 ? -1 : read(file, stat, sizeof stat - 1);
	if (file >= 0)
		close(file);
	if (length <= 0)
		return 0;
	stat[length] = 0;
	const char *at = strrchr(stat, ')'); /* the name before it may contain any byte */
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

unsigned long long process_start(void)
{
	return start_of("/proc/self/stat");
}

/* 0: there is no such file. */
static int file_info(int directory, const char *name, struct stat *info)
{
	return syscall(SYS_newfstatat, directory, name, info, AT_SYMLINK_NOFOLLOW) == 0; /* a system call, as in descriptor_info */
}

/* A descriptor of a parent directory; -1: it cannot be opened, or is not safe. */
static int open_parent(const char *path)
{
	struct stat info;
	int parent = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (parent >= 0 && (!descriptor_info(parent, &info) || (info.st_uid != geteuid() && !(info.st_mode & S_ISVTX)))) {
		close(parent);
		parent = -1;
	}
	return parent;
}

static int open_directory(const char *parent_path, const char *name, int make)
{
	struct stat info;
	int parent = open_parent(parent_path);
	if (parent < 0)
		return -1;
	if (make)
		(void)mkdirat(parent, name, 0700); /* if there is no directory afterwards, openat fails */
	int directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	close(parent);
	if (directory >= 0 && (!descriptor_info(directory, &info) || info.st_uid != geteuid() || info.st_mode & 077)) {
		close(directory);
		directory = -1;
	}
	return directory;
}

static void reach(struct sockaddr_un *address, int directory, const char *name)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	/* /proc/self/fd is empty once the main thread has exited. */
	snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/task/%ld/fd/%d/%.48s", syscall(SYS_gettid), directory, name);
}

/* Whether this is a socket of our user on which no process listens. */
static int is_dead(int directory, const char *name)
{
	struct stat info;
	struct sockaddr_un address;
	if (!file_info(directory, name, &info) || !S_ISSOCK(info.st_mode) || info.st_uid != geteuid())
		return 0;
	int socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	reach(&address, directory, name);
	int refused = socket_ >= 0 && connect(socket_, (struct sockaddr *)&address, sizeof address) != 0 && errno == ECONNREFUSED;
	if (socket_ >= 0)
		close(socket_);
	return refused;
}

/* Whether this is the socket of a process that has exited. */
static int is_stale(int directory, const char *name)
{
	int pid, length = 0;
	unsigned long long start;
	char again[64], path[64];
	struct stat info;
	if (sscanf(name, "%9d-%20llu.sock%n", &pid, &start, &length) != 2 || pid <= 0)
		return 0;
	snprintf(again, sizeof again, "%d-%llu.sock", pid, start);
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	if (strcmp(again, name) != 0 || start_of(path) == start)
		return 0;
	/* The process may be in another pid namespace, or between bind and listen. */
	return file_info(directory, name, &info) && time(NULL) - info.st_mtime > BINDING_SECONDS &&
	       is_dead(directory, name);
}

static void tidy(int directory)
{
	int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
	if (!list && copy >= 0)
		close(copy);
	const struct dirent *entry;
	for (int seen = 0; list && seen < MOST_TIDIED && (entry = readdir(list)); seen++)
		if (is_stale(directory, entry->d_name))
			(void)unlinkat(directory, entry->d_name, 0); /* another process may have removed it */
	if (list)
		closedir(list);
}

/* A listening socket; -1: it failed; SERVED: another probe of this process listens there. */
static int listen_at(int directory, const char *name)
{
	struct sockaddr_un address;
	int failed = -1;
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener < 0)
		return -1;
	reach(&address, directory, name);
	int bound = bind(listener, (struct sockaddr *)&address, sizeof address) == 0;
	/* The name contains this pid: another probe in the process has bound it, or the program before an exec. */
	if (!bound && errno == EADDRINUSE) {
		if (!is_dead(directory, name))
			failed = SERVED;
		else if (unlinkat(directory, name, 0) == 0)
			bound = bind(listener, (struct sockaddr *)&address, sizeof address) == 0;
	}
	if (bound && fchmodat(directory, name, 0600, 0) == 0 && listen(listener, BACKLOG) == 0)
		return listener;
	close(listener);
	return failed;
}

/* 1: the address listens there; 0: the directory cannot be used; SERVED: as listen_at. */
static int bind_in(struct address *address, const char *parent, const char *name)
{
	struct stat info;
	int directory = open_directory(parent, name, 1);
	if (directory < 0)
		return 0;
	tidy(directory);
	int listener = listen_at(directory, address->name);
	if (listener < 0 || !file_info(directory, address->name, &info)) {
		if (listener >= 0)
			close(listener);
		close(directory);
		return listener == SERVED ? SERVED : 0;
	}
	snprintf(address->parent, sizeof address->parent, "%s", parent);
	snprintf(address->child, sizeof address->child, "%s", name);
	address->listener = descriptor_of(listener);
	address->inode = info.st_ino;
	close(directory);
	return 1;
}

void address_environment(struct address *address)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	int usable = runtime && *runtime == '/' && strlen(runtime) < sizeof address->runtime;
	snprintf(address->runtime, sizeof address->runtime, "%s", usable ? runtime : "");
}

/* Completes a prefix to the name of a directory in /tmp that only this user can open, and makes
 * one if there is none. */
static int complete(char *name, size_t size)
{
	size_t length = strlen(name);
	char path[64];
	struct stat info;
	DIR *list = opendir("/tmp");
	const struct dirent *entry;
	int found = 0;
	for (int seen = 0; list && !found && seen < MOST_LISTED && (entry = readdir(list)); seen++) {
		found = strncmp(entry->d_name, name, length) == 0 && strlen(entry->d_name) < size &&
			file_info(dirfd(list), entry->d_name, &info) && S_ISDIR(info.st_mode) &&
			info.st_uid == geteuid() && !(info.st_mode & 077);
		if (found)
			memcpy(name, entry->d_name, strlen(entry->d_name) + 1);
	}
	if (list)
		closedir(list);
	if (!found) {
		snprintf(path, sizeof path, "/tmp/%.40sXXXXXX", name);
		found = mkdtemp(path) != NULL;
		memcpy(name, path + strlen("/tmp/"), strlen(path + strlen("/tmp/")) + 1); /* 46 bytes at most, as size allows */
	}
	return found;
}

int address_bind(struct address *address)
{
	unsigned long long start = process_start();
	char name[sizeof address->child];
	if (!start)
		return 0;
	snprintf(address->name, sizeof address->name, "%d-%llu.sock", (int)getpid(), start);
	snprintf(name, sizeof name, "vramscope-%u", (unsigned int)geteuid());
	int bound = *address->runtime ? bind_in(address, address->runtime, "vramscope") : 0;
	if (!bound)
		bound = bind_in(address, "/tmp", name);
	snprintf(name, sizeof name, "vramscope-%u-", (unsigned int)geteuid());
	if (!bound && complete(name, sizeof name))
		bound = bind_in(address, "/tmp", name);
	return bound == 1;
}

/* The directory, if the name in it is still this socket's; -1: it is not. */
static int open_valid(const struct address *address)
{
	struct stat info;
	int directory = open_directory(address->parent, address->child, 0);
	if (directory >= 0 && (!file_info(directory, address->name, &info) || info.st_ino != address->inode)) {
		close(directory);
		directory = -1;
	}
	return directory;
}

int address_is_valid(const struct address *address)
{
	errno = 0;
	int directory = open_valid(address);
	if (directory >= 0)
		close(directory);
	/* Without a free descriptor the check is impossible: the address counts as valid. */
	return directory >= 0 || errno == EMFILE || errno == ENFILE || errno == ENOMEM;
}

void address_remove(struct address *address)
{
	int directory = open_valid(address);
	if (directory >= 0) {
		(void)unlinkat(directory, address->name, 0); /* if this fails, another probe tidies up */
		close(directory);
	}
	descriptor_close(&address->listener);
}
