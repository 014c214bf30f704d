package probe

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestServerMovesWhenDirectoryVanishes(t *testing.T) {
	runtime, temporary := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "tmp")
	if err := os.Mkdir(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	server, err := Listen(ServerOptions{Directories: []string{filepath.Join(runtime, "vramscope"), filepath.Join(temporary, "..", "fallback")}})
	if err != nil {
		t.Fatal(err)
	}
	server.socketCheckTime = 5 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, newPool()) }()
	before := dial(t, server)
	if _, err := before.Stats(soon(t)); err != nil { // it is accepted
		t.Fatal(err)
	}
	first := server.Path()

	// As at the user's last logout.
	if err := os.RemoveAll(runtime); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it has moved", func() bool { return server.Path() != first })
	if _, err := dial(t, server).Stats(soon(t)); err != nil {
		t.Errorf("on the new socket: %v", err)
	}
	if _, err := before.Stats(soon(t)); err != nil {
		t.Errorf("on the old connection: %v", err)
	}
	second := server.Path()
	if err := os.Remove(second); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a removed socket is created again", func() bool {
		_, err := os.Lstat(second)
		return err == nil
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(server.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket still exists: %v", err)
	}
}

func TestForkedChildKeepsParentsSocket(t *testing.T) {
	server, err := Listen(ServerOptions{Directories: []string{filepath.Join(t.TempDir(), "vramscope")}})
	if err != nil {
		t.Fatal(err)
	}
	server.getpid = func() int { return os.Getpid() + 1 } // as the child sees it
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := server.Serve(ctx, newPool()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(server.Path()); err != nil {
		t.Errorf("the parent's socket: %v", err)
	}
}

func TestServerKeepsReplacedSocket(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vramscope")
	server, err := Listen(ServerOptions{Directories: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	// Another socket takes the name, as after an exec.
	if err := os.Remove(server.Path()); err != nil {
		t.Fatal(err)
	}
	next, err := Listen(ServerOptions{Directories: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := server.Serve(ctx, newPool()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(next.Path()); err != nil {
		t.Errorf("the other socket: %v", err)
	}
	if _, err := Listen(ServerOptions{Directories: []string{dir, dir + "2"}}); !errors.Is(err, errServed) {
		t.Errorf("a second probe in one process: %v", err)
	}
	if err := next.Serve(ctx, newPool()); err != nil {
		t.Fatal(err)
	}
}

func TestForeignFilesAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vramscope")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	var files []string
	for _, name := range []string{"1-2.sock", "notes.txt", "x-1.sock", "007-1.sock", "1-2-3.sock", "-1-5.sock"} {
		path := filepath.Join(dir, name)
		files = append(files, path)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "3-4.sock")
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Fatal(err)
	}
	c := spawn(t, "serve", dir)
	m := watch(t, dir)
	eventually(t, "the probe among them answers", func() bool { return answers(m, c.pid()) })
	for _, path := range append(files, link) {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestTooManyMonitorsAreRefused(t *testing.T) {
	server := start(t, newPool())
	for range maxConnections {
		if _, err := dial(t, server).Hello(soon(t)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := dial(t, server).Hello(soon(t))
	if refused := new(Error); !errors.As(err, &refused) || refused.Code != Busy {
		t.Errorf("got %v", err)
	}
}

func TestHandlerErrorAndPanicAreAnswered(t *testing.T) {
	p := newPool()
	var calls atomic.Int32
	p.stats = func() (Report, error) {
		if calls.Add(1) == 1 {
			panic("torch is half imported")
		}
		return Report{}, errors.New("no such context")
	}
	client := dial(t, start(t, p))
	for _, reason := range []string{"torch is half imported", "no such context"} {
		_, err := client.Stats(soon(t))
		if refused := new(Error); !errors.As(err, &refused) || refused.Code != Internal || !strings.Contains(err.Error(), reason) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := client.Hello(soon(t)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestReportTooLongForALineIsAnError(t *testing.T) {
	p := newPool()
	p.stats = func() (Report, error) {
		return Report{Devices: []Device{{UUID: strings.Repeat("x", MaxLine)}}}, nil
	}
	_, err := dial(t, start(t, p)).Stats(soon(t))
	if refused := new(Error); !errors.As(err, &refused) || refused.Code != Internal {
		t.Errorf("got %v", err)
	}
}

func TestLateAnswerIsReadNext(t *testing.T) {
	p := newPool()
	release := make(chan struct{})
	var calls atomic.Int32
	p.stats = func() (Report, error) {
		if calls.Add(1) == 1 {
			<-release
		}
		return Report{TimeNS: int64(calls.Load())}, nil
	}
	client := dial(t, start(t, p))
	client.deadline = 50 * time.Millisecond
	for range 2 {
		if _, err := client.Stats(soon(t)); !errors.Is(err, ErrLate) {
			t.Fatalf("got %v", err)
		}
	}
	close(release)
	client.deadline = testTimeout
	if report, err := client.Stats(soon(t)); err != nil || report.TimeNS != 1 {
		t.Errorf("the late answer: %+v, %v", report, err)
	}
	if report, err := client.Stats(soon(t)); err != nil || report.TimeNS != 2 {
		t.Errorf("the next: %+v, %v", report, err)
	}
}

func TestServeEndsWhenHandlerHangs(t *testing.T) {
	p := newPool()
	p.hold, p.flushing = make(chan struct{}), make(chan struct{})
	server, err := Listen(ServerOptions{Directories: []string{filepath.Join(t.TempDir(), "vramscope")}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, p) }()
	client := dial(t, server)
	asked := make(chan error, 1)
	go func() {
		_, err := client.Flush(soon(t), FlushRequest{Level: Urgent})
		asked <- err
	}()
	<-p.flushing
	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "still in progress") {
		t.Errorf("Serve: %v", err)
	}
	if err := <-asked; err == nil {
		t.Error("the flush was answered")
	}
	close(p.hold)
}

func TestMonitorThatDoesNotReadIsDisconnected(t *testing.T) {
	server := start(t, newPool())
	other := dial(t, server)
	conn, err := net.Dial("unix", server.Path())
	if err != nil {
		t.Skipf("the test's directory has too long a path: %v", err)
	}
	defer func() { _ = conn.Close() }()
	// Endless requests and unread answers: the server must neither keep the answers
	// nor wait for ever.
	flood := []byte(strings.Repeat(`{"id":1,"cmd":"stats"}`+"\n", 4096))
	_ = conn.SetWriteDeadline(time.Now().Add(testTimeout))
	for {
		if _, err = conn.Write(flood); err != nil {
			break
		}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("it was not disconnected")
	}
	if _, err := other.Stats(soon(t)); err != nil {
		t.Errorf("another monitor: %v", err)
	}
}

func TestUnfinishedLineIsUnexpectedEOF(t *testing.T) {
	in := newLines(strings.NewReader("{\"id\":1}\n{\"id\":"))
	if line, err := in.next(); err != nil || string(line) != `{"id":1}` {
		t.Fatalf("%q, %v", line, err)
	}
	if line, err := in.next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q, %v", line, err)
	}
	whole := bufio.NewReader(strings.NewReader(""))
	if _, err := newLines(whole).next(); !errors.Is(err, io.EOF) {
		t.Errorf("an empty stream: %v", err)
	}
}
