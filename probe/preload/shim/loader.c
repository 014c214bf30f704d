/*
 * Functions of libdl and libpthread, looked up when they are first needed: this library needs only
 * libc.so.6, so that it makes a program without a GPU load no other library. Since glibc 2.34
 * libc.so.6 has these functions; before that, libcuda loads both libraries.
 *
 * A shell with LD_PRELOAD set may also start a program linked with musl, whose loader preloads
 * this library but has no symbol versions and no dlvsym. There is no CUDA for musl, but the
 * program must run as it would without us, for which it needs musl's dlsym. Source:
 * https://wiki.musl-libc.org/functional-differences-from-glibc.html
 */
#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#if defined(__x86_64__)
#define BASE_VERSION "GLIBC_2.2.5"
#else
#define BASE_VERSION "GLIBC_2.17"
#endif

/* Weak: absent in musl, and before glibc 2.34 in programs without libdl. */
extern __typeof(dlvsym) dlvsym __attribute__((weak));

/* The address of a table, which some loaders have relocated already. */
static const void *where(const struct dl_phdr_info *object, ElfW(Addr) address)
{
	return (const void *)(address < object->dlpi_addr ? object->dlpi_addr + address : address);
}

static int has_us(const struct dl_phdr_info *object)
{
	ElfW(Addr) here = (ElfW(Addr))has_us;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		ElfW(Addr) start = object->dlpi_addr + part->p_vaddr;
		if (part->p_type == PT_LOAD && here >= start && here < start + part->p_memsz)
			return 1;
	}
	return 0;
}

struct symbol {
	const char *name;
	void *address;
};

static int look_in(struct dl_phdr_info *object, size_t size, void *argument)
{
	struct symbol *wanted = argument;
	const ElfW(Dyn) *entry = NULL;
	const ElfW(Sym) *symbols = NULL;
	const char *names = NULL;
	const ElfW(Word) *hash = NULL;
	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
	if (!entry || has_us(object))
		return 0;
	for (; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_SYMTAB)
			symbols = where(object, entry->d_un.d_ptr);
		else if (entry->d_tag == DT_STRTAB)
			names = where(object, entry->d_un.d_ptr);
		else if (entry->d_tag == DT_HASH)
			hash = where(object, entry->d_un.d_ptr);
	}
	/* musl, and glibc before 2.34, have this table, whose second word is the number of symbols. */
	for (ElfW(Word) i = 0; symbols && names && hash && i < hash[1]; i++)
		if (symbols[i].st_shndx != SHN_UNDEF && strcmp(names + symbols[i].st_name, wanted->name) == 0) {
			wanted->address = (void *)(object->dlpi_addr + symbols[i].st_value);
			return 1;
		}
	return 0;
}

static void *none(void *handle, const char *name)
{
	(void)handle, (void)name;
	return NULL;
}

dlsym_call real_dlsym(void)
{
	static dlsym_call real;
	if (!__atomic_load_n(&real, __ATOMIC_ACQUIRE)) {
		struct symbol wanted = { "dlsym", (void *)none };
		/* Every glibc has the old version. A failing lookup allocates, and malloc may be the caller. */
		void *found = dlvsym ? dlvsym(RTLD_NEXT, wanted.name, BASE_VERSION) : NULL;
		if (!found)
			(void)dl_iterate_phdr(look_in, &wanted);
		__atomic_store_n(&real, (dlsym_call)(found ? found : wanted.address), __ATOMIC_RELEASE);
	}
	return __atomic_load_n(&real, __ATOMIC_ACQUIRE);
}

void *loaded_function(void **cache, const char *name)
{
	struct symbol wanted = { name, __atomic_load_n(cache, __ATOMIC_ACQUIRE) };
	if (wanted.address)
		return wanted.address;
	wanted.address = real_dlsym()(RTLD_DEFAULT, name);
	if (!wanted.address) /* its library was loaded outside of the global scope */
		(void)dl_iterate_phdr(look_in, &wanted);
	__atomic_store_n(cache, wanted.address, __ATOMIC_RELEASE);
	return wanted.address;
}
