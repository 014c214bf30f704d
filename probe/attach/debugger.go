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

	"vramscope/internal/bounded"
)

// debugger is a gdb that reads its commands from standard input. It has its own session and blocks
// signals, so that a Ctrl-C for vramscope does not reach it. It writes to a file: a pipe would break
// when vramscope ends. It is never killed: a gdb that dies during a call takes the process with it.
type debugger struct {
	cmd   *exec.Cmd
	input io.WriteCloser
	path  string // of the file with its output
	taken int64  // how much of the output has been read
	turn  int
	ended chan struct{}
	nonce string // random text in the mark that ends each answer

	timeout time.Duration // for one answer
}

// How long gdb may take to answer, and to detach and exit.
const (
	answerTime = 30 * time.Second
	leaveTime  = 15 * time.Second
)

var errNoAnswer = errors.New("gdb does not answer")

// startDebugger starts gdb in a directory, so that commands name files there without a path. The
// timeout is for each answer.
func startDebugger(program, directory string, timeout time.Duration) (*debugger, error) {
	d := &debugger{timeout: timeout, path: filepath.Join(directory, debuggerName), ended: make(chan struct{}), nonce: rand.Text()}
	output, err := os.OpenFile(d.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = output.Close() }() // gdb has its own descriptor
	// On a full disk gdb could not write its answer, and the process would stay stopped. Some file
	// systems ignore the reservation.
	const reserved = 1 << 20
	if err := unix.Fallocate(int(output.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, reserved); errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return nil, fmt.Errorf("gdb's output in %s: %w", directory, err)
	}
	d.cmd = exec.Command(program, "-nx", "-nh", "-q", "-iex", "set auto-load no", "-iex", "set debuginfod enabled off")
	d.cmd.Dir, d.cmd.Env = directory, cleanEnvironment()
	d.cmd.Stdout, d.cmd.Stderr = output, output //nolint:forbidigo // a file, of which RLIMIT_FSIZE limits the size
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if d.input, err = d.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := startBlocked(d.cmd); err != nil {
		return nil, err
	}
	// Endless output must not fill the disk. SIGXFSZ is blocked, so a write beyond the limit only fails.
	_ = unix.Prlimit(d.cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: outputSize, Max: outputSize}, nil) // execute has a limit of its own
	go func() {
		defer close(d.ended)
		_ = d.cmd.Wait() // endedWell reads the state
	}()
	return d, nil
}

// blockedSignals are blocked in gdb. A signal during a call in the process would leave a thread
// there without a return address: in tests, SIGINT and SIGTERM killed every second process.
var blockedSignals = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGPIPE, syscall.SIGALRM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXFSZ}

// startBlocked starts a program with blockedSignals blocked: the program inherits the
// mask of the thread that starts it.
func startBlocked(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var set, old unix.Sigset_t
	for _, signal := range blockedSignals {
		bit := uint(signal) - 1
		set.Val[bit/64] |= 1 << (bit % 64)
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &set, &old); err != nil {
		return err
	}
	err := cmd.Start()
	return errors.Join(err, unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil))
}

// execute runs commands and returns gdb's output. The commands after a failed one still run.
func (d *debugger) execute(commands ...string) (string, error) {
	d.turn++
	mark := fmt.Sprintf("%s:%d:", d.nonce, d.turn)
	text := strings.Join(commands, "\n") + "\necho \\n" + mark + "\\n\n"
	if _, err := io.WriteString(d.input, text); err != nil {
		return "", d.exited()
	}
	deadline := time.Now().Add(d.timeout)
	for pause := 500 * time.Microsecond; ; pause = min(pause*2, 5*time.Millisecond) {
		text, err := d.untaken()
		if err != nil {
			return "", err
		}
		if before, _, ok := strings.Cut(text, mark); ok {
			d.taken += int64(len(before) + len(mark))
			return before, nil
		}
		if len(text)+int(d.taken) >= outputSize {
			return "", errEndless
		}
		select {
		case <-d.ended:
			return "", d.exited()
		default:
		}
		if time.Now().After(deadline) {
			return "", errNoAnswer
		}
		time.Sleep(pause)
	}
}

// outputSize limits all that gdb prints, in bytes. A list of all threads has some hundred KiB.
const outputSize = 8 << 20

var errEndless = fmt.Errorf("gdb prints more than %d MiB", outputSize>>20)

// untaken returns the part of gdb's output that has not been returned yet.
func (d *debugger) untaken() (string, error) {
	file, err := os.Open(d.path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // only read
	content, err := bounded.First(io.NewSectionReader(file, d.taken, outputSize), outputSize)
	return string(content), err
}

// exited returns the error of a gdb that has exited by itself, perhaps at the limit of its output.
func (d *debugger) exited() error {
	text, err := d.untaken()
	if err != nil {
		return errors.Join(errors.New("gdb has exited"), err)
	}
	if len(text)+int(d.taken) >= outputSize {
		return errEndless
	}
	return errors.New("gdb has exited: " + complaint(strings.ToValidUTF8(text, "")))
}

// leave closes gdb's input, whereupon gdb detaches and exits. A gdb that hangs
// is left alone and reported.
func (d *debugger) leave() error {
	_ = d.input.Close() // gdb may have exited
	select {
	case <-d.ended:
		return nil
	case <-time.After(leaveTime):
		return fmt.Errorf("gdb (PID %d) does not exit and may still stop the process; do not kill it", d.cmd.Process.Pid)
	}
}

func (d *debugger) endedWell() bool {
	select {
	case <-d.ended:
		return d.cmd.ProcessState != nil && d.cmd.ProcessState.Success()
	default:
		return false
	}
}

// errRegisters means that gdb cannot write registers. gdb 13 cannot on processors with AMX, because
// they have more registers than this gdb expects.
var errRegisters = errors.New("a newer gdb is needed, or vramscope run: this gdb cannot write registers on this processor; nothing was done")

const notWritten = "Couldn't write" // in gdb's complaint about a register

// checkRegisters changes a vector register of the stopped thread and restores it. A gdb that cannot
// do this would fail during a function call, and leave a system call of the process interrupted.
func (d *debugger) checkRegisters() error {
	reply, err := d.execute(
		"set $vramscope_was = $xmm15.v4_int32[3]",
		"set $xmm15.v4_int32[3] = ~$vramscope_was",
		"set $xmm15.v4_int32[3] = $vramscope_was",
	)
	if err == nil && strings.Contains(reply, notWritten) {
		err = errRegisters
	}
	return err
}
