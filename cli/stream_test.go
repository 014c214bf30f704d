package cli

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/schema"
)

// streaming starts "vramscope stream" on the simulated box.
func streaming(t *testing.T) (*exec.Cmd, *os.File, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "stream", "--demo", "--interval", "250ms")
	cmd.Env = append(os.Environ(), asVramscope+"=1")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = write, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = read.Close() })
	_ = write.Close() // the process has it
	lines := bufio.NewScanner(read)
	lines.Buffer(nil, 16<<20)
	return cmd, read, lines
}

func ends(t *testing.T, cmd *exec.Cmd) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(30 * time.Second):
		t.Fatal("the stream goes on")
		return nil
	}
}

func TestStreamWritesADocumentASampleUntilSIGTERM(t *testing.T) {
	t.Parallel()
	cmd, _, lines := streaming(t)
	var last time.Time
	for i := range 3 {
		if !lines.Scan() {
			t.Fatalf("the stream ended after %d lines: %v", i, lines.Err())
		}
		var d schema.Document
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			t.Fatalf("line %d: %v", i, err)
		}
		if d.Schema != schema.Version || !d.Simulated || len(d.GPUs) == 0 || !time.Time(d.Time).After(last) {
			t.Errorf("line %d is of %v: %s, %d GPUs", i, time.Time(d.Time), d.Schema, len(d.GPUs))
		}
		last = time.Time(d.Time)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := ends(t, cmd); err != nil {
		t.Errorf("SIGTERM ends the stream with %v", err)
	}
}

func TestStreamEndsWithAClosedPipe(t *testing.T) {
	t.Parallel()
	cmd, read, lines := streaming(t)
	if !lines.Scan() {
		t.Fatal(lines.Err())
	}
	_ = read.Close()
	err := ends(t, cmd)
	if state, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || state.Signal() != syscall.SIGPIPE {
		t.Errorf("a closed pipe ends the stream with %v", err)
	}
}

// TestStreamEndsWhileItsReaderStandsStill: "stream | less" ends with Ctrl-C.
func TestStreamEndsWhileItsReaderStandsStill(t *testing.T) {
	t.Parallel()
	cmd, read, lines := streaming(t)
	if !lines.Scan() {
		t.Fatal(lines.Err())
	}
	// The next lines fill the pipe, to its last page.
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		waiting, err := unix.IoctlGetInt(int(read.Fd()), unix.TIOCINQ)
		if err != nil || time.Now().After(end) {
			t.Fatalf("%d bytes in the pipe, %v", waiting, err)
		}
		if waiting > 60<<10 {
			break
		}
	}
	time.Sleep(time.Second) // for four more lines
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := ends(t, cmd); err != nil {
		t.Errorf("SIGINT ends the stream with %v", err)
	}
}
