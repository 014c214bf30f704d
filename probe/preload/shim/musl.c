/*
 * A shell with LD_PRELOAD set may start a program linked with musl, whose loader
 * preloads this library but has no symbol versions and no dlvsym. There is no
 * CUDA for musl, but the program must run as without us, which needs musl's dlsym.
 * Source: https://wiki.musl-libc.org/functional-differences-from-glibc.html
 */
#define _GNU_SOURCE
#include "hooks.h"

#include <elf.h>
#include <link.h>

/* The address of a table; only some loaders relocate it. */
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

static int look_for_dlsym(struct dl_phdr_info *object, size_t size, void *found)
{
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
	if (!symbols || !names || !hash) /* musl has both hash tables; the second word of DT_HASH is the number of symbols */
		return 0;
	for (ElfW(Word) i = 0; i < hash[1]; i++)
		if (symbols[i].st_shndx != SHN_UNDEF && strcmp(names + symbols[i].st_name, "dlsym") == 0) {
			*(void **)found = (void *)(object->dlpi_addr + symbols[i].st_value);
			return 1;
		}
	return 0;
}

static void *none(void *handle, const char *name)
{
	(void)handle, (void)name;
	return NULL;
}

void *dlsym_without_versions(void)
{
	void *found = (void *)none;
	dl_iterate_phdr(look_for_dlsym, &found);
	return found;
}
