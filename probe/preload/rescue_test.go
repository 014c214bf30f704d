//go:build linux

package preload_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/fakedriver"
)

// rescuer is a daemon in a test: the test decides what it answers.
type rescuer struct {
	*box
	path   string
	answer func(*rescuer, net.Conn) // to a rescue; nil: memory is freed

	neighbour *run // uses most of the GPU

	mu       sync.Mutex
	asked    []string
	rescued  []string
	listener net.Listener
}

const (
	tight  = 2 << 30 // free on the GPU at first
	wanted = 4 << 30 // what the program asks for
)

func newRescuer(t *testing.T, answer func(*rescuer, net.Conn)) *rescuer {
	t.Helper()
	r := &rescuer{box: newBox(t), answer: answer}
	r.environ = append(r.environ, "VRAMSCOPE_RESCUE=1")
	r.path = filepath.Join(r.runtime, "vramscope", "daemon.sock")
	if err := os.Mkdir(filepath.Dir(r.path), 0o700); err != nil {
		t.Fatal(err)
	}
	gpu := fakedriver.Box(4, 0).GPUs[0]
	r.neighbour = r.startIn(r.environ, r.program())
	r.neighbour.expect(fmt.Sprintf("alloc %d", gpu.Free-2*gpu.Context-tight), "1×0")
	return r
}

// program returns the path of the program that allocates.
func (r *rescuer) program() string {
	return build(r, "refused", []string{"testdata/refused.c"}, "-DLINKED", "-L", filepath.Dir(r.driver), "-lcuda")
}

// release makes the neighbour free its memory.
func (r *rescuer) release() {
	if answer, _, _ := r.neighbour.do("release"); answer != "1×0" {
		r.Errorf("the neighbour's free: %s", answer)
	}
}

func (r *rescuer) listen() *rescuer {
	r.Helper()
	var err error
	if r.listener, err = net.Listen("unix", r.path); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = r.listener.Close() }) // the test may have
	go r.accept()
	return r
}

func (r *rescuer) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		go r.serve(conn)
	}
}

func (r *rescuer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }() // the program may have closed it
	in := bufio.NewScanner(conn)
	for in.Scan() {
		r.mu.Lock()
		if strings.Contains(in.Text(), `"cmd":"rescued"`) {
			r.rescued = append(r.rescued, in.Text())
			r.mu.Unlock()
			continue
		}
		r.asked = append(r.asked, in.Text())
		r.mu.Unlock()
		if r.answer != nil {
			r.answer(r, conn)
			continue
		}
		r.release()
		_, _ = io.WriteString(conn, `{"id":1,"ok":true,"rescue":{}}`+"\n") // the program may be gone
	}
}

func (r *rescuer) count() (asked, rescued int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.asked), len(r.rescued)
}

// refusing starts the program whose allocations are refused.
func (r *rescuer) refusing() *run {
	r.Helper()
	p := r.startIn(append(r.environ, "LD_PRELOAD="+r.library), r.program())
	p.socket() // the library serves, so its start is over
	return p
}

// do makes the program do something, and returns its answer without the milliseconds.
func (r *run) do(line string) (answer string, took time.Duration, descriptors int) {
	r.Helper()
	if _, err := io.WriteString(r.in, line+"\n"); err != nil {
		r.Fatal(err)
	}
	if !r.lines.Scan() {
		r.Fatalf("%s: it has ended: %s", line, r.stderr)
	}
	answer, rest, _ := strings.Cut(r.lines.Text(), " errno ")
	if rest != "" {
		var ms int
		if _, err := fmt.Sscanf(rest, "%d ms %d descriptors %d", &r.errno, &ms, &descriptors); err != nil {
			r.Fatal(err)
		}
		took = time.Duration(ms) * time.Millisecond
	}
	return answer, took, descriptors
}

func (r *run) expect(line, want string) time.Duration {
	r.Helper()
	got, took, _ := r.do(line)
	if got != want {
		r.Errorf("%s: %s, want %s", line, got, want)
	}
	return took
}

const outOfMemory = "1×2" // one call, CUDA_ERROR_OUT_OF_MEMORY

func alloc(how string, more ...any) string {
	return strings.TrimSpace(fmt.Sprintln(append([]any{how, wanted}, more...)...))
}

