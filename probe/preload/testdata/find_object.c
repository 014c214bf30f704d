/* Exits with 0 if this libc has _dl_find_object. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

int main(void)
{
	return dlsym(RTLD_DEFAULT, "_dl_find_object") == NULL;
}
