package terminal

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// RunChild runs a command that has the terminal, while no Program does. Ctrl+C is for the
// command alone. Ctrl+Z stops it and this program, as Suspension does: this program has
// caught the signal before, and the kernel would stop the command alone.
func RunChild(cmd *exec.Cmd) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP)
	defer signal.Stop(signals)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Run() }()
	for {
		select {
		case err := <-ended:
			return err
		case s := <-signals:
			if s == syscall.SIGTSTP && !orphaned() {
				_ = stopGroup() // where it fails the command alone is stopped
			}
		}
	}
}
