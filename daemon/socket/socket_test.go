package socket

import (
	"bufio"
	"context"
	"encoding/json"
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
	"vramscope/metric"
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

// beClient sends standard input to a daemon's socket and writes the first line of
// each answer; with VRAMSCOPE_TEST_DIAL it uses the Client.
func beClient(directory string) int {
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
		for j := range p.Allocators {
			p.Allocators[j].Config, p.Allocators[j].Largest = secret, []snapshot.Allocation{{Bytes: 1, Library: secret}}
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
	size := func(n quantity.Bytes) *quantity.Bytes { return &n }
	self, _ := process.NewTable("/proc").Look(os.Getpid())
	b.answers = []probe.Answer{{
		Process: self.Identity, At: time.Now(), Hello: probe.Hello{
			Proto: probe.Version, Runtimes: []probe.Runtime{{Name: "PyTorch", Version: "2.8.0"}},
			Capabilities: []string{"flush"}, Evictable: []probe.Evictable{{Name: secret}},
		},
		Report: probe.Report{TimeNS: time.Now().UnixNano(), Devices: []probe.Device{{UUID: "GPU-1", Allocators: []probe.Allocator{{
			Kind: "pytorch", Basis: probe.Stranded, ReservedBytes: size(30 << 30), AllocatedBytes: size(1 << 30), CachedBytes: size(29 << 30), FragmentedBytes: size(0),
			ReturnableBytes: size(29 << 30), Config: secret, Largest: []probe.Allocation{{Bytes: 1, Library: secret}},
		}}}}},
	}}
	return b
}

// history has the events of actions beside the drawn ones.
type history struct{ snapshot.History }

func (h history) Events(limit int) []snapshot.Event {
	return append([]snapshot.Event{
		{Time: snapshottest.Now(), Kind: snapshot.EventFlush, Message: "flush by " + secret, Name: secret},
		{Time: snapshottest.Now(), Kind: snapshot.EventStarted, Message: "started", Name: secret, GPUUUID: "GPU-1"},
	}, h.History.Events(limit)...)
}

// serve starts a daemon's end in a directory that other users may enter.
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

// as runs a client as another user, with requests, and gives what it writes.
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

// everything asks for all that a daemon can be asked.
func everything() string {
	return `{"id":1,"cmd":"hello","proto":"vramscope-daemon/1"}
{"id":2,"cmd":"snapshot"}
{"id":3,"cmd":"reports"}
{"id":4,"cmd":"at","time_ns":` + strconv.FormatInt(snapshottest.Now().Add(-time.Minute).UnixNano(), 10) + `}
{"id":5,"cmd":"events"}
{"id":6,"cmd":"span"}
`
}

func TestOthersReadNumbersOnly(t *testing.T) {
	directory, _ := serve(t, newBox(), mustShare(t, "all"))
	got := as(t, alice, alice, directory, everything())
	for _, want := range []string{`"view":"numbers"`, `"cached_bytes":31138512896`, `"name":"PyTorch"`, `"used_bytes":`, `"message":"started"`, `"oldest_ns":`} {
		if !strings.Contains(got, want) {
			t.Errorf("alice does not get %s in\n%.3000s", want, got)
		}
	}
	for line := range strings.Lines(got) {
		if !strings.Contains(line, `"ok":true`) {
			t.Errorf("refused: %s", line)
		}
	}
	for _, private := range []string{secret, `"flush"`} {
		if at := strings.Index(got, private); at >= 0 {
			t.Errorf("alice reads %q: …%s…", private, got[max(at-200, 0):min(at+100, len(got))])
		}
	}
	// Root's monitor sees all of it.
	if all := as(t, 0, 0, directory, everything()); !strings.Contains(all, secret+".py") || !strings.Contains(all, "flush by "+secret) || !strings.Contains(all, `"view":"all"`) {
		t.Errorf("root does not see everything: %.1000s", all)
	}
}

func TestNothingIsSharedByDefault(t *testing.T) {
	directory, _ := serve(t, newBox(), mustShare(t, "none"))
	if got := as(t, alice, alice, directory, everything()); !strings.Contains(got, "permission denied") {
		t.Errorf("alice gets %.500s", got)
	}
}

func TestGroupReadsNumbers(t *testing.T) {
	directory, _ := serve(t, newBox(), Share{mode: 0o660, group: 4242})
	if got := as(t, alice, 4242, directory, everything()); !strings.Contains(got, `"view":"numbers"`) {
		t.Errorf("a member gets %.500s", got)
	}
	if got := as(t, alice, alice, directory, everything()); !strings.Contains(got, "permission denied") {
		t.Errorf("somebody else gets %.500s", got)
	}
}

func TestShareNamesAGroupThatIsThere(t *testing.T) {
	for value, want := range map[string]string{"none": "", "all": "", "group:root": "", "group:no such group": "there is no group", "some": "neither none"} {
		if _, err := ParseShare(value); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", value, err)
		}
	}
}

// TestOnlyRootsOrOnesOwnDaemonIsTrusted: another user's socket is not spoken to.
func TestOnlyRootsOrOnesOwnDaemonIsTrusted(t *testing.T) {
	directory, _ := serve(t, newBox(), mustShare(t, "all"))
	if got := as(t, alice, alice, directory, "", "VRAMSCOPE_TEST_DIAL=0"); got != "numbers\n" {
		t.Errorf("root's daemon: %q", got)
	}
	// The directory is alice's as far as she says; it is root's.
	if got := as(t, alice, alice, directory, "", "VRAMSCOPE_TEST_DIAL="+strconv.Itoa(alice)); !strings.Contains(got, "belongs to user 0") {
		t.Errorf("a directory of root's taken for her own: %q", got)
	}
	for name, spoil := range map[string]func() error{
		"belongs to user":        func() error { return os.Lchown(directory, bob, bob) },
		"can be written by":      func() error { return os.Chmod(directory, 0o777) },
		"is not a socket of":     func() error { return os.Lchown(filepath.Join(directory, Name), bob, bob) },
		"is a symbolic link, or": nil,
	} {
		place := Place{directory, 0}
		if spoil == nil {
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(directory, link); err != nil {
				t.Fatal(err)
			}
			place.Directory = link
		} else if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, err := Dial(t.Context(), []Place{place}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if err := errors.Join(os.Lchown(directory, 0, 0), os.Chmod(directory, 0o755), os.Lchown(filepath.Join(directory, Name), 0, 0)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSquattersSocketIsRefused: whoever listens must be who owns the socket.
func TestSquattersSocketIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be several users")
	}
	directory, err := os.MkdirTemp("", "vs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	listener, err := net.Listen("unix", filepath.Join(directory, Name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if err := errors.Join(os.Lchown(directory, bob, bob), os.Lchown(filepath.Join(directory, Name), bob, bob)); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), []Place{{directory, bob}}); err == nil || !strings.Contains(err.Error(), "is served by user 0") {
		t.Errorf("%v", err)
	}
}

func TestSocketComesBackAfterItsDirectoryVanished(t *testing.T) {
	directory, s := serve(t, newBox(), mustShare(t, "none"))
	if err := os.Remove(filepath.Join(directory, Name)); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	gone := !s.bound.there()
	err := s.rebind()
	s.mu.Unlock()
	if !gone || err != nil {
		t.Fatalf("%t, %v", gone, err)
	}
	client, err := Dial(t.Context(), []Place{{directory, uint32(os.Geteuid())}})
	if err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
}

func connect(t *testing.T, directory string) *net.UnixConn {
	t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(directory, Name), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestHostileClientsAreCutOff: none keeps the daemon's memory, and others are served.
func TestHostileClientsAreCutOff(t *testing.T) {
	directory, _ := serve(t, newBox(), mustShare(t, "all"))
	endless := connect(t, directory)
	go func() { // a request without an end
		for {
			if _, err := endless.Write([]byte(strings.Repeat("x", 1<<10))); err != nil {
				return
			}
		}
	}()
	_ = endless.SetReadDeadline(time.Now().Add(time.Minute))
	answer, err := bufio.NewReader(endless).ReadString('\n')
	if err == nil && !strings.Contains(answer, "bad_request") {
		t.Errorf("an endless request is answered %q", answer)
	}
	deaf := connect(t, directory)
	_ = deaf.SetWriteDeadline(time.Now().Add(time.Minute))
	began := time.Now()
	for { // it never reads
		if _, err := deaf.Write([]byte(`{"id":1,"cmd":"snapshot"}` + "\n")); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("a client that does not read stays connected")
			}
			break
		}
	}
	t.Logf("cut off after %s", time.Since(began))
	if _, err := Dial(t.Context(), []Place{{directory, uint32(os.Geteuid())}}); err != nil {
		t.Errorf("another client: %v", err)
	}
}

func TestClientsAreLimited(t *testing.T) {
	s := &Server{open: make(map[*net.UnixConn]uint32)}
	admit := func(uid uint32, most int) (n int) {
		for ; n < most && !s.full(uid); n++ {
			s.open[&net.UnixConn{}] = uid
		}
		return n
	}
	if n := admit(alice, 100); n != mostOfAUser {
		t.Errorf("alice has %d connections", n)
	}
	for uid := range uint32(100) {
		admit(100_000+uid, 100)
	}
	if len(s.open) != mostOthers {
		t.Errorf("others have %d", len(s.open))
	}
	if n := admit(0, 100); n != mostOwners {
		t.Errorf("root has %d", n)
	}
}

// TestBudgetBoundsAClient: what a client asks for in a loop takes its rate of a core.
func TestBudgetBoundsAClient(t *testing.T) {
	b := newBudget(.02, 10*time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	cost := time.Duration(0)
	began := time.Now()
	for ctx.Err() == nil {
		cost += b.use(ctx, func() time.Duration { return 5 * time.Millisecond })
	}
	// Saved up, earned, and the one request that went into debt.
	if most := 10*time.Millisecond + time.Duration(.02*float64(time.Since(began))) + 5*time.Millisecond; cost > most {
		t.Errorf("used %s of at most %s", cost, most)
	}
	if cost < 15*time.Millisecond {
		t.Errorf("used only %s", cost)
	}
}

// TestSnapshotIsMadeOnceForAll: many clients cost little more than one.
func TestSnapshotIsMadeOnceForAll(t *testing.T) {
	b := newBox()
	_, s := serve(t, b, mustShare(t, "none"))
	first := s.newest(1, cmdSnapshot, false)
	second := s.newest(2, cmdSnapshot, false)
	if string(first[len(`{"id":1`):]) != string(second[len(`{"id":1`):]) {
		t.Error("two clients get different answers")
	}
	made := &s.cache.lines[cacheKey{cmdSnapshot, false}].rest[0]
	s.newest(3, cmdSnapshot, false)
	if made != &s.cache.lines[cacheKey{cmdSnapshot, false}].rest[0] {
		t.Error("it is made again")
	}
	next := *b.latest.Load()
	b.latest.Store(&next)
	s.newest(4, cmdSnapshot, false)
	if made == &s.cache.lines[cacheKey{cmdSnapshot, false}].rest[0] {
		t.Error("the next snapshot's is not made")
	}
}

func TestRequestsAreChecked(t *testing.T) {
	_, s := serve(t, newBox(), mustShare(t, "none"))
	for request, want := range map[string]string{
		`x`:                      "a request is a JSON object",
		`[]`:                     "a request is a JSON object",
		`{}`:                     "no such command",
		`{"id":7,"cmd":"flush"}`: `{"id":7,"ok":false,"error":{"code":"unknown_command"`,
		`{"id":1,"cmd":"hello","proto":"vramscope-daemon/2"}`:                                                                      "wrong_version",
		`{"id":1,"cmd":"hello","proto":"vramscope-daemon/1.3"}`:                                                                    `"ok":true`,
		`{"id":1,"cmd":"series","metric":"used_bytes","gpu":"GPU-1","from_ns":1,"to_ns":2,"buckets":1000000000}`:                   "buckets is",
		`{"id":1,"cmd":"series","metric":"used_bytes","gpu":"GPU-1","from_ns":2,"to_ns":1,"buckets":1}`:                            "is no time",
		`{"id":1,"cmd":"series","metric":"used_bytes","gpu":"GPU-1","from_ns":0,"to_ns":9223372036854775807,"buckets":1}`:          "at most 192h0m0s",
		`{"id":1,"cmd":"series","metric":"nothing","gpu":"GPU-1","from_ns":1,"to_ns":2,"buckets":1}`:                               "no such metric",
		`{"id":1,"cmd":"series","metric":"used_bytes","gpu":"` + strings.Repeat("x", 100) + `","from_ns":1,"to_ns":2,"buckets":1}`: "gpu has 100 bytes",
		`{"id":1,"cmd":"at","time_ns":1}`: "not_found",
	} {
		got := string(s.reply([]byte(request), false))
		if !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %s", request, got)
		}
	}
}

// FuzzRequest: whatever a client sends is answered with one line of JSON, which
// shows nothing to others.
func FuzzRequest(f *testing.F) {
	for line := range strings.Lines(everything()) {
		f.Add([]byte(line), true)
	}
	f.Add([]byte(`{"id":1,"cmd":"series","metric":"used_bytes","gpu":"GPU-1","pid":1,"from_ns":1,"to_ns":2,"buckets":3,"gpu_instance":1,"compute_instance":0}`), false)
	b := newBox()
	s := &Server{options: Options{
		Latest: b.latest.Load, Answers: func() []probe.Answer { return b.answers },
		History: history{snapshottest.History(b.latest.Load())}, Status: func() Status { return Status{} },
	}}
	f.Fuzz(func(t *testing.T, line []byte, owner bool) {
		got := s.reply(line, owner)
		if !json.Valid(got) || got[len(got)-1] != '\n' {
			t.Errorf("%q is answered %q", line, got)
		}
		if !owner && strings.Contains(string(got), secret) && !strings.Contains(string(line), secret) {
			t.Errorf("%q shows a secret: %s", line, got)
		}
	})
}

// FuzzAnswer: whatever a daemon sends, a monitor takes figures that can be, or none.
func FuzzAnswer(f *testing.F) {
	b := newBox()
	s := &Server{options: Options{
		Latest: b.latest.Load, Answers: func() []probe.Answer { return b.answers },
		History: history{snapshottest.History(b.latest.Load())}, Status: func() Status { return Status{} },
	}}
	for line := range strings.Lines(everything()) {
		f.Add(s.reply([]byte(line), true))
	}
	f.Add([]byte(`{"id":1,"ok":true,"processes":[{"pid":1,"start_time_ticks":1,"time_ns":1,"devices":[{"uuid":"GPU-1","allocators":[{"kind":"x","reserved_bytes":-1}]}]}],"points":[null,[1,2,3]]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var a answer
		if decode(line, &a) != nil {
			return
		}
		now := time.Now()
		for i := range a.Processes {
			one, err := a.Processes[i].Answer(now)
			if err != nil {
				continue
			}
			if one.Process.Foreign() || one.At.After(now) || !one.Daemon || len(one.Hello.Capabilities) > 0 {
				t.Errorf("taken: %+v", one)
			}
		}
		for i := range a.Events {
			e := a.Events[i].snapshot()
			_ = e.Message
		}
	})
}

// TestReaderPrefersItsOwnAnswers: the daemon's word is for processes that this
// user may not ask.
func TestReaderPrefersItsOwnAnswers(t *testing.T) {
	id := func(pid int, ns uint64) process.Identity {
		return process.Identity{PID: pid, StartTime: 10, Namespace: ns}
	}
	at := time.Now()
	own := []probe.Answer{{Process: id(1, 5), At: at}, {Process: id(2, 0), Err: errors.New("silent")}}
	r := NewReader(fixed(own), []Place{}, time.Now)
	if got := r.Answers(); len(got) != 2 {
		t.Errorf("without a daemon: %+v", got)
	}
	r.answers.Store(&[]probe.Answer{{Process: id(1, 0), At: at, Daemon: true}, {Process: id(2, 7), At: at, Daemon: true}, {Process: id(3, 7), At: at, Daemon: true}})
	got := r.Answers()
	if len(got) != 3 || got[0].Daemon || !got[1].Daemon || !got[2].Daemon {
		t.Errorf("%+v", got)
	}
	if own[1].Daemon {
		t.Error("the monitor's own answers were changed")
	}
}

type fixed []probe.Answer

func (f fixed) Answers() []probe.Answer { return f }
func (f fixed) Unasked() int            { return 0 }

func TestNoDaemonIsNoError(t *testing.T) {
	for _, places := range [][]Place{nil, {{t.TempDir(), uint32(os.Geteuid())}}, {{"/nonexistent", 0}}} {
		if client, err := Dial(t.Context(), places); client != nil || !Absent(err) {
			t.Errorf("%v: %v", places, err)
		}
	}
}

func TestSeriesRequestNamesItsSeries(t *testing.T) {
	in := snapshot.InstanceID{MIG: true, GPU: 3, Compute: 0}
	for _, key := range []snapshot.SeriesKey{
		{Metric: metric.Used, GPUUUID: "GPU-1"},
		{Metric: metric.Used, GPUUUID: "GPU-1", Instance: in},
		{Metric: metric.Cached, GPUUUID: "GPU-1", Row: snapshot.RowID{Process: process.Identity{PID: 1, StartTime: 2, Namespace: 3}, GPUUUID: "GPU-1"}},
		{Metric: metric.CPU, GPUUUID: "GPU-1", Instance: in, Row: snapshot.RowID{Process: process.Identity{PID: 1, StartTime: 2}, GPUUUID: "GPU-1", Instance: in}},
	} {
		r := seriesRequest(key, time.Unix(1, 0), time.Unix(2, 0), 5)
		if r.key() != key || r.check() != nil {
			t.Errorf("%+v: %+v, %v", key, r.key(), r.check())
		}
	}
}
