/*
 * Checks the memory for tables: it is zeroed, it is aligned to huge pages if it is large
 * enough, and what was mapped only for the alignment is unmapped.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void *pages_alloc(size_t size);
void pages_free(void *memory, size_t size);

static long mapped(void) /* pages of the process */
{
	long pages = -1;
	FILE *file = fopen("/proc/self/statm", "r");
	if (file && fscanf(file, "%ld", &pages) != 1)
		pages = -1;
	if (file)
		fclose(file);
	return pages;
}

int main(void)
{
	static const size_t sizes[] = { 1, 4096, (2 << 20) - 1, 2 << 20, (2 << 20) + 1, 3 << 20, 64 << 20 };
	enum { COUNT = sizeof sizes / sizeof *sizes };
	unsigned char *all[COUNT];
	mapped(); /* the first one maps what fopen needs */
	for (int i = 0; i < COUNT; i++) {
		long before = mapped(), pages = (long)((sizes[i] + 4095) / 4096);
		all[i] = pages_alloc(sizes[i]);
		if (!all[i] || all[i][0] || all[i][sizes[i] - 1])
			return printf("%zu bytes: not zeroed\n", sizes[i]), 1;
		if (sizes[i] >= 2 << 20 && (uintptr_t)all[i] % (2 << 20))
			return printf("%zu bytes: at %p\n", sizes[i], (void *)all[i]), 1;
		memset(all[i], i + 1, sizes[i]);
		if (mapped() - before != pages)
			return printf("%zu bytes: %ld pages are mapped, not %ld\n", sizes[i], mapped() - before, pages), 1;
	}
	for (int i = 0; i < COUNT; i++) {
		long before = mapped();
		if (all[i][0] != i + 1 || all[i][sizes[i] - 1] != i + 1)
			return printf("%zu bytes: others have overwritten them\n", sizes[i]), 1;
		pages_free(all[i], sizes[i]);
		if (before - mapped() != (long)((sizes[i] + 4095) / 4096))
			return printf("%zu bytes: not freed\n", sizes[i]), 1;
	}
	return 0;
}
