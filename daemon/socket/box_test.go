package socket

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// asClient makes this test binary a client: the tests start it as other users.
const asClient = "VRAMSCOPE_TEST_CLIENT"

func TestMain(m *testing.M) {
	if directory := os.Getenv(asClient); directory != "" {
		os.Exit(beClient(directory))
	}
	os.Exit(m.Run())
}

// beClient sends standard input to a daemon's socket and writes the first line of each answer. The
// variables VRAMSCOPE_TEST_… make it do something else.
func beClient(directory string) int {
	if n, _ := strconv.Atoi(os.Getenv("VRAMSCOPE_TEST_FLOOD")); n > 0 {
		return flood(filepath.Join(directory, Name), n)
	}
	if tries, _ := strconv.Atoi(os.Getenv("VRAMSCOPE_TEST_TRIES")); tries > 0 {
		owner, _ := strconv.Atoi(os.Getenv("VRAMSCOPE_TEST_DIAL"))
		fmt.Println(answered(Place{directory, uint32(owner)}, tries))
		return 0
	}
	if os.Getenv("VRAMSCOPE_TEST_DIAL") != "" {
		owner, _ := strconv.Atoi(os.Getenv("VRAMSCOPE_TEST_DIAL"))
		client, err := Dial(context.Background(), []Place{{directory, uint32(owner)}})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println(client.Status().View)
		return 0
	}
	if os.Getenv("VRAMSCOPE_TEST_OWN") != "" {
		fmt.Println(askedAt())
		return 0
	}
	if os.Getenv("VRAMSCOPE_TEST_CLAIM") != "" {
		roots, _ := DialLeases(context.Background(), []Place{{RootDirectory, 0}})
		_, err := (&Server{options: Options{Leaser: granting{}}}).claim(context.Background(), &client{}, &request{}, nil, nil)
		fmt.Println(roots != nil, err)
		return 0
	}
	conn, err := net.Dial("unix", filepath.Join(directory, Name))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	out, in := bufio.NewReader(conn), bufio.NewScanner(os.Stdin)
	for in.Scan() {
		fmt.Fprintln(conn, in.Text())
		line, err := out.ReadString('\n')
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Print(line)
	}
	return 0
}

// askedAt creates both sockets of a daemon of this user, and returns the one that clients dial.
func askedAt() string {
	places := Places(os.Getenv)
	own := places[len(places)-1]
	b, err := listen(own.Directory, Share{0o600, -1})
	if err != nil {
		return err.Error()
	}
	defer b.close()
	conn, err := dial(context.Background(), own.Directory, own.Owner)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = conn.Close() }()
	return conn.RemoteAddr().String()
}

// flood tries to connect the given number of times, keeps the last 64 connections, and writes how
// often it succeeded.
func flood(path string, times int) int {
	var held [64]net.Conn
	got := 0
	for i := range times {
		conn, err := net.Dial("unix", path)
		if err != nil {
			continue
		}
		got++
		if of := &held[i%len(held)]; *of != nil {
			_ = (*of).Close()
		}
		held[i%len(held)] = conn
	}
	fmt.Println(got)
	return 0
}

// answered returns how many of several requests to a daemon are answered.
func answered(place Place, tries int) (n int) {
	for range tries {
		if client, err := Dial(context.Background(), []Place{place}); err == nil {
			n++
			_ = client.Close()
		}
	}
	return n
}

// box is what a test's daemon serves.
type box struct {
	latest  atomic.Pointer[snapshot.Snapshot]
	answers []probe.Answer
}

// secret is what others must never read.
const secret = "secret"

