/*
 * Interposition. There are three ways to a function of libcuda, each hooked:
 *
 *   linked with libcuda       the symbol that we export comes first, because this library is preloaded;
 *                             it calls the next one in the program's search order
 *   dlopen, dlsym             our dlsym returns the hook instead of libcuda's function
 *   cuGetProcAddress          likewise (NVIDIA's runtime library uses this)
 *
 * dlsym's answer depends on its caller (RTLD_NEXT, RTLD_DEFAULT), found from the
 * return address. So the real dlsym is jumped to, not called, with the caller's
 * stack.
 */
#define _GNU_SOURCE
#include "hooks.h"

#include <dlfcn.h>

struct call {
	const char *symbol, *name;
	int version, until, twin;
	void *hook;
};

static const struct call calls[SLOTS] = {
#define CALL(symbol, name, version, until, twin) { #symbol, name, version, until, twin, (void *)handed_out_##symbol },
#include "calls.h"
#undef CALL
};

/* From this API version on, a function is recognised by its address only, not by its name. */
enum { LATEST_KNOWN = 13060 };

static void *next_calls[SLOTS], *driver_calls[SLOTS];

static void *load(void **pointer)
{
	return __atomic_load_n(pointer, __ATOMIC_ACQUIRE);
}

static void store(void **pointer, void *value)
{
	__atomic_store_n(pointer, value, __ATOMIC_RELEASE);
}

/* The next dlsym in the program's search order, perhaps another preloaded library's. */
static dlsym_call next_dlsym(void)
{
	static void *next;
	if (!load(&next)) {
		void *found = real_dlsym()(RTLD_NEXT, "dlsym");
		store(&next, found ? found : (void *)real_dlsym());
	}
	return (dlsym_call)load(&next);
}

/* Clears our own error, which the program must not see. */
static void clear_error(void)
{
	if (LOADED(dlerror))
		(void)LOADED(dlerror)();
}

