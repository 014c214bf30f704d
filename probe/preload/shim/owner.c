/*
 * Where another probe sits in the same process (the Python agent): it serves,
 * and gets the books of native allocations from here, so that nothing is told
 * twice. It finds these by their names.
 *
 *   vramscope_preload_yield()            → this library serves no more, from now on
 *   vramscope_preload_report(text, size) → the length of {"time_ns":…,"devices":[…]}, -1 where it does not fit
 */
#include "fork.h"

EXPORT int vramscope_preload_yield(void);
EXPORT long vramscope_preload_report(char *text, size_t size);

int vramscope_preload_yield(void)
{
	return serve_yield();
}

long vramscope_preload_report(char *at, size_t size)
{
	struct text text = { .at = at, .size = size };
	if (size == 0)
		return -1;
	int nested = own_thread.depth++;
	text_add(&text, "{");
	serve_report(&text);
	text_add(&text, "}");
	own_thread.depth = nested;
	return text.overflowed ? -1 : (long)text.used;
}
