package terminal

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// RunChild runs a command on the terminal, while no Program is on it. Only the command obeys Ctrl+C. Ctrl+Z stops the
// command and this program: this program catches the signal, so the kernel would stop only the command.
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
				_ = stopGroup() // if it fails, only the command is stopped
			}
		}
	}
}