// TestRescue: the call that would have failed succeeds. Managed memory is left out, because it needs
// no memory of the GPU.
func TestRescue(t *testing.T) {
	for _, how := range []string{"alloc", "pitch", "create", "async"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			r := newRescuer(t, nil).listen()
			p := r.refusing()
			_, _, before := p.do("managed 4096")
			p.expect(alloc(how), "1×0")
			_, _, after := p.do("managed 4096")
			if asked, rescued := r.count(); asked != 1 || after > before {
				t.Errorf("asked %d times, %d rescued; %d descriptors before, %d after", asked, rescued, before, after)
			}
			await(t, "what came of it", func() bool { _, rescued := r.count(); return rescued == 1 })
			var request struct {
				Cmd, GPU string
				Bytes    uint64
			}
			if err := json.Unmarshal([]byte(r.asked[0]), &request); err != nil || request.Cmd != "rescue" || request.Bytes != wanted ||
				request.GPU != fakedriver.Box(4, 0).GPUs[0].UUID || !strings.Contains(r.rescued[0], `"succeeded":true`) {
				t.Errorf("asked %s, then %s: %v", r.asked[0], r.rescued[0], err)
			}
			if report := p.report(); len(report.Devices) != 1 || report.Devices[0].Rescues == nil ||
				report.Devices[0].Rescues.Asked != 1 || report.Devices[0].Rescues.Succeeded != 1 || len(report.Devices[0].OutOfMemory) != 0 {
				t.Errorf("it reports %+v", report.Devices)
			}
			p.end()
		})
	}
}

