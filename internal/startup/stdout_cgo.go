//go:build linux && cgo

package startup

/*
#include <fcntl.h>

static int closed;

// Constructors run before Go's runtime.
__attribute__((constructor)) static void look(void) { closed = fcntl(1, F_GETFD) == -1; }

static int stdout_closed(void) { return closed; }
*/
import "C"

// StdoutClosed reports whether the program was started without a standard output.
func StdoutClosed() bool { return C.stdout_closed() != 0 }