func newBox() *box {
	b := &box{}
	snap := snapshottest.DrawnBox()
	for i := range snap.Rows {
		p := &snap.Rows[i]
		p.Name, p.Command = secret+"-name", []string{"python", secret + ".py", "--token=" + secret}
		p.Job, p.Evictable = process.Job{Kind: "slurm", ID: secret}, []snapshot.Evictable{{Name: secret}}
		p.Optimizer, p.RuntimeVersion = secret, p.RuntimeVersion+"+"+secret
		for j := range p.Allocators {
			p.Allocators[j].Config, p.Allocators[j].Largest = secret, []snapshot.Allocation{{Bytes: 1, Library: secret}}
			p.Allocators[j].Pools = []snapshot.Pool{{Name: secret}}
		}
	}
	for i := range snap.Ended {
		snap.Ended[i].Last.Command = []string{secret}
	}
	holders := []snapshot.Holder{{Name: secret, Command: []string{secret}, Job: process.Job{Kind: "service", ID: secret}}}
	snap.Holders = holders
	for i := range snap.GPUs {
		snap.GPUs[i].Holders = holders
	}
	b.latest.Store(snap)
	size := func(n quantity.Bytes) snapshot.Bytes { return quantity.From(n, quantity.Probe) }
	self, _ := process.NewTable("/proc").Look(os.Getpid())
	b.answers = []probe.Answer{{
		Process: self.Identity, At: time.Now(), Hello: probe.Hello{
			Proto: probe.Version, Runtimes: []probe.Runtime{{Name: "PyTorch", Version: "2.8.0+" + secret}, {Name: secret}},
			Capabilities: []string{"flush"}, Evictable: []probe.Evictable{{Name: secret}},
		},
		Report: probe.Report{TimeNS: time.Now().UnixNano(), Devices: []probe.Device{{UUID: "GPU-1", Allocators: []probe.Allocator{{
			Kind: "pytorch", Basis: probe.Stranded, Reserved: size(30 << 30), Allocated: size(1 << 30), Cached: size(29 << 30), Fragmented: size(0),
			Returnable: size(29 << 30), Config: secret, Largest: []probe.Allocation{{Bytes: 1, Library: secret}}, Pools: []probe.Pool{{Name: secret}},
		}, {Kind: secret, Handle: 4711}}, OutOfMemory: []probe.FailedAllocation{{TimeNS: 1, Bytes: 1, Allocator: secret, API: secret, Library: secret}}}}},
	}}
	return b
}

var failedAllocation = snapshot.OutOfMemory{
	Requested: quantity.From(10*quantity.GiB, quantity.Probe), Free: quantity.From(quantity.GiB, quantity.Probe), Allocator: "pytorch",
	API: "cuMemAlloc", Library: secret + ".so", Config: secret + ":True",
}

// history adds three events to the drawn ones.
type history struct{ snapshot.History }

func (h history) Events(limit int) []snapshot.Event {
	return append([]snapshot.Event{
		{Time: snapshottest.Now(), Kind: snapshot.EventFlush, Message: "flush by " + secret, Name: secret},
		{Time: snapshottest.Now(), Kind: snapshot.EventOutOfMemory, Message: "out of memory", GPUUUID: "GPU-1", OutOfMemory: &failedAllocation},
		{Time: snapshottest.Now(), Kind: snapshot.EventStarted, Message: "started", Name: secret, GPUUUID: "GPU-1"},
	}, h.History.Events(limit)...)
}

// serve starts a server in a directory that other users may enter.
func serve(t *testing.T, b *box, share Share) (directory string, s *Server) {
	t.Helper()
	directory, err := os.MkdirTemp("", "vs")
	if err == nil {
		err = os.Chmod(directory, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	s, err = Listen(Options{
		Directory: directory, Share: share, Latest: b.latest.Load, Answers: func() []probe.Answer { return b.answers },
		History: history{snapshottest.History(b.latest.Load())}, Status: func() Status { return Status{Recording: "off"} },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Serve(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return directory, s
}

func mustShare(t *testing.T, value string) Share {
	t.Helper()
	share, err := ParseShare(value)
	if err != nil {
		t.Fatal(err)
	}
	return share
}

// as runs a client as another user, sends the requests, and returns what the client writes.
func as(t *testing.T, uid, gid uint32, directory, requests string, environ ...string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be several users")
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Others may not enter the directory that the test was built in.
	copied := filepath.Join(directory, "client")
	if content, err := os.ReadFile(executable); err != nil {
		t.Fatal(err)
	} else if _, err := os.Stat(copied); err != nil {
		if err := os.WriteFile(copied, content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(copied)
	cmd.Env = append(append(os.Environ(), asClient+"="+directory), environ...)
	cmd.Stdin, cmd.Dir = strings.NewReader(requests), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
	out, err := cmd.Output()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return string(out)
}

const alice, bob = 12345, 12346

// everything returns requests for the daemon's status, snapshots, reports, events and span.
func everything() string {
	return `{"id":1,"cmd":"hello","proto":"vramscope-daemon/1"}
{"id":2,"cmd":"snapshot"}
{"id":3,"cmd":"reports"}
{"id":4,"cmd":"at","time_ns":` + strconv.FormatInt(snapshottest.Now().Add(-time.Minute).UnixNano(), 10) + `}
{"id":5,"cmd":"events"}
{"id":6,"cmd":"span"}
`
}