// TestNoRescue: the program gets the plain error, with errno as the driver leaves it, and waits for
// no longer than a rescue may take.
func TestNoRescue(t *testing.T) {
	t.Parallel()
	refusing := func(r *rescuer, conn net.Conn) {
		_, _ = io.WriteString(conn, `{"id":1,"ok":false,"error":{"code":"busy","message":"\"ok\":true is not here"}}`+"\n")
	}
	for name, play := range map[string]func(t *testing.T){
		"no daemon": func(t *testing.T) {
			r := newRescuer(t, nil)
			p := r.refusing()
			quickly(t, p.expect(alloc("alloc", 1000), "1000×2"))
			r.sameErrno(p)
		},
		"not asked for": func(t *testing.T) {
			r := newRescuer(t, nil).listen()
			r.environ = append(r.environ, "VRAMSCOPE_RESCUE=0")
			quickly(t, r.refusing().expect(alloc("alloc", 3), "3×2"))
			asks(t, r, 0)
		},
		"refused": func(t *testing.T) {
			r := newRescuer(t, refusing).listen()
			// After the first rescue fails, no other is asked for.
			p := r.refusing()
			quickly(t, p.expect(alloc("alloc"), outOfMemory))
			r.sameErrno(p)
			quickly(t, p.expect(alloc("alloc", 1000), "1000×2"))
			asks(t, r, 1)
		},
		"freed too little": func(t *testing.T) {
			r := newRescuer(t, func(_ *rescuer, conn net.Conn) { _, _ = io.WriteString(conn, "{\"id\":1,\"ok\":true}\n") }).listen()
			p := r.refusing()
			quickly(t, p.expect(alloc("alloc", 1000), "1000×2"))
			await(t, "what came of it", func() bool { _, rescued := r.count(); return rescued == 1 })
			if !strings.Contains(r.rescued[0], `"succeeded":false`) {
				t.Errorf("it says %s", r.rescued[0])
			}
			asks(t, r, 1)
		},
		"silent": func(t *testing.T) {
			r := newRescuer(t, func(*rescuer, net.Conn) {}).listen()
			p := r.refusing()
			if took := p.expect(alloc("alloc"), outOfMemory); took < 1900*time.Millisecond || took > 2*time.Second+timeout/4 {
				t.Errorf("it stood for %s", took)
			}
			quickly(t, p.expect(alloc("alloc"), outOfMemory))
		},
		"silent, and signals": func(t *testing.T) {
			r := newRescuer(t, func(*rescuer, net.Conn) {}).listen()
			p := r.refusing()
			p.expect("signals", "0")
			time.Sleep(10 * time.Millisecond) // the timer interrupts the program's reading, too
			if took := p.expect(alloc("alloc"), outOfMemory); took < 1900*time.Millisecond || took > 2*time.Second+timeout/4 {
				t.Errorf("it stood for %s", took)
			}
		},
		"gone in the middle": func(t *testing.T) {
			r := newRescuer(t, func(r *rescuer, conn net.Conn) { _ = conn.Close() }).listen()
			quickly(t, r.refusing().expect(alloc("alloc"), outOfMemory))
		},
		"never accepts": func(t *testing.T) {
			r := newRescuer(t, nil)
			listener, err := net.Listen("unix", r.path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = listener.Close() }() // nothing was accepted
			r.refusing().expect(alloc("alloc"), outOfMemory)
		},
		"writes without end": func(t *testing.T) {
			r := newRescuer(t, func(_ *rescuer, conn net.Conn) {
				for {
					if _, err := io.WriteString(conn, strings.Repeat("x", 4096)); err != nil {
						return
					}
				}
			}).listen()
			quickly(t, r.refusing().expect(alloc("alloc"), outOfMemory))
		},
		"a capture": func(t *testing.T) {
			r := newRescuer(t, nil).listen()
			p := r.refusing()
			p.expect("capture", "0")
			quickly(t, p.expect(alloc("alloc", 2), "2×2"))
			asks(t, r, 0)
			p.expect("captured", "0")
			p.expect(alloc("alloc"), "1×0")
		},
		"a capture that begins while it waits": func(t *testing.T) {
			r := newRescuer(t, func(r *rescuer, conn net.Conn) {
				time.Sleep(time.Second)
				r.release()
				_, _ = io.WriteString(conn, "{\"id\":1,\"ok\":true}\n") // the program may be gone
			}).listen()
			p := r.refusing()
			p.expect("capturing", "0")
			p.expect(alloc("alloc"), outOfMemory)
			asks(t, r, 1)
			p.expect("captured", "0")
		},
		"a link to another directory": func(t *testing.T) {
			r := newRescuer(t, nil).listen()
			p := r.refusing()
			directory := filepath.Dir(r.path)
			if err := errors.Join(os.Rename(directory, directory+"2"), os.Symlink(directory+"2", directory)); err != nil {
				t.Fatal(err)
			}
			quickly(t, p.expect(alloc("alloc"), outOfMemory))
			asks(t, r, 0)
		},
		"a directory that all can change": func(t *testing.T) {
			r := newRescuer(t, nil).listen()
			p := r.refusing()
			if err := os.Chmod(filepath.Dir(r.path), 0o777); err != nil {
				t.Fatal(err)
			}
			quickly(t, p.expect(alloc("alloc"), outOfMemory))
			asks(t, r, 0)
		},
		"sealed": func(t *testing.T) {
			r := newRescuer(t, nil).listen()
			p := r.refusing()
			p.expect("seal", "0")
			quickly(t, p.expect(alloc("alloc", 2), "2×2"))
			asks(t, r, 0)
		},
		"managed": func(t *testing.T) {
			r := newRescuer(t, nil).listen()
			quickly(t, r.refusing().expect(fmt.Sprintf("managed %d 2", uint64(1)<<60), "2×2"))
			asks(t, r, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t)
		})
	}
}

// sameErrno checks errno after a call against the neighbour's, which runs without the library and
// is refused the same call.
func (r *rescuer) sameErrno(p *run) {
	r.Helper()
	r.neighbour.expect(alloc("alloc"), outOfMemory)
	if p.errno != r.neighbour.errno {
		r.Errorf("errno is %d, and %d without the library", p.errno, r.neighbour.errno)
	}
}

func quickly(t *testing.T, took time.Duration) {
	t.Helper()
	if took > 1500*time.Millisecond { // less than a rescue waits
		t.Errorf("it stood for %s", took)
	}
}

func asks(t *testing.T, r *rescuer, want int) {
	t.Helper()
	if asked, _ := r.count(); asked != want {
		t.Errorf("the daemon was asked %d times, want %d", asked, want)
	}
}

