//go:build linux && cgo

package launch

/*
#include <signal.h>

static unsigned long long ignored;

// Go's runtime installs handlers of its own before any of Go runs, and so
// forgets which signals the program was started to ignore (but for SIGHUP and
// SIGINT). This runs before the runtime does.
__attribute__((constructor)) static void note_ignored(void)
{
	for (int number = 1; number <= 64; number++) {
		struct sigaction action;
		if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			ignored |= 1ULL << (number - 1);
	}
}

static unsigned long long ignored_at_start(void) { return ignored; }
*/
import "C"

import (
	"os/signal"
	"syscall"
)

// IgnoreAsBefore ignores the signals that this program was started to ignore,
// so that a command which it becomes does: "nohup", a job in the background of
// a script.
func IgnoreAsBefore() {
	ignored := uint64(C.ignored_at_start())
	for number := 1; number <= 64; number++ {
		if ignored&(1<<(number-1)) != 0 {
			signal.Ignore(syscall.Signal(number))
		}
	}
}
