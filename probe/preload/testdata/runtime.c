/*
 * A runtime library whose calls go through frames of several kinds, on their way
 * to the driver. With PROGRAM, the program that calls it: two allocations by each
 * way, one MiB larger than by the way before.
 */
#include <alloca.h>
#include <stddef.h>

typedef int (*way)(unsigned long long *pointer, size_t size);
enum { WAYS = 5 };
extern const way ways[WAYS];
int runtime_start(void);

#ifdef PROGRAM
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	unsigned long long pointer;
	char byte;
	if (runtime_start() != 0)
		return 3;
	for (size_t i = 0; i < WAYS; i++)
		for (int again = 0; again < 2; again++) /* the second call finds the rules of the first */
			if (ways[i](&pointer, (i + 1) << 20) != 0)
				return 4;
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 7;
}
#else
#include <dlfcn.h>
#include <string.h>

static way driver;
static volatile size_t opaque = 40;

#define APART __attribute__((noinline))

APART static int plain(unsigned long long *pointer, size_t size)
{
	int answer = driver(pointer, size);
	opaque++; /* no tail call */
	return answer;
}

/* The frame's size is known only at run time, so rbp is the frame's base. */
APART static int variable(unsigned long long *pointer, size_t size)
{
	char *volatile space = alloca(opaque);
	memset(space, 1, 8);
	int answer = plain(pointer, size);
	opaque += (size_t)space[0] * 0;
	return answer;
}

/* Has a value in every register that a call preserves, rbp too. */
APART static int crowded(unsigned long long *pointer, size_t size)
{
	size_t a = opaque, b = a * 3, c = a * 5, d = a * 7, e = a * 9, f = a * 11, g = a * 13;
	int answer = variable(pointer, size);
	opaque = (a ^ b ^ c ^ d ^ e ^ f ^ g) % 64 + 40;
	return answer;
}

APART static int deep(unsigned long long *pointer, size_t size, int depth)
{
	int answer = depth ? deep(pointer, size, depth - 1) : crowded(pointer, size);
	opaque++;
	return answer;
}

APART static int nested(unsigned long long *pointer, size_t size)
{
	int answer = deep(pointer, size, 4);
	opaque++;
	return answer;
}

/* With some compilers an expression gives the frame's end, and frames.c does not understand it. */
APART static int aligned(unsigned long long *pointer, size_t size)
{
	volatile char space[128] __attribute__((aligned(128)));
	space[opaque % 128] = 1;
	char *volatile more = alloca(opaque);
	int answer = plain(pointer, size);
	opaque += (size_t)more[0] * 0 + (size_t)space[1] * 0;
	return answer;
}

const way ways[WAYS] = { plain, variable, crowded, nested, aligned };

int runtime_start(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
	int (*find)(const char *, void **, int, unsigned long long) = library ? dlsym(library, "cuGetProcAddress") : NULL;
	int (*start)(unsigned int), (*retain)(void **, int), (*set)(void *);
	if (!find || find("cuInit", (void **)&start, 12000, 0) || find("cuDevicePrimaryCtxRetain", (void **)&retain, 12000, 0) ||
	    find("cuCtxSetCurrent", (void **)&set, 12000, 0) || find("cuMemAlloc", (void **)&driver, 12000, 0))
		return 1;
	return start(0) || retain(&context, 0) || set(context);
}
#endif