/* libcuda's function of a name; NULL: libcuda is not loaded, or has none. */
static void *in_driver(const char *symbol, int pin)
{
	void *driver = LOADED(dlopen) ? LOADED(dlopen)("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD | (pin ? RTLD_NODELETE : 0)) : NULL;
	void *found = driver ? real_dlsym()(driver, symbol) : NULL;
	if (driver)
		LOADED(dlclose)(driver); /* drops our reference only */
	if (!found)
		clear_error();
	return found;
}

void *resolve_driver(const char *symbol)
{
	return in_driver(symbol, 1);
}

void *resolve_next(enum slot slot)
{
	void *next = load(&next_calls[slot]);
	if (next)
		return next;
	next = real_dlsym()(RTLD_NEXT, calls[slot].symbol);
	if (!next) {
		clear_error();
		next = in_driver(calls[slot].symbol, 1); /* loaded outside of the global scope */
	}
	store(&next_calls[slot], next);
	return next;
}

void *resolve_handed_out(enum slot slot)
{
	return load(&driver_calls[slot]);
}

static int slot_of(const char *symbol)
{
	for (int i = 0; i < SLOTS; i++)
		if (strcmp(calls[i].symbol, symbol) == 0)
			return i;
	return -1;
}

/* Whether a name for cuGetProcAddress means this call in this API version. */
static int is_meant(const struct call *call, const char *name, int version, cuuint64_t flags)
{
	return strcmp(call->name, name) == 0 && version >= call->version && (!call->until || version < call->until) &&
	       version < LATEST_KNOWN && call->twin == ((flags & PER_THREAD_DEFAULT_STREAM) != 0);
}

static int has_twin(const char *name)
{
	for (int i = 0; i < SLOTS; i++)
		if (calls[i].twin && strcmp(calls[i].name, name) == 0)
			return 1;
	return 0;
}

void resolve_wrap(const char *name, int version, cuuint64_t flags, void **function)
{
	int found = -1;
	if (!frames_prepare())
		clear_error();
	if (!has_twin(name))
		flags &= ~(cuuint64_t)PER_THREAD_DEFAULT_STREAM;
	for (int i = 0; i < SLOTS && found < 0; i++)
		if (strcmp(calls[i].name, name) == 0 && in_driver(calls[i].symbol, 0) == *function)
			found = i;
	for (int i = 0; i < SLOTS && found < 0; i++) {
		void *before = load(&driver_calls[i]);
		/* A driver older than the requested version returns an older function, of another symbol. */
		if (is_meant(&calls[i], name, version, flags) && (!before || before == *function) && in_driver(calls[i].symbol, 0))
			found = i;
	}
	if (found < 0 || *function == calls[found].hook)
		return;
	store(&driver_calls[found], *function);
	*function = calls[found].hook;
}

/* dlsym's answer if done, else the function to jump to. */
struct verdict {
	void *target;
	long done;
};

static int is_ours(const void *address)
{
	Dl_info theirs, ours;
	return LOADED(dladdr)(address, &theirs) && LOADED(dladdr)(calls, &ours) && theirs.dli_fbase == ours.dli_fbase;
}

/* Finds what the caller's object would find in its own scope, the libraries that it is linked
 * with. */
static void *in_own_scope(const void *caller, const char *name)
{
	Dl_info info;
	void *map = NULL;
	if (!LOADED(dladdr1) || !LOADED(dladdr1)(caller, &info, &map, RTLD_DL_LINKMAP) || !map)
		return NULL;
	void *found = real_dlsym()(map, name); /* glibc's handles are link maps */
	return found && is_ours(found) ? NULL : found;
}

struct verdict vramscope_choose(void *handle, const char *name, const void *caller);
__attribute__((visibility("hidden"), used)) struct verdict vramscope_choose(void *handle, const char *name, const void *caller)
{
	struct verdict natural = { (void *)next_dlsym(), 0 };
	int slot;
	/* RTLD_NEXT never wrongly finds this library: it is first in the search order. */
	if (!name || name[0] != 'c' || name[1] != 'u' || handle == RTLD_NEXT || (slot = slot_of(name)) < 0)
		return natural;
	void *found = handle == RTLD_DEFAULT ? real_dlsym()(handle, name) : next_dlsym()(handle, name);
	if (found && is_ours(found)) {
		/* Correct if the program's search order has a libcuda after this library. */
		if (real_dlsym()(RTLD_NEXT, name))
			return handle == RTLD_DEFAULT ? natural : (struct verdict){ found, 1 };
		found = handle == RTLD_DEFAULT ? in_own_scope(caller, name) : NULL;
		if (!found) /* without us dlsym would fail: this does, too, and sets dlerror */
			return (struct verdict){ real_dlsym()(RTLD_NEXT, name), 1 };
	}
	if (!found || found != in_driver(name, 0))
		return (struct verdict){ found, 1 };
	store(&driver_calls[slot], found);
	return (struct verdict){ calls[slot].hook, 1 };
}

#if defined(__x86_64__)
__asm__(".text\n"
	".globl vramscope_dlsym_base, vramscope_dlsym_new\n"
	".type vramscope_dlsym_base, @function\n"
	".type vramscope_dlsym_new, @function\n"
	".p2align 4\n"
	"vramscope_dlsym_base:\n"
	"vramscope_dlsym_new:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	pushq %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rsi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	movq 24(%rsp), %rdx\n" /* the caller */
	"	call vramscope_choose\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rsi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	testq %rdx, %rdx\n"
	"	jne 1f\n"
	"	jmp *%rax\n"
	"1:	ret\n"
	"	.cfi_endproc\n"
	".size vramscope_dlsym_base, .-vramscope_dlsym_base\n"
	".size vramscope_dlsym_new, .-vramscope_dlsym_new\n"
	".symver vramscope_dlsym_base, dlsym@GLIBC_2.2.5\n"
	".symver vramscope_dlsym_new, dlsym@@GLIBC_2.34\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl vramscope_dlsym_base, vramscope_dlsym_new\n"
	".type vramscope_dlsym_base, %function\n"
	".type vramscope_dlsym_new, %function\n"
	".p2align 4\n"
	"vramscope_dlsym_base:\n"
	"vramscope_dlsym_new:\n"
	"	.cfi_startproc\n"
	"	hint #34\n" /* bti c */
	"	stp x29, x30, [sp, #-32]!\n"
	"	.cfi_adjust_cfa_offset 32\n"
	"	stp x0, x1, [sp, #16]\n"
	"	mov x2, x30\n" /* the caller */
	"	bl vramscope_choose\n"
	"	mov x16, x0\n"
	"	mov x17, x1\n"
	"	ldp x0, x1, [sp, #16]\n"
	"	ldp x29, x30, [sp], #32\n"
	"	.cfi_adjust_cfa_offset -32\n"
	"	cbnz x17, 1f\n"
	"	br x16\n"
	"1:	mov x0, x16\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size vramscope_dlsym_base, .-vramscope_dlsym_base\n"
	".size vramscope_dlsym_new, .-vramscope_dlsym_new\n"
	".symver vramscope_dlsym_base, dlsym@GLIBC_2.17\n"
	".symver vramscope_dlsym_new, dlsym@@GLIBC_2.34\n");
#else
#error "which version has dlsym in glibc here, and how is it jumped to?"
#endif

HOOK(cuGetProcAddress, (symbol, function, version, flags), const char *symbol, void **function, int version, cuuint64_t flags)
{
	(void)caller, (void)outer;
	CUresult answer = real(symbol, function, version, flags);
	if (answer == CUDA_SUCCESS && *function)
		resolve_wrap(symbol, version, flags, function);
	return answer;
}

HOOK(cuGetProcAddress_v2, (symbol, function, version, flags, status), const char *symbol, void **function, int version,
     cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
	(void)caller, (void)outer;
	CUresult answer = real(symbol, function, version, flags, status);
	if (answer == CUDA_SUCCESS && *function)
		resolve_wrap(symbol, version, flags, function);
	return answer;
}