// TestRescueOfEightThreads: one thread asks, and the others fail at once.
func TestRescueOfEightThreads(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	r := newRescuer(t, func(r *rescuer, conn net.Conn) {
		<-hold
		r.release()
		_, _ = io.WriteString(conn, "{\"id\":1,\"ok\":true}\n")
	}).listen()
	p := r.refusing()
	go func() {
		await(t, "a rescue", func() bool { asked, _ := r.count(); return asked > 0 })
		time.Sleep(200 * time.Millisecond) // the others fail meanwhile
		close(hold)
	}()
	p.expect(alloc("alloc", 1, 8), "1×0 7×2")
	asks(t, r, 1)
	p.end()
}

// TestRescueByABusyDaemon: while the daemon's queue is full, the library tries again to connect, and
// leaves time for the rescue itself.
func TestRescueByABusyDaemon(t *testing.T) {
	t.Parallel()
	r := newRescuer(t, nil)
	listener, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = errors.Join(unix.Bind(listener, &unix.SockaddrUnix{Name: r.path}), unix.Listen(listener, 0))
	}
	if err != nil {
		t.Fatal(err)
	}
	for err == nil { // until the queue is full
		var other int
		if other, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err == nil {
			defer func() { _ = unix.Close(other) }() // it only fills the queue
			err = unix.Connect(other, &unix.SockaddrUnix{Name: r.path})
		}
	}
	if !errors.Is(err, unix.EAGAIN) {
		t.Fatal(err)
	}
	p, second := r.refusing(), r.refusing()
	if took := p.expect(alloc("alloc"), outOfMemory); took < 900*time.Millisecond {
		t.Errorf("it stood for %s", took)
	}
	quickly(t, p.expect(alloc("alloc"), outOfMemory))
	file := os.NewFile(uintptr(listener), r.path)
	defer func() { _ = file.Close() }() // nothing was written
	go func() {
		time.Sleep(100 * time.Millisecond)
		if r.listener, err = net.FileListener(file); err == nil {
			r.accept()
		}
	}()
	second.expect(alloc("alloc"), "1×0")
	asks(t, r, 1)
}

// TestRescueAndItsDescriptor: while a rescue waits, the program closes all descriptors that are not
// its own, and opens files under their numbers.
func TestRescueAndItsDescriptor(t *testing.T) {
	t.Parallel()
	r := newRescuer(t, func(*rescuer, net.Conn) {}).listen()
	p := r.refusing()
	p.expect("closing", "0")
	p.expect(alloc("alloc"), outOfMemory)
	if _, _, descriptors := p.do("managed 4096"); descriptors < 61 {
		t.Errorf("%d descriptors are left: a file of the program's was closed", descriptors)
	}
}

func TestRescueOfAnotherUsersDaemon(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be several users")
	}
	t.Parallel()
	r := newRescuer(t, nil)
	const other = 12345
	// The program that listens answers yes to everything.
	listen := `import os, socket, sys
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o777); s.listen()
print("listening", flush=True)
while True:
    c, _ = s.accept()
    line = c.recv(4096)
    print(line, flush=True)
    if line: c.send(b'{"id":1,"ok":true}\n')`
	helper := exec.Command("/usr/bin/python3", "-c", listen, r.path)
	helper.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: other, Gid: other}}
	if err := errors.Join(os.Chmod(r.runtime, 0o755), os.Chown(filepath.Dir(r.path), other, other)); err != nil {
		t.Fatal(err)
	}
	out, err := helper.StdoutPipe()
	if err == nil {
		err = helper.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = helper.Process.Kill(), helper.Wait() }() // it only listens
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "listening" {
		t.Fatalf("%q, %v", lines.Text(), lines.Err())
	}
	// The library connects only if its own user owns the directory.
	if err := os.Chown(filepath.Dir(r.path), 0, 0); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() {
		lines.Scan()
		got <- lines.Text()
	}()
	// Nothing shows when the library is ready.
	p := r.startIn(append(r.environ, "LD_PRELOAD="+r.library), r.program())
	await(t, "a connection", func() bool {
		p.expect(alloc("alloc"), outOfMemory)
		select {
		case line := <-got:
			if line != "b''" {
				t.Errorf("another user's daemon reads %s", line)
			}
			return true
		default:
			return false
		}
	})
}
