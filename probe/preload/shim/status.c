/*
 * Reads from /proc how many seccomp filters the process has, and whether all threads of the
 * program have exited.
 *
 * A filter may kill the process for a system call that its program never makes. So nothing is
 * started in a process with more filters than the command was started under (docs/protocol.md).
 * A filter may also be added later, and reach our threads if it is for all threads
 * (SECCOMP_FILTER_FLAG_TSYNC). So our threads read the main thread's status after each wait, and
 * wait forever if there are more filters. The reading takes only pread64, on a descriptor that was
 * opened before. Meanwhile the descriptor may have become the program's own file; pread64 neither
 * moves the file's position nor takes anything from it.
 *
 * A program whose main thread has called pthread_exit or SYS_exit ends with its last
 * thread, which must not be ours. Its exit status is that of its last thread since
 * Linux 5.17, that of its main thread before.
 */
#define _GNU_SOURCE
#include "serve.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A status file, whose list of groups may be long, or a stat file. */
typedef char contents[64 << 10];
static contents common; /* guarded by server_loop */

/* The filters that the process may have; -1: as many as process 1. */
static int expected;

/* Bypasses the wrappers of other preloaded libraries: those of sanitizers are not ready in a constructor. */
static int open_file(const char *path)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
}

/* The number behind "\nNAME:\t"; -1: there is none. */
static int number(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	int sum = 0;
	if (!at)
		return -1;
	for (at += strlen(name); *at >= '0' && *at <= '9' && sum < 1000000; at++) /* the file may be the program's own */
		sum = sum * 10 + (*at - '0');
	return sum;
}

static void read_file(int file, contents text)
{
	size_t used = 0;
	long length;
	while (used < sizeof(contents) - 1 && (length = syscall(SYS_pread64, file, text + used, sizeof(contents) - 1 - used, (long)used)) > 0)
		used += (size_t)length;
	text[used] = 0;
}

/* Strict mode counts as more than any number of filters. Linux before 5.9 does not count filters. */
static int filters(const char *text)
{
	int mode = number(text, "\nSeccomp:\t"), count = number(text, "\nSeccomp_filters:\t");
	return mode <= 0 ? 0 : mode == 1 ? __INT_MAX__ : count >= 0 ? count : 1;
}

static int filters_of(const char *path)
{
	int file = open_file(path), count = -1;
	if (file < 0)
		return -1;
	read_file(file, common);
	if (number(common, "\nThreads:\t") > 0)
		count = filters(common);
	(void)syscall(SYS_close, file);
	return count;
}

/* Runs before the program's own code, which may add filters. A file takes 50 µs to read, so process 1's is read only when it is needed. */
__attribute__((constructor)) static void expect_filters(void)
{
	const char *given = getenv("VRAMSCOPE_SECCOMP_FILTERS");
	if (given && *given) {
		for (; *given >= '0' && *given <= '9' && expected < 1000; given++)
			expected = expected * 10 + (*given - '0');
		return;
	}
	int other = getpid() != 1 && syscall(SYS_faccessat, AT_FDCWD, "/proc/1/status", R_OK) == 0;
	expected = other ? -1 : filters_of("/proc/self/status");
}

int may_serve(void)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/self/task/%ld/status", syscall(SYS_gettid));
	if (expected < 0)
		expected = filters_of("/proc/1/status");
	int count = filters_of(path);
	return count >= 0 && count <= expected;
}

void main_thread_open(struct main_thread *thread)
{
	descriptor_close(&thread->status);
	descriptor_close(&thread->stat);
	thread->status = descriptor_of(open_file("/proc/self/status"));
	thread->stat = descriptor_of(open_file("/proc/self/stat"));
}

enum program program_now(const struct main_thread *thread, int own_threads)
{
	read_file(thread->status.number, common);
	int threads = number(common, "\nThreads:\t");
	if (threads <= 0)
		return UNKNOWN;
	if (threads <= own_threads + 1 && strstr(common, "\nState:\tZ")) /* the main thread is still counted */
		return ENDED;
	return filters(common) > expected ? SEALED : RUNNING;
}

int sealed(const struct main_thread *thread)
{
	static contents text;
	read_file(thread->status.number, text);
	return number(text, "\nThreads:\t") <= 0 || filters(text) > expected;
}

/* The last field of a stat file, as in wait's status; 0 also if it cannot be read. */
static int exit_code(const struct main_thread *thread)
{
	read_file(thread->stat.number, common);
	const char *last = strrchr(common, ' ');
	return last && strchr(common, ')') ? atoi(last + 1) : 0;
}

void end_program(const struct main_thread *thread)
{
	int code = exit_code(thread), number = code & 0x7f;
	sigset_t all;
	if (number) {
		/* A filter, or strict mode, has killed the main thread. The process has gone on, because it
		 * had other threads. */
		sigfillset(&all);
		(void)signal(number, SIG_DFL);
		(void)sigprocmask(SIG_UNBLOCK, &all, NULL);
		(void)kill(getpid(), number);
	}
	if (code >> 8)
		(void)syscall(SYS_exit, code >> 8 & 0xff); /* not pthread_exit: no handler is due */
}
