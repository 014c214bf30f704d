#define _GNU_SOURCE
#include "serve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int descriptor_info(int number, struct stat *info)
{
	return syscall(SYS_fstat, number, info) == 0; /* glibc exports fstat itself only since 2.33 */
}

struct descriptor descriptor_of(int number)
{
	struct stat info;
	if (number < 0 || !descriptor_info(number, &info))
		return (struct descriptor){ .number = -1 };
	return (struct descriptor){ .number = number, .device = info.st_dev, .inode = info.st_ino };
}

int descriptor_is(const struct descriptor *descriptor)
{
	struct stat info;
	int before = errno;
	int same = descriptor->number >= 0 && descriptor_info(descriptor->number, &info) && info.st_dev == descriptor->device &&
	           info.st_ino == descriptor->inode;
	errno = before;
	return same;
}

int descriptor_listens(const struct descriptor *descriptor)
{
	int listens = 0, before = errno;
	socklen_t size = sizeof listens;
	int is_socket = descriptor->number >= 0 && getsockopt(descriptor->number, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0;
	errno = before;
	return is_socket && listens && descriptor_is(descriptor);
}

void descriptor_close(struct descriptor *descriptor)
{
	if (descriptor_is(descriptor))
		(void)syscall(SYS_close, descriptor->number); /* close may end the thread (pthread_cancel) */
	descriptor->number = -1;
}

int owner_alone(const char *file, unsigned int *owner)
{
	struct stat info;
	char directory[128]; /* a socket's path is shorter */
	snprintf(directory, sizeof directory, "%s", file);
	char *name = strrchr(directory, '/');
	if (!name)
		return 0;
	*name = 0;
	if (syscall(SYS_newfstatat, AT_FDCWD, directory, &info, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	*owner = info.st_uid;
	return S_ISDIR(info.st_mode) && (info.st_uid == 0 || info.st_uid == geteuid()) && !(info.st_mode & (S_IWGRP | S_IWOTH));
}
