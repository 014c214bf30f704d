/*
 * The interface to the Python probe in the same process. That probe serves, and also
 * reports the native allocations that this library counts. It finds these functions by name:
 *
 *   vramscope_preload_yield()            → this library stops serving
 *   vramscope_preload_report(text, size) → the length of {"time_ns":…,"devices":[…]}, -1: does not fit
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
