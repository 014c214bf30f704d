package probe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"vramscope/internal/process"
)

// childVariable makes the test binary a probe process of the named role.
const childVariable = "VRAMSCOPE_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childVariable); role != "" {
		if err := runChild(role, os.Getenv("VRAMSCOPE_TEST_DIRECTORY")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// runChild runs a probe process in a role. In the role serve it prints "ready" and the path of its
// socket, and ends at SIGTERM or at the end of its input.
func runChild(role, directory string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if directory == "" {
		path, err := OwnPlace()
		if err != nil {
			return err
		}
		directory = filepath.Dir(path)
	}
	switch role {
	case "serve":
		server, err := listen(directory)
		if err != nil {
			return err
		}
		fmt.Println("ready", server.Path())
		return server.Serve(ctx, newPool())
	case "fork":
		return forkedChild(directory)
	case "visit":
		return visitingChild(directory)
	}
	return fmt.Errorf("no role %q", role)
}

// forkedChild starts a process that inherits its listening socket, and exits.
func forkedChild(directory string) error {
	server, err := listen(directory)
	if err != nil {
		return err
	}
	listener, err := server.listener.File()
	if err != nil {
		return err
	}
	heir := exec.Command("sleep", "30")
	heir.ExtraFiles = []*os.File{listener}
	if err := heir.Start(); err != nil {
		return err
	}
	fmt.Println("ready", server.Path(), heir.Process.Pid)
	os.Exit(0) // without closing the socket
	return nil
}

// visitingChild visits each socket in a directory and prints the error.
func visitingChild(path string) error {
	dir, err := openDirectory(path, uint32(os.Geteuid()))
	if err != nil {
		return err
	}
	defer dir.close()
	names, err := dir.sockets()
	if err != nil {
		return err
	}
	for _, name := range names {
		finder := NewFinder(process.NewTable("/proc"))
		finder.deadline = time.Minute
		client, err := finder.visit(dir, name)
		if err == nil {
			_ = client.Close()
		}
		fmt.Println("visited", err)
	}
	return nil
}

type child struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	socket string
	rest   []string // the words that the child printed after the path of its socket
	waited bool
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// spawn starts a child. wrap is a command that gets the child's path as its last argument.
func spawn(t testing.TB, role, directory string, wrap ...string) *child {
	t.Helper()
	c, err := trySpawn(t, role, directory, nil, wrap...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func trySpawn(t testing.TB, role, directory string, attr *syscall.SysProcAttr, wrap ...string) (*child, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	words := append(wrap, self)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.SysProcAttr = attr
	cmd.Env = append(os.Environ(), childVariable+"="+role, "VRAMSCOPE_TEST_DIRECTORY="+directory)
	return launch(t, cmd)
}

// launch starts a child and waits until it is ready.
func launch(t testing.TB, cmd *exec.Cmd) (*child, error) {
	t.Helper()
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, stdin: in}
	t.Cleanup(c.end)
	line, err := bufio.NewReader(out).ReadString('\n')
	words := strings.Fields(line)
	if err != nil || len(words) < 2 || words[0] != "ready" {
		return nil, fmt.Errorf("the child printed %q: %w", line, errors.Join(err, errNotReady))
	}
	c.socket, c.rest = words[1], words[2:]
	return c, nil
}

var errNotReady = errors.New("not ready")

func (c *child) end() {
	if c.waited {
		return
	}
	c.waited = true
	_ = c.cmd.Process.Signal(syscall.SIGCONT)
	_ = c.stdin.Close()
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		_ = c.cmd.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		_ = c.cmd.Process.Kill()
		<-ended
	}
}

func (c *child) kill() {
	c.waited = true
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}
