package fakedriver_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/internal/fakedriver"
)

// client runs testdata/client.c, a program that uses the library, with a state file of its own, so
// tests may run in parallel.
type client struct {
	t       *testing.T
	state   string
	stderr  string
	input   io.WriteCloser
	answers *bufio.Scanner
}

func startClient(t *testing.T, box fakedriver.State) *client {
	t.Helper()
	library := fakedriver.Build(t, fakedriver.Current)
	program := fakedriver.BuildClient(t)
	state := filepath.Join(t.TempDir(), "state")
	box.MustWrite(t, state)
	cmd := exec.Command(program, library)
	cmd.Env = append(os.Environ(), "VRAMSCOPE_FAKE_STATE="+state)
	c := begin(t, cmd, state)
	t.Cleanup(func() { c.end(cmd) })
	return c
}

// begin starts a program that answers each line of input with a line of output.
func begin(t *testing.T, cmd *exec.Cmd, state string) *client {
	t.Helper()
	c := &client{t: t, state: state, stderr: filepath.Join(t.TempDir(), "stderr")}
	stderr, err := os.Create(c.stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close() // the program has a descriptor of its own
	cmd.Stderr = stderr
	if c.input, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.answers = bufio.NewScanner(output)
	return c
}

// end closes the program's input, which ends the program.
func (c *client) end(cmd *exec.Cmd) {
	_ = c.input.Close() // fails if the program has ended already
	if err := cmd.Wait(); err != nil {
		said, _ := os.ReadFile(c.stderr) // only for the message
		c.t.Errorf("%s: %v\n%s", filepath.Base(cmd.Path), err, said)
	}
}

// ask sends a command and returns its answer.
func (c *client) ask(command string) string {
	c.t.Helper()
	c.send(command)
	return c.answer()
}

func (c *client) send(command string) {
	c.t.Helper()
	if _, err := io.WriteString(c.input, command+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) answer() string {
	c.t.Helper()
	if !c.answers.Scan() {
		c.t.Fatalf("the client has ended: %v", c.answers.Err())
	}
	return c.answers.Text()
}

// want sends a command and compares the answer. A want that ends in … is only the answer's beginning.
func (c *client) want(command, want string) {
	c.t.Helper()
	got := c.ask(command)
	if begin, open := strings.CutSuffix(want, "…"); got != want && (!open || !strings.HasPrefix(got, begin)) {
		c.t.Errorf("%s: %s, want %s", command, got, want)
	}
}

func (c *client) write(box fakedriver.State) {
	c.t.Helper()
	box.MustWrite(c.t, c.state)
}
