/*
 * Becomes a command for which /dev/nvidiactl exists, for programs like JAX, which look for that
 * file before they load the driver:
 *
 *   with-devices PATH COMMAND ARGUMENT…
 *
 * The file is in a copy of /dev in the command's own mount namespace, so no other program sees
 * it. If the kernel does not permit this, the command runs without the file, and standard error
 * says so.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 2 * NAME_MAX };

static const char *failed; /* the call that did not work */

static int check(int result, const char *call)
{
	if (result < 0)
		failed = call;
	return result;
}

static int write_file(const char *path, const char *text)
{
	int file = check(open(path, O_WRONLY), path);
	if (file < 0)
		return -1;
	int written = check((int)write(file, text, strlen(text)), path);
	close(file);
	return written;
}

/* Without CAP_SYS_ADMIN only a user namespace permits mounts. The ids of the user and group stay the same there. */
static int leave(void)
{
	char users[64], groups[64];
	snprintf(users, sizeof users, "%u %u 1", geteuid(), geteuid());
	snprintf(groups, sizeof groups, "%u %u 1", getegid(), getegid());
	if (unshare(CLONE_NEWNS) == 0)
		return 0;
	if (errno != EPERM || check(unshare(CLONE_NEWUSER | CLONE_NEWNS), "unshare") < 0)
		return check(-1, "unshare");
	if (write_file("/proc/self/setgroups", "deny") < 0 || write_file("/proc/self/gid_map", groups) < 0)
		return -1;
	return write_file("/proc/self/uid_map", users) < 0 ? -1 : 0;
}

/* Puts one entry of the machine's /dev into the new one. */
static int copy(int machine, const char *name)
{
	struct stat is;
	char from[PATH], to[PATH], target[PATH] = "";
	snprintf(from, sizeof from, "/proc/self/fd/%d/%s", machine, name);
	snprintf(to, sizeof to, "/dev/%s", name);
	if (fstatat(machine, name, &is, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* gone meanwhile */
	if (S_ISLNK(is.st_mode))
		return check(readlink(from, target, sizeof target - 1) < 0 ? -1 : symlink(target, to), "symlink");
	int made = S_ISDIR(is.st_mode) ? mkdir(to, 0755) : mknod(to, S_IFREG | 0644, 0);
	if (check(made, to) < 0)
		return -1;
	return check(mount(from, to, NULL, MS_BIND | MS_REC, NULL), "mount");
}

static int make(void)
{
	if (leave() < 0)
		return -1;
	/* Mounts made here are not passed on; what the machine mounts later is seen here, too. */
	if (check(mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL), "mount /") < 0)
		return -1;
	int machine = check(open("/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "/dev");
	DIR *entries = machine < 0 ? NULL : fdopendir(machine);
	if (!entries || check(mount("fake-gpu", "/dev", "tmpfs", MS_NOSUID, "mode=755"), "mount /dev") < 0)
		return -1;
	int result = 0;
	for (struct dirent *entry; result == 0 && (entry = readdir(entries));)
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			result = copy(machine, entry->d_name);
	closedir(entries);
	if (result == 0)
		result = check(mknod("/dev/nvidiactl", S_IFREG | 0666, 0), "/dev/nvidiactl");
	if (result == 0)
		result = check(mount("/dev/null", "/dev/nvidiactl", NULL, MS_BIND, NULL), "mount /dev/nvidiactl");
	if (result < 0)
		umount2("/dev", MNT_DETACH);
	return result;
}

int main(int argc, char **argv)
{
	struct stat is;
	if (argc < 3)
		return 2;
	if (stat("/dev/nvidiactl", &is) < 0 && make() < 0)
		fprintf(stderr, "fake-gpu: no /dev/nvidiactl, which needs a mount namespace: %s: %s; JAX will not find a GPU\n", failed,
		        strerror(errno));
	execv(argv[1], argv + 2);
	fprintf(stderr, "fake-gpu: %s: %s\n", argv[2], strerror(errno));
	return 126;
}
