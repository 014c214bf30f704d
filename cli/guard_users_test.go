package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// neighbour is a process of a box that several users share: its probe reports memory that
// is cached, and frees it, or never answers a flush where the program is called "hangs".
// It obeys the lines on its standard input:
//
//	cached BYTES         it caches BYTES from now on
//	ask TIMES BYTES      it asks the daemon TIMES times for BYTES, and prints a line for each answer
//
// It prints "flush" when it is flushed. The flush ends when a line says what it caches.
type neighbour struct {
	uuid      string
	allocated quantity.Bytes
	cached    atomic.Int64
	received  chan struct{}
}

func beNeighbour() {
	n := &neighbour{uuid: os.Args[1], received: make(chan struct{}, 1)}
	for i, to := range []func(int64){func(v int64) { n.allocated = quantity.Bytes(v) }, n.cached.Store} {
		v, err := strconv.ParseInt(os.Args[2+i], 10, 64)
		if err != nil {
			fail(err)
		}
		to(v)
	}
	go n.obey()
	fail(serveProbe(context.Background(), n.answer, func() error { return nil }))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "neighbour:", err)
	os.Exit(1)
}

func (n *neighbour) obey() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var times int
		var bytes int64
		if _, err := fmt.Sscanf(in.Text(), "cached %d", &bytes); err == nil {
			n.cached.Store(bytes)
			select {
			case n.received <- struct{}{}:
			default: // it has received one already
			}
			continue
		}
		if _, err := fmt.Sscanf(in.Text(), "ask %d %d", &times, &bytes); err != nil {
			fail(err)
		}
		go n.ask(times, bytes)
	}
	os.Exit(0)
}

// ask asks the daemon, and writes for each answer "served" or the refusal's code.
func (n *neighbour) ask(times int, bytes int64) {
	conn, err := net.Dial("unix", filepath.Join(os.Getenv("VRAMSCOPE_TEST_ROOTS_DAEMON"), "daemon.sock"))
	if err != nil {
		fail(err)
	}
	defer func() { _ = conn.Close() }() // the outcome has been sent
	in := bufio.NewScanner(conn)
	for range times {
		var a struct {
			OK    bool        `json:"ok"`
			Error probe.Error `json:"error"`
		}
		fmt.Fprintf(conn, `{"id":1,"cmd":"rescue","gpu":%q,"bytes":%d}`+"\n", n.uuid, bytes)
		if !in.Scan() || json.Unmarshal(in.Bytes(), &a) != nil {
			fmt.Println("lost")
			return
		}
		if !a.OK {
			fmt.Println(a.Error.Code, a.Error.Message)
			continue
		}
		fmt.Println("served")
		fmt.Fprintln(conn, `{"id":2,"cmd":"rescued","succeeded":true}`)
		in.Scan()
	}
}

func (n *neighbour) answer(cmd string, _ *os.File) (any, error) {
	switch cmd {
	case "hello":
		return ofThisProcess(probe.Hello{Runtimes: []probe.Runtime{{Name: "PyTorch", Version: "2.8.0"}}, Capabilities: []string{"flush"}})
	case "stats":
		var a probe.Allocator
		cached := n.cached.Load()
		err := json.Unmarshal(fmt.Appendf(nil, `{"kind":"pytorch","basis":"stranded","reserved_bytes":%d,"allocated_bytes":%d,"cached_bytes":%d,"fragmented_bytes":0,"returnable_bytes":%d}`,
			int64(n.allocated)+cached, int64(n.allocated), cached, cached), &a)
		return probe.Report{TimeNS: time.Now().UnixNano(), Devices: []probe.Device{{UUID: n.uuid, Allocators: []probe.Allocator{a}}}}, err
	case "flush":
		return n.flush()
	}
	return nil, &probe.Error{Code: probe.Unsupported}
}

