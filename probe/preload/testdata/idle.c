/* Looks up CUDA without using it, and waits. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(int count, char **arguments)
{
	char byte;
	void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
	void *call = dlsym(library ? library : RTLD_DEFAULT, "cuMemAlloc_v2");
	printf("allocates %d, error %d\n", call != NULL, dlerror() != NULL);
	printf("itself %d, error %d\n", dlsym(RTLD_DEFAULT, "main_is_not_exported") != NULL, dlerror() != NULL);
	void *itself = dlopen(NULL, RTLD_NOW);
	printf("through itself %d, error %d\n", dlsym(itself, "cuMemFree_v2") != NULL, dlerror() != NULL);
	printf("ready\n");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 7;
}
