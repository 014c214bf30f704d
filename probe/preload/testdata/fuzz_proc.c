/*
 * Names in the socket's directory, and files of /proc, parts of which a process can choose.
 * The kernel's calls are replaced: every file has the input's content.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const uint8_t *content;
static size_t content_size, place;
static int opened;

static int fake_open(const char *path, int flags, ...)
{
	(void)flags;
	CHECK(strlen(path) < 64);
	opened++;
	place = 0;
	return 3;
}

static int fake_close(int file)
{
	(void)file;
	opened--;
	return 0;
}

static ssize_t fake_read(int file, void *into, size_t size)
{
	(void)file;
	size_t length = size < content_size - place ? size : content_size - place;
	if (length)
		memcpy(into, content + place, length);
	place += length;
	return (ssize_t)length;
}

static long fake_syscall(long number, ...)
{
	va_list arguments;
	va_start(arguments, number);
	long answer = -1;
	if (number == SYS_openat || number == SYS_gettid)
		answer = 3;
	if (number == SYS_pread64) {
		(void)va_arg(arguments, int);
		char *into = va_arg(arguments, char *);
		size_t size = va_arg(arguments, size_t), at = (size_t)va_arg(arguments, long);
		size_t length = at < content_size ? content_size - at : 0;
		length = length < size ? length : size;
		length = length < 100 ? length : 100; /* in pieces */
		if (length)
			memcpy(into, content + at, length);
		answer = (long)length;
	}
	va_end(arguments);
	return answer;
}

#define open fake_open
#define close fake_close
#define read fake_read
#define syscall fake_syscall
#define bind_in static_bind_in
#include "../shim/address.c"
#define open_file status_open_file
#include "../shim/status.c"

struct descriptor descriptor_of(int number)
{
	return (struct descriptor){ .number = number };
}

void descriptor_close(struct descriptor *descriptor)
{
	descriptor->number = -1;
}

int descriptor_info(int number, struct stat *info)
{
	(void)number, (void)info;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[256];
	size_t length = size && data[0] < size - 1 ? data[0] : 0; /* of the name, as long as a directory's may be */
	struct main_thread thread = { { .number = 3 }, { .number = 3 } };
	struct sockaddr_un at;
	if (size == 0)
		return 0;
	memcpy(name, data + 1, length);
	name[length] = 0;
	content = data + 1 + length;
	content_size = size - 1 - length;
	CHECK(!is_stale(4, name)); /* there is no file of that name */
	reach(&at, 2147483647, name);
	CHECK(memchr(at.sun_path, 0, sizeof at.sun_path));
	(void)start_of("/proc/self/stat");
	CHECK(opened == 0);
	int filtered = filters_of("/proc/self/status");
	CHECK(filtered >= -1);
	(void)program_now(&thread, 1);
	(void)exit_code(&thread);
	return 0;
}