func (n *neighbour) flush() (probe.FlushResult, error) {
	if filepath.Base(os.Args[0]) == "hangs" {
		select {}
	}
	before := n.allocated + quantity.Bytes(n.cached.Load())
	select {
	case <-n.received: // before this flush
	default:
	}
	fmt.Println("flush")
	<-n.received
	after := n.allocated + quantity.Bytes(n.cached.Load())
	return probe.FlushResult{Devices: []probe.Flushed{{UUID: n.uuid, BeforeBytes: before, AfterBytes: after, FreedBytes: before - after}}}, nil
}

// sharedBox is a box with root's daemon and neighbours.
type sharedBox struct {
	*usersPlace
	mu    sync.Mutex
	state fakedriver.State
}

// tenant is a neighbour as the test sees it.
type tenant struct {
	box               *sharedBox
	cmd               *exec.Cmd
	in                io.Writer
	gpu               int
	allocated, cached int64
	caches            atomic.Int64 // the bytes that it caches now
	answers           chan string
	flushed           chan time.Time
}

func newSharedBox(t *testing.T, gpus int, config string) *sharedBox {
	t.Helper()
	b := &sharedBox{usersPlace: newUsersPlace(t), state: fakedriver.Box(gpus, 0)}
	for _, name := range []string{"asks", "caches", "hangs"} {
		if err := os.Link(filepath.Join(b.dir, "vramscope"), filepath.Join(b.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(b.dir, "root", "vramscope", "config.toml")
	if err := errors.Join(os.Chown(b.dir, 0, 0), os.Mkdir(filepath.Dir(file), 0o755), os.Chmod(filepath.Join(b.dir, "root"), 0o711), os.WriteFile(file, []byte(config), 0o600)); err != nil {
		t.Fatal(err)
	}
	b.change(func() {})
	return b
}

func (b *sharedBox) change(what func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	what()
	if err := b.state.Write(filepath.Join(b.dir, "state")); err != nil {
		b.Error(err)
	}
}

const (
	contextBytes = 200 << 20
	none         = -1 // a process that is on no GPU, and asks about the first one
)

// tenant starts a neighbour.
func (b *sharedBox) tenant(uid int, program string, gpu int, allocated, cached int64) *tenant {
	b.Helper()
	home := strconv.Itoa(uid)
	if err := os.MkdirAll(filepath.Join(b.dir, home), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.Chown(filepath.Join(b.dir, home), uid, uid); err != nil {
		b.Fatal(err)
	}
	n := &tenant{box: b, gpu: gpu, allocated: allocated, cached: cached, answers: make(chan string, 4096), flushed: make(chan time.Time, 64)}
	n.caches.Store(cached)
	n.cmd = b.as(home, uid, program, b.state.GPUs[max(gpu, 0)].UUID, strconv.FormatInt(allocated, 10), strconv.FormatInt(cached, 10))
	in, err := n.cmd.StdinPipe()
	out, err2 := n.cmd.StdoutPipe()
	if err := errors.Join(err, err2); err != nil {
		b.Fatal(err)
	}
	n.in = in
	b.start(n.cmd)
	if gpu != none {
		b.change(func() {
			b.state.GPUs[gpu].Start(fakedriver.NewProcess(uint64(n.cmd.Process.Pid), uint64(allocated+cached+contextBytes)))
		})
	}
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if lines.Text() != "flush" {
				n.answers <- lines.Text()
				continue
			}
			n.cache(0)
			n.flushed <- time.Now()
		}
	}()
	return n
}

// cache makes the tenant cache this many bytes.
func (n *tenant) cache(bytes int64) {
	n.caches.Store(bytes)
	n.box.change(func() {
		n.box.state.GPUs[n.gpu].Resize(uint64(n.cmd.Process.Pid), uint64(n.allocated+bytes+contextBytes))
	})
	fmt.Fprintf(n.in, "cached %d\n", bytes)
}

// guarded starts root's daemon, and waits until it knows the cache of the given number of
// processes.
func (b *sharedBox) guarded(processes int) (log func() string) {
	b.Helper()
	file, err := os.Create(filepath.Join(b.dir, "log"))
	if err != nil {
		b.Fatal(err)
	}
	log = func() string {
		content, _ := os.ReadFile(file.Name()) // it was made
		return string(content)
	}
	daemon := b.as("root", 0, "vramscope", "daemon")
	daemon.Stderr = file
	b.start(daemon)
	if !eventually(func() bool {
		known := 0
		for _, cached := range b.cached() {
			if cached.Known() {
				known++
			}
		}
		return known == processes
	}) {
		b.Fatalf("the daemon does not know what all processes cache:\n%s", log())
	}
	return log
}

// cached returns the daemon's figure for the cache of each process.
func (b *sharedBox) cached() map[int]snapshot.Bytes {
	var a struct {
		Snapshot schema.Document `json:"snapshot"`
	}
	conn, err := net.Dial("unix", filepath.Join(b.dir, "root", "vramscope", "daemon.sock"))
	if err != nil {
		return nil
	}
	defer func() { _ = conn.Close() }() // it has answered
	fmt.Fprintln(conn, `{"id":1,"cmd":"snapshot"}`)
	if json.NewDecoder(conn).Decode(&a) != nil {
		return nil
	}
	cached := make(map[int]snapshot.Bytes)
	for _, g := range a.Snapshot.GPUs {
		for _, p := range g.Processes {
			cached[p.PID] = p.CachedBytes
		}
	}
	return cached
}

// full reports whether each tenant caches this many bytes, and the daemon knows it.
func (b *sharedBox) full(tenants []*tenant, bytes quantity.Bytes) bool {
	for _, n := range tenants {
		if n.caches.Load() != int64(bytes) {
			return false
		}
	}
	known := b.cached()
	return !slices.ContainsFunc(tenants, func(n *tenant) bool { return known[n.cmd.Process.Pid].Or(0) != bytes })
}

// pauses sends root's request to pause the guard the given number of times, and returns how many
// requests were answered.
func (b *sharedBox) pauses(times int) (answered int) {
	conn, err := net.Dial("unix", filepath.Join(b.dir, "root", "vramscope", "daemon.sock"))
	if err != nil {
		b.Error(err)
		return 0
	}
	defer func() { _ = conn.Close() }() // all is answered
	in := bufio.NewScanner(conn)
	in.Buffer(nil, 1<<20)
	for range times {
		fmt.Fprintln(conn, `{"id":1,"cmd":"guard_pause","for_ns":0}`)
		if in.Scan() && strings.HasPrefix(in.Text(), `{"id":1,"ok":true`) {
			answered++
		}
	}
	return answered
}

const gib = 1 << 30

const (
	hostileUser = 12350
	honestUser  = 12351 // and the next two
)

// TestHonestUsersBesideAHostileOne: the probes of a hostile user's fifty processes hang in a flush, and
// four of that user's processes, two of them on no GPU, ask for rescues without end. Meanwhile root's
// guard, which has no rules, answers the rescues of three users and root's own requests.
func TestHonestUsersBesideAHostileOne(t *testing.T) {
	b := newSharedBox(t, 1, `[daemon]
share = "all"
[guard]
mode = "act"
max_per_minute = 60
[[guard.importance]]
match = { command = "asks*" }
value = 500
[[guard.importance]]
match = { command = "hangs*" }
value = -500
[[guard.importance]]
match = { command = "caches*" }
`)
	const caching, asking = 6 * gib, 20 * gib
	tries := 4
	if os.Getenv("VRAMSCOPE_FULL") != "" {
		tries = 8
	}
	var asks, caches, hangs []*tenant
	for i := range 3 {
		asks = append(asks, b.tenant(honestUser+i, "asks", 0, 10*gib, 0))
		caches = append(caches, b.tenant(honestUser+i, "caches", 0, 0, caching))
	}
	for range 50 {
		hangs = append(hangs, b.tenant(hostileUser, "hangs", 0, 0, 100<<20))
	}
	log := b.guarded(56)
	strangers := []*tenant{b.tenant(hostileUser, "hangs", none, 0, 0), b.tenant(hostileUser, "hangs", none, 0, 0)}

	ctx, end := context.WithCancel(t.Context())
	var flood, honest sync.WaitGroup
	var floods atomic.Int64
	for _, n := range append(strangers, hangs[:2]...) {
		flood.Go(func() {
			for ctx.Err() == nil {
				fmt.Fprintf(n.in, "ask 50 %d\n", int64(asking))
				for range 50 {
					<-n.answers
					floods.Add(1)
				}
			}
		})
	}
	flood.Go(func() { // what was freed is used again
		for ctx.Err() == nil {
			for _, n := range caches {
				select {
				case <-n.flushed:
					time.Sleep(300 * time.Millisecond)
					n.cache(caching)
				case <-time.After(10 * time.Millisecond):
				}
			}
		}
	})
	served := 0
	honest.Go(func() {
		for range tries {
			if !eventually(func() bool { return b.full(caches, caching) }) {
				t.Error("what was freed is not known to be cached again")
				return
			}
			for _, n := range asks {
				fmt.Fprintf(n.in, "ask 1 %d\n", int64(asking))
			}
			for _, n := range asks {
				if answer := <-n.answers; answer == "served" {
					served++
				} else {
					t.Log(answer)
				}
			}
		}
	})
	paused := b.pauses(1000)
	honest.Wait()
	if !eventually(func() bool { return floods.Load() >= 1000 }) {
		t.Error("the hostile user's requests are not answered")
	}
	end()
	flood.Wait()
	refused := strings.Count(log(), "not rescued")
	t.Logf("%d of %d rescues, %d of 1000 pauses, beside %d requests, %d refusals in the log", served, 3*tries, paused, floods.Load(), refused)
	if 10*served < 9*3*tries || paused < 990 {
		t.Errorf("it logged\n%s", log())
	}
	if refused > 10 {
		t.Errorf("%d events of refusals", refused)
	}
}

// TestRuleBesideAHostileUser: alice's cache is flushed at most five seconds later than without the
// hostile user's fifty processes.
func TestRuleBesideAHostileUser(t *testing.T) {
	needs.Full(t)
	const config = `[daemon]
share = "all"
[guard]
mode = "act"
[[guard.rule]]
name = "room"
users = "all"
when = { free_below = "10%", for = "5s" }
goal = { free = "60%" }
[[guard.importance]]
match = { command = "hangs*" }
value = -500
`
	var took [2]time.Duration
	var both sync.WaitGroup
	for i, hostile := range []int{0, 50} {
		b := newSharedBox(t, 2, config)
		var caches []*tenant
		for n := range hostile { // five on alice's GPU, the others make the first one full
			if n < 5 {
				b.tenant(hostileUser, "hangs", 1, 0, 420<<20)
			} else {
				b.tenant(hostileUser, "hangs", 0, 3*gib/2, 420<<20)
			}
		}
		b.tenant(honestUser+1, "asks", 1, 22*gib, 0)
		began := time.Now()
		for range 2 {
			caches = append(caches, b.tenant(honestUser, "caches", 1, 0, 25*gib))
		}
		log := b.guarded(hostile + 3)
		both.Go(func() {
			for _, n := range caches {
				select {
				case at := <-n.flushed:
					took[i] = max(took[i], at.Sub(began))
				case <-time.After(3 * time.Minute):
					t.Errorf("beside %d hostile processes it is not flushed:\n%s", hostile, log())
					return
				}
			}
		})
	}
	both.Wait()
	t.Logf("flushed after %s alone, %s beside the hostile user", took[0], took[1])
	if took[1] > took[0]+5*time.Second {
		t.Error("that is too late")
	}
}
