//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/fakedriver"
)

// The guard is this program again, started under this name:
//
//	fake-gpu-guard start PID BOX    starts the guard that watches, and ends, so that init adopts that guard
//	fake-gpu-guard watch PID BOX    sets the box up, and watches until the process PID ends
const guardName = "fake-gpu-guard"

const interval = time.Second

// startGuard starts a guard that sets the box up and watches it until this
// process ends, and returns the path of the state file.
func startGuard(wanted box) (string, error) {
	encoded, err := json.Marshal(wanted)
	if err != nil {
		return "", err
	}
	answer, tell, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer answer.Close() // read to its end
	pid, err := spawn(tell, guardName, "start", strconv.Itoa(os.Getpid()), string(encoded))
	_ = tell.Close() // the guard has a descriptor of its own
	if err != nil {
		return "", err
	}
	if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
		return "", fmt.Errorf("guard: %w", err)
	}
	said, err := io.ReadAll(answer)
	if err != nil {
		return "", fmt.Errorf("guard: %w", err)
	}
	path, ready := strings.CutPrefix(string(said), "ready ")
	if !ready {
		return "", fmt.Errorf("guard: %s", strings.TrimSpace(string(said)))
	}
	return path, nil
}

// spawn starts this program under another name, in a session of its own, so that
// no key on the command's terminal reaches it. Its output goes to tell.
func spawn(tell *os.File, arguments ...string) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close() // the child has a descriptor of its own
	process, err := os.StartProcess(self, arguments, &os.ProcAttr{
		Dir:   "/",
		Env:   os.Environ(),
		Files: []*os.File{null, tell, null},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, err
	}
	pid := process.Pid
	return pid, process.Release()
}

func guard(step string, arguments []string) int {
	err := errors.New("not to be called by hand")
	switch {
	case step == "start" && len(arguments) == 2:
		_, err = spawn(os.Stdout, guardName, "watch", arguments[0], arguments[1])
	case step == "watch" && len(arguments) == 2:
		err = watch(arguments[0], arguments[1])
	}
	if err != nil {
		fmt.Println(err)
		return exitFailure
	}
	return 0
}

func watch(pid, encoded string) error {
	var wanted box
	if err := json.Unmarshal([]byte(encoded), &wanted); err != nil {
		return err
	}
	number, err := strconv.Atoi(pid)
	if err != nil {
		return err
	}
	command, err := unix.PidfdOpen(number, 0)
	if err != nil {
		return fmt.Errorf("pidfd of %d: %w", number, err)
	}
	path, remove, err := place(wanted.State)
	if err != nil {
		return err
	}
	defer remove()

	state := wanted.state()
	population, err := fakedriver.Populate(&state)
	if err != nil {
		return err
	}
	defer population.Close()
	if err := state.Write(path); err != nil {
		return err
	}
	if err := fakedriver.PrepareLedger(path); err != nil {
		return err
	}
	fmt.Print("ready ", path)
	_ = os.Stdout.Close() // a reader of standard output waits for its end

	for second := 1; !ended(command); second++ {
		gone := population.Ended()
		for _, pid := range gone {
			state.End(pid)
		}
		// An error is ignored. With --live the state is written again a second later.
		switch {
		case wanted.Live:
			_ = state.At(second).Write(path)
		case len(gone) > 0:
			_ = state.Write(path)
		}
	}
	return nil
}

// place returns the path of the state: the user's file, which is kept, or one in a directory that
// is removed at the end.
func place(wanted string) (path string, remove func(), err error) {
	if wanted != "" {
		return wanted, func() {}, nil
	}
	directory, err := os.MkdirTemp("", "fake-gpu-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(directory) } // at the end an error cannot be reported
	if err := os.Chmod(directory, 0o755); err != nil {
		remove()
		return "", nil, err
	}
	return filepath.Join(directory, "state"), remove, nil
}

// ended waits for an interval, or until the command ends, and reports whether the command has ended.
func ended(command int) bool {
	deadline := time.Now().Add(interval)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		events := []unix.PollFd{{Fd: int32(command), Events: unix.POLLIN}}
		n, err := unix.Poll(events, int(left.Milliseconds())+1)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || n > 0:
			return true
		}
	}
}
