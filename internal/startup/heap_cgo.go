//go:build linux && cgo

package startup

/*
#include <malloc.h>

// glibc gives each thread a heap of its own. Calls of the driver come one after another,
// on whatever thread Go has: each heap would keep what the driver needs once. This runs
// before there is a second thread.
__attribute__((constructor)) static void share_heap(void) {
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, 1);
#endif
}
*/
import "C"
