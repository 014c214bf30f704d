/* A program that allocates a MiB at each of 130 places in its code. */
#include "runtime.c"

#include <stdio.h>
#include <unistd.h>

#define ALLOCATE if (driver(&pointer, 1 << 20) != 0) return 4;
#define FIVE ALLOCATE ALLOCATE ALLOCATE ALLOCATE ALLOCATE
#define TWENTY_SIX FIVE FIVE FIVE FIVE FIVE ALLOCATE

int main(void)
{
	unsigned long long pointer;
	char byte;
	if (runtime_start() != 0)
		return 3;
	TWENTY_SIX TWENTY_SIX TWENTY_SIX TWENTY_SIX TWENTY_SIX
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 7;
}
