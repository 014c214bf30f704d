package attach

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// debugger is a gdb that is driven through its standard input.
//
// It is in a session of its own and deaf to signals, so that neither a Ctrl-C
// meant for vramscope nor anything else can reach it, and it writes to a file,
// so that it cannot die of a pipe that nobody reads any more. It is never
// killed: a gdb that dies while it calls something takes the process along.
type debugger struct {
	cmd   *exec.Cmd
	input io.WriteCloser
	path  string // what it writes
	taken int    // how much of that has been taken
	turn  int
	ended chan struct{}
	nonce string // in the marks, which nothing that gdb writes of the process can hold

	patience time.Duration // for an answer
}

// How long gdb may take: to answer, and to let go and end.
const (
	answerTime = 30 * time.Second
	leaveTime  = 15 * time.Second
)

var errNoAnswer = errors.New("gdb does not answer")

// startDebugger starts gdb in a directory, whose files its commands can name
// without a path. It has so long for each answer.
func startDebugger(program, directory string, patience time.Duration) (*debugger, error) {
	d := &debugger{patience: patience, path: filepath.Join(directory, debuggerName), ended: make(chan struct{}), nonce: rand.Text()}
	output, err := os.OpenFile(d.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = output.Close() }() // gdb has it
	// gdb shares the lock with its output, and holds it when this program is no more.
	_ = unix.Flock(int(output.Fd()), unix.LOCK_EX|unix.LOCK_NB) // some file systems have none
	d.cmd = exec.Command(program, "-nx", "-nh", "-q", "-iex", "set auto-load no", "-iex", "set debuginfod enabled off")
	d.cmd.Dir, d.cmd.Env = directory, cleanEnvironment()
	d.cmd.Stdout, d.cmd.Stderr = output, output
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if d.input, err = d.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := startDeaf(d.cmd); err != nil {
		return nil, err
	}
	go func() {
		defer close(d.ended)
		_ = d.cmd.Wait() // how it ends tells nothing: the process is looked at
	}()
	return d, nil
}

// deaf are the signals that gdb does not hear, for as long as it runs: they are
// blocked in it from the start. One of them while it calls a function in the
// process would leave a thread there with nowhere to return to: that was the
// end of every other process when it was tried, with SIGINT as with SIGTERM.
var deaf = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGPIPE, syscall.SIGALRM, syscall.SIGUSR1, syscall.SIGUSR2}

// startDeaf starts a program with those signals blocked: it inherits the mask
// of the thread that starts it.
func startDeaf(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var set, old unix.Sigset_t
	for _, signal := range deaf {
		bit := uint(signal) - 1
		set.Val[bit/64] |= 1 << (bit % 64)
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &set, &old); err != nil {
		return err
	}
	err := cmd.Start()
	return errors.Join(err, unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil))
}

// say gives commands and returns what gdb writes until it has done them all.
// Where one fails the next is done nevertheless.
func (d *debugger) say(commands ...string) (string, error) {
	d.turn++
	mark := fmt.Sprintf("%s:%d:", d.nonce, d.turn)
	text := strings.Join(commands, "\n") + "\necho \\n" + mark + "\\n\n"
	if _, err := io.WriteString(d.input, text); err != nil {
		return "", d.dead()
	}
	deadline := time.Now().Add(d.patience)
	for pause := 500 * time.Microsecond; ; pause = min(pause*2, 5*time.Millisecond) {
		content, err := os.ReadFile(d.path)
		if err != nil {
			return "", err
		}
		if before, _, ok := strings.Cut(string(content[min(d.taken, len(content)):]), mark); ok {
			d.taken += len(before) + len(mark)
			return before, nil
		}
		select {
		case <-d.ended:
			return "", d.dead()
		default:
		}
		if time.Now().After(deadline) {
			return "", errNoAnswer
		}
		time.Sleep(pause)
	}
}

// dead is the error of a gdb that has ended by itself.
func (d *debugger) dead() error {
	content, err := os.ReadFile(d.path)
	if err != nil {
		return errors.Join(errors.New("gdb has ended"), err)
	}
	return errors.New("gdb has ended: " + complaint(strings.ToValidUTF8(string(content[min(d.taken, len(content)):]), "")))
}

// leave has gdb let go of whatever it holds, and end: at the end of its input it
// does both by itself. One that hangs is left alone, and said.
func (d *debugger) leave() error {
	_ = d.input.Close() // the end of the input is what it is told
	select {
	case <-d.ended:
		return nil
	case <-time.After(leaveTime):
		return fmt.Errorf("gdb (PID %d) does not end: it may still hold the process; do not kill it", d.cmd.Process.Pid)
	}
}

// endedWell reports whether gdb has ended by itself, in good order.
func (d *debugger) endedWell() bool {
	select {
	case <-d.ended:
		return d.cmd.ProcessState != nil && d.cmd.ProcessState.Success()
	default:
		return false
	}
}
