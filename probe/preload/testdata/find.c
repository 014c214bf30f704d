/* The ways in which a program can find CUDA's calls. */
#include "program.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static void *need(void *found, const char *name)
{
	if (!found) {
		fprintf(stderr, "%s is missing: %s\n", name, dlerror());
		exit(3);
	}
	return found;
}

#ifdef LINKED
void find_calls(const char *way)
{
	if (strcmp(way, "linked") != 0)
		exit(2);
}
#else
struct calls calls;

#define STRING(text) #text
#define QUOTE(text) STRING(text)

static void find_by_dlsym(void *library, int per_thread)
{
#define FIND(symbol, name, version)                                                     \
	calls.symbol = per_thread ? dlsym(library, QUOTE(symbol) "_ptsz") : NULL;      \
	calls.symbol = need(calls.symbol ? (void *)calls.symbol : dlsym(library, #symbol), #symbol);
	CALLS(FIND)
#undef FIND
}

/* As NVIDIA's runtime library: dlsym finds cuGetProcAddress, which finds the other calls. */
static void find_by_first(void *library, cuuint64_t flags)
{
	CUresult (*find)(const char *, void **, int, cuuint64_t) = need(dlsym(library, "cuGetProcAddress"), "cuGetProcAddress");
	void *itself = NULL;
	if (find("cuGetProcAddress", &itself, 11030, 0) == CUDA_SUCCESS)
		find = itself;
#define FIND(symbol, name, version)                        \
	(void)find(#name, (void **)&calls.symbol, version, flags); \
	need((void *)calls.symbol, #name);
	CALLS(FIND)
#undef FIND
}

static void find_by_second(void *library, cuuint64_t flags)
{
	CUresult (*find)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *) =
		need(dlsym(library, "cuGetProcAddress_v2"), "cuGetProcAddress_v2");
	void *itself = NULL;
	CUdriverProcAddressQueryResult status;
	if (find("cuGetProcAddress", &itself, 12000, 0, &status) == CUDA_SUCCESS && itself)
		find = itself;
	if (find("cuNoSuchCall", &itself, 12000, 0, &status) != CUDA_SUCCESS || itself || status == CU_GET_PROC_ADDRESS_SUCCESS)
		exit(4);
#define FIND(symbol, name, version)                                 \
	(void)find(#name, (void **)&calls.symbol, version, flags, &status); \
	need((void *)calls.symbol, #name);
	CALLS(FIND)
#undef FIND
}

void find_calls(const char *way)
{
	int deep = strcmp(way, "deepbind") == 0 ? RTLD_DEEPBIND : 0;
	void *library = need(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | deep), "libcuda.so.1");
	if (strcmp(way, "dlsym") == 0 || deep)
		find_by_dlsym(library, 0);
	else if (strcmp(way, "dlsym-ptsz") == 0)
		find_by_dlsym(library, 1);
	else if (strcmp(way, "proc1") == 0)
		find_by_first(library, 0);
	else if (strcmp(way, "proc1-ptsz") == 0)
		find_by_first(library, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
	else if (strcmp(way, "proc2") == 0)
		find_by_second(library, 0);
	else if (strcmp(way, "proc2-ptsz") == 0)
		find_by_second(library, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
	else
		exit(2);
}
#endif

/* Prints the number of allocations that another preloaded library has counted, if there is one. */
static void print_interposed(void)
{
	const int *calls_seen = dlsym(RTLD_DEFAULT, "interposed_calls");
	if (calls_seen)
		printf("interposed %d\n", *calls_seen);
}

void *find_unseen(const char *name)
{
	/* libc's dlsym, past every hook. */
	void *libc = need(dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), "libc.so.6");
	void *(*find)(void *, const char *) = dlvsym(libc, "dlsym", "GLIBC_2.34");
	if (!find) {
		libc = dlopen("libdl.so.2", RTLD_NOW);
		find = need(libc ? dlvsym(libc, "dlsym", "GLIBC_2.2.5") : NULL, "dlsym");
	}
	void *library = need(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "libcuda.so.1");
	return need(find(library, name), name);
}

void print_calls(void)
{
	unsigned long long (*count)(void) = need(find_unseen("fake_calls"), "fake_calls");
	if (getenv("VRAMSCOPE_FAKE_FAIL"))
		printf("calls %llu\n", count());
}

void print_stats(void)
{
	print_interposed();
	void *library = need(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "libcuda.so.1");
	int (*read_totals)(int, struct fake_totals *) = need(dlsym(library, "fake_totals"), "fake_totals");
	struct fake_totals totals;
	for (int device = 0; read_totals(device, &totals); device++)
		printf("stats %d %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu\n", device, totals.linear, totals.linear_count,
		       totals.physical, totals.physical_count, totals.managed, totals.managed_count, totals.imported_count,
		       totals.pools_used, totals.pools_reserved, totals.graphs_reserved);
}
