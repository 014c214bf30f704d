/* Opens a library that is linked with libcuda and runs a scenario in it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments)
{
	int deep = count == 5 && strcmp(arguments[4], "deep") == 0 ? RTLD_DEEPBIND : 0;
	void *plugin = count >= 4 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL | deep) : NULL;
	int (*run)(int, char **) = plugin ? (int (*)(int, char **))dlsym(plugin, "plugin_main") : NULL;
	if (!run) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	char *passed[] = { arguments[0], arguments[2], arguments[3], NULL };
	return run(3, passed);
}
