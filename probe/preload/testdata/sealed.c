/*
 * A CUDA program that puts itself under a seccomp filter that kills.
 *
 *   sealed launched|first|idle all|own FILTER exit|raw|lone
 *
 * The filter is installed before the program's start, before its first CUDA call, or
 * after a byte of input, for all threads or for the calling one. FILTER is a list of
 * system calls to kill for, or "only", which kills for all that are not in allowed, or
 * "strict". The last argument is how the program ends.
 */
#define _GNU_SOURCE
#include "api.h"

#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned int number;
} calls[] = {
#define CALL(name) { #name, SYS_##name },
	CALL(socket) CALL(bind) CALL(listen) CALL(accept4) CALL(connect) CALL(getsockopt) CALL(recvmsg) CALL(sendto) CALL(socketpair)
	CALL(clone) CALL(clone3) CALL(mkdirat) CALL(unlinkat) CALL(fchmodat) CALL(pipe2) CALL(prctl) CALL(openat) CALL(close) CALL(poll)
	CALL(getdents64) CALL(exit) CALL(madvise) CALL(munmap) CALL(mprotect) CALL(gettid) CALL(getpid) CALL(rt_sigprocmask)
#undef CALL
};

/* What the program and the fake driver call; mmap, which hooks call; pread64 and futex, which the library's threads call. */
static const unsigned int allowed[] = {
	SYS_read, SYS_write, SYS_exit_group, SYS_newfstatat, SYS_brk, SYS_mmap, SYS_munmap, SYS_pread64, SYS_futex,
};

static void add(struct sock_filter *code, unsigned int *count, unsigned int number, unsigned int verdict)
{
	code[(*count)++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
	code[(*count)++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict);
}

static void seal(const char *filter, int all)
{
	struct sock_filter code[160] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
	unsigned int count = 1;
	int only = strcmp(filter, "only") == 0;
	if (strcmp(filter, "strict") == 0) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) != 0)
			exit(77);
		return;
	}
	for (size_t i = 0; only && i < sizeof allowed / sizeof *allowed; i++)
		add(code, &count, allowed[i], SECCOMP_RET_ALLOW);
	for (const char *name = filter; !only && *name; name += strcspn(name, ",") + (name[strcspn(name, ",")] == ',')) {
		size_t i = 0, length = strcspn(name, ",");
		while (i < sizeof calls / sizeof *calls && (strncmp(calls[i].name, name, length) != 0 || calls[i].name[length]))
			i++;
		if (i == sizeof calls / sizeof *calls)
			exit(2);
		add(code, &count, calls[i].number, SECCOMP_RET_KILL_PROCESS);
	}
	code[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, only ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW);
	struct sock_fprog program = { .len = (unsigned short)count, .filter = code };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, all ? SECCOMP_FILTER_FLAG_TSYNC : 0, &program) != 0)
		exit(77);
}

static CUresult (*allocate)(CUdeviceptr *, size_t), (*release)(CUdeviceptr), (*current)(CUcontext *);

static int strict;

static void say(const char *text)
{
	(void)!write(1, text, strlen(text));
}

static void check(CUresult answer)
{
	say(answer == CUDA_SUCCESS ? "success\n" : "failure\n");
}

static void at_end(void)
{
	CUcontext context = NULL;
	say("handler\n");
	if (strict)
		return;
	check(current(&context));
	say(context ? "a context\n" : "no context\n");
}

int main(int count, char **arguments)
{
	CUresult (*init)(unsigned int), (*retain)(CUcontext *, CUdevice), (*set)(CUcontext);
	CUdeviceptr pointers[3];
	CUcontext context;
	char byte;
	if (count != 5)
		return 2;
	const char *when = arguments[1], *filter = arguments[3], *end = arguments[4];
	int all = strcmp(arguments[2], "all") == 0;
	strict = strcmp(filter, "strict") == 0;
	if (strcmp(when, "launched") == 0) {
		seal(filter, all);
		execl("/proc/self/exe", arguments[0], "sealed", "all", "", end, NULL);
		return 3;
	}
	if (strcmp(when, "first") == 0)
		seal(filter, all);
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!library)
		return 4;
	init = (__typeof__(init))dlsym(library, "cuInit");
	retain = (__typeof__(retain))dlsym(library, "cuDevicePrimaryCtxRetain");
	set = (__typeof__(set))dlsym(library, "cuCtxSetCurrent");
	current = (__typeof__(current))dlsym(library, "cuCtxGetCurrent");
	allocate = (__typeof__(allocate))dlsym(library, "cuMemAlloc_v2");
	release = (__typeof__(release))dlsym(library, "cuMemFree_v2");
	check(init(0));
	atexit(at_end);
	check(retain(&context, 0));
	check(set(context));
	check(allocate(&pointers[0], 1 << 20));
	say("ready\n");
	(void)!read(0, &byte, 1);
	if (strcmp(when, "idle") == 0)
		seal(filter, all);
	if (!strict) {
		check(allocate(&pointers[1], 3 << 20));
		check(release(pointers[0]));
		check(release(pointers[0]));
	}
	say("sealed\n");
	(void)!read(0, &byte, 1);
	if (strcmp(end, "raw") == 0)
		syscall(SYS_exit, 3);
	if (strcmp(end, "lone") == 0)
		pthread_exit(NULL);
	exit(7);
}
