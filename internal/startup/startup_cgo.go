//go:build linux && cgo

package startup

/*
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>

static unsigned long long ignored;
static int closed;

// Go's runtime installs handlers of its own before any Go code runs, and so forgets which signals
// the program was started to ignore (except SIGHUP and SIGINT).
__attribute__((constructor)) static void before_go(void)
{
	for (int number = 1; number <= 64; number++) {
		struct sigaction action;
		if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			ignored |= 1ULL << (number - 1);
	}
	for (int descriptor = 0; descriptor <= 2; descriptor++)
		if (fcntl(descriptor, F_GETFD) < 0)
			closed |= 1 << descriptor;
#ifdef M_ARENA_MAX
	// glibc gives each thread a heap of its own. Go makes the calls of the driver one after
	// another on any thread: each heap would keep memory that the driver needs only once. This
	// runs before there is a second thread.
	mallopt(M_ARENA_MAX, 1);
#endif
}

static unsigned long long ignored_at_start(void) { return ignored; }
static int closed_at_start(void) { return closed; }
*/
import "C"

import (
	"os/signal"
	"syscall"
)

// StdoutClosed reports whether the program was started without a standard output.
func StdoutClosed() bool { return C.closed_at_start()&(1<<syscall.Stdout) != 0 }

// AsInherited prepares the exec of a command: it ignores the signals that this program was
// started to ignore ("nohup", a job in the background of a script), and closes the standard
// descriptors that this program was started without.
func AsInherited() {
	ignored, closed := uint64(C.ignored_at_start()), int(C.closed_at_start())
	for number := 1; number <= 64; number++ {
		if ignored&(1<<(number-1)) != 0 {
			signal.Ignore(syscall.Signal(number))
		}
	}
	for descriptor := range 3 {
		if closed&(1<<descriptor) != 0 {
			syscall.CloseOnExec(descriptor)
		}
	}
}
