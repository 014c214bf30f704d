#include "serve.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

struct descriptor descriptor_of(int number)
{
	struct stat info;
	if (number < 0 || fstat(number, &info) != 0)
		return (struct descriptor){ .number = -1 };
	return (struct descriptor){ .number = number, .device = info.st_dev, .inode = info.st_ino };
}

int descriptor_is(const struct descriptor *descriptor)
{
	struct stat info;
	int before = errno;
	int same = descriptor->number >= 0 && fstat(descriptor->number, &info) == 0 && info.st_dev == descriptor->device &&
	           info.st_ino == descriptor->inode;
	errno = before;
	return same;
}

void descriptor_close(struct descriptor *descriptor)
{
	if (descriptor_is(descriptor))
		close(descriptor->number);
	descriptor->number = -1;
}
