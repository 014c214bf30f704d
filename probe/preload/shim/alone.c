/*
 * A program whose main thread has called pthread_exit ends with its last thread.
 * That must not be ours, so the serving thread checks whether only ours are left.
 */
#define _GNU_SOURCE
#include "serve.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Whether the main thread has exited before the process. */
static int main_thread_has_exited(void)
{
	char path[64], stat[512];
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = file < 0 ? 0 : read(file, stat, sizeof stat - 1);
	if (file >= 0)
		close(file);
	stat[length > 0 ? length : 0] = 0;
	const char *name_end = strrchr(stat, ')');
	return name_end && strncmp(name_end, ") Z", 3) == 0;
}

int program_has_ended(int own_threads)
{
	if (!main_thread_has_exited())
		return 0;
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *entry;
	int count = 0;
	while (tasks && (entry = readdir(tasks)))
		count += entry->d_name[0] != '.';
	if (tasks)
		closedir(tasks);
	return tasks && count <= own_threads + 1; /* the main thread is still listed */
}
