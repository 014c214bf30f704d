package fakedriver_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// Result codes of the CUDA driver API that tests expect.
const (
	success            = "0"
	invalidValue       = "1"
	outOfMemory        = "2"
	notInitialized     = "3"
	deviceUnavailable  = "46"
	noDevice           = "100"
	invalidDevice      = "101"
	invalidContext     = "201"
	peerAlreadyEnabled = "704"
	peerNotEnabled     = "705"
	alreadyRegistered  = "712"
	notRegistered      = "713"
	notSupported       = "801"
	driverMismatch     = "803"
	captureUnsupported = "900"
	captureInvalidated = "901"
	captureImplicit    = "906"
)

// cudaProgram runs testdata/cuda_client.c: a process that allocates.
type cudaProgram struct {
	*client
	cmd  *exec.Cmd
	done bool
}

// startCUDA starts a cudaProgram with the fake driver, on the box that a state file describes. The
// program ends with the test.
func startCUDA(t *testing.T, state string, environment ...string) *cudaProgram {
	t.Helper()
	library := fakedriver.Build(t, fakedriver.Current)
	cmd := exec.Command(fakedriver.BuildCUDAClient(t))
	cmd.Env = append(os.Environ(), fakedriver.Environment(library, state)...)
	cmd.Env = append(cmd.Env, environment...)
	return startProgram(t, cmd, state)
}

func startProgram(t *testing.T, cmd *exec.Cmd, state string) *cudaProgram {
	t.Helper()
	p := &cudaProgram{client: begin(t, cmd, state), cmd: cmd}
	t.Cleanup(func() {
		if !p.done {
			p.end(cmd)
		}
	})
	return p
}

func (p *cudaProgram) pid() int { return p.cmd.Process.Pid }

// kill ends the program at once.
func (p *cudaProgram) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	_ = p.cmd.Wait() // its error says that the program was killed
	p.done = true
}

func (p *cudaProgram) signal(signal syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.t.Fatal(err)
	}
}

// script sends commands and checks their answers. lines has each command, followed by its answer.
func (p *cudaProgram) script(lines ...string) {
	p.t.Helper()
	for i := 0; i+1 < len(lines); i += 2 {
		p.want(lines[i], lines[i+1])
	}
}

// device makes the program ready to allocate on a device.
func (p *cudaProgram) device(index int) *cudaProgram {
	p.t.Helper()
	p.script("init", success, fmt.Sprintf("use %d", index), success)
	return p
}

// numbers returns the answer to a command, which must consist of numbers.
func (c *client) numbers(command string) []uint64 {
	c.t.Helper()
	var list []uint64
	answer := c.ask(command)
	for word := range strings.FieldsSeq(answer) {
		n, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			c.t.Fatalf("%s: %s", command, answer)
		}
		list = append(list, n)
	}
	return list
}

// onDriver returns NVML's list of a GPU's compute processes: bytes by pid.
func onDriver(c *client, gpu int) map[int]uint64 {
	c.t.Helper()
	const room = 200
	answer := c.ask(fmt.Sprintf("processes 3 %d %d", gpu, room))
	held := map[int]uint64{}
	words := strings.Fields(answer)
	if len(words) < 2 || words[0] != success {
		c.t.Fatalf("processes: %s", answer)
	}
	for _, word := range words[2:] {
		pid, used, ok := strings.Cut(word, ":")
		number, err := strconv.Atoi(pid)
		bytes, err2 := strconv.ParseUint(used, 10, 64)
		if !ok || err != nil || err2 != nil {
			c.t.Fatalf("processes: %s", answer)
		}
		if _, twice := held[number]; twice {
			c.t.Errorf("pid %d is listed twice: %s", number, answer)
		}
		held[number] = bytes
	}
	return held
}

// holding returns a check that a program holds the given bytes of GPU 0, in addition to besides.
func holding(c *client, gpu fakedriver.GPU, program *cudaProgram, besides uint64) func(uint64) {
	return func(bytes uint64) {
		c.t.Helper()
		want := map[int]uint64{}
		if besides+bytes > 0 {
			want[program.pid()] = besides + bytes
		}
		wantHeld(c, gpu, 0, want)
	}
}

// wantHeld compares the driver's list of a GPU's processes, and the GPU's memory, with want: the bytes
// that each process holds, by pid. The box's state must have no processes on that GPU.
func wantHeld(c *client, gpu fakedriver.GPU, index int, want map[int]uint64) {
	c.t.Helper()
	if got := onDriver(c, index); !maps.Equal(got, want) {
		c.t.Errorf("GPU %d: the driver lists %v, want %v", index, got, want)
	}
	var sum uint64
	for _, bytes := range want {
		sum += bytes
	}
	memory := fmt.Sprintf("0 %d %d %d %d", gpu.Total, gpu.Reserved, gpu.Used+sum, gpu.Free-sum)
	if got := c.ask(fmt.Sprintf("memory2 %d 0", index)); got != memory {
		c.t.Errorf("GPU %d: memory is %s, want %s", index, got, memory)
	}
}

// eventually waits for a condition that another process fulfils.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
	}
}
