package leasing

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"vramscope/guard"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/lease"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/schema"
)

// world is a keeper on one GPU of 80 GiB. The test sets how much is free, and which processes use it.
type world struct {
	*testing.T
	*Keeper
	free   quantity.Bytes
	rows   []snapshot.Process
	mu     sync.Mutex
	events []snapshot.Event
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, free: 80 * quantity.GiB}
	w.open(t.TempDir())
	return w
}

func (w *world) open(directory string) {
	w.Helper()
	var err error
	w.Keeper, err = Open(Options{
		Directory: directory, Reserve: quantity.GiB, Importance: (&guard.Policy{}).OfClaims(), Table: process.NewTable("/proc"), Now: time.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Note: func(e snapshot.Event) { w.mu.Lock(); defer w.mu.Unlock(); w.events = append(w.events, e) },
	})
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) sample() {
	bytes := func(n quantity.Bytes) snapshot.Bytes { return quantity.From(n, quantity.Driver) }
	g := snapshot.GPU{Index: 4, UUID: "GPU-4", State: snapshot.GPUOK, ProcessCount: quantity.From(len(w.rows), quantity.Driver),
		Memory: snapshot.Memory{Total: bytes(80 * quantity.GiB), Free: bytes(w.free)}}
	w.apply(&snapshot.Snapshot{Time: time.Now(), Driver: snapshot.Driver{State: snapshot.DriverOK}, GPUs: []snapshot.GPU{g}, Rows: w.rows})
}

// uses adds a process on the GPU.
func (w *world) uses(pid int, used quantity.Bytes) {
	w.Helper()
	id, err := w.Table.Identify(pid)
	if err != nil {
		w.Fatal(err)
	}
	uid := quantity.From(uint32(os.Geteuid()), quantity.System)
	w.rows = append(w.rows, snapshot.Process{ID: snapshot.RowID{Process: id, GPUUUID: "GPU-4"}, UID: uid, User: "me", Used: quantity.From(used, quantity.Driver)})
	w.free -= used
}

// start starts a shell, and returns its first line of output.
func (w *world) start(script string) (*exec.Cmd, string) {
	w.Helper()
	cmd := exec.Command("sh", "-c", script)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		_ = cmd.Process.Kill() // the process may have ended
		_ = cmd.Wait()         // how it ended does not matter
	})
	line := make([]byte, 100)
	n, _ := out.Read(line) // nothing, if the shell writes nothing
	return cmd, strings.TrimSpace(string(line[:n]))
}

func (w *world) claim(c lease.Claim, pid int) schema.Lease {
	w.Helper()
	c.Count, c.UID = 1, uint32(os.Geteuid())
	if pid > 0 {
		var err error
		if c.Process, err = w.Table.Identify(pid); err != nil {
			w.Fatal(err)
		}
	}
	given, err := w.Claim(context.Background(), nil, lease.Ask{Claim: c}, nil)
	if err != nil {
		w.Fatal(err)
	}
	return given
}

// list returns the leases in words: "held 20.0G uses 4.00G".
func (w *world) list() string {
	var all []string
	for _, l := range w.Leases(uint32(os.Geteuid())) {
		s := l.State + " " + l.NeedBytes.String()
		for _, g := range l.GPUs {
			if used, known := g.UsedBytes.Value(); known {
				s += " uses " + used.String()
			}
		}
		all = append(all, s)
	}
	return strings.Join(all, "; ")
}

func (w *world) lists(want string) {
	w.Helper()
	if got := w.list(); got != want {
		w.Errorf("the leases are %q, want %q", got, want)
	}
}

// TestTreeBelongsToItsLease: a process that has left the tree of a lease still belongs to the lease,
// which ends with its last process.
func TestTreeBelongsToItsLease(t *testing.T) {
	w := newWorld(t)
	w.sample()
	shell, line := w.start("sleep 1000 & echo $!; wait")
	child, _ := strconv.Atoi(line)
	w.claim(lease.Claim{Need: 20 * quantity.GiB, TTL: time.Millisecond}, shell.Process.Pid)
	w.uses(child, 4*quantity.GiB)
	w.sample()
	w.lists("held 20.0G uses 4.00G")
	_ = shell.Process.Kill() // now the child has another parent
	_ = shell.Wait()         // killed above
	w.sample()
	w.lists("held 20.0G uses 4.00G")
	if p, _ := os.FindProcess(child); p != nil {
		_ = p.Kill() // the last process
	}
	for range 1000 {
		if links, _ := w.Table.Links(); links[child].Start == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	w.sample()
	w.lists("")
}

// TestEnvironmentNamesALease: a process belongs to the lease that its environment names, if the claim
// was for no process, or if the process left the lease's tree unseen.
func TestEnvironmentNamesALease(t *testing.T) {
	w := newWorld(t)
	w.sample()
	given := w.claim(lease.Claim{Need: 20 * quantity.GiB, TTL: time.Minute}, 0)
	t.Setenv(lease.Variable, string(given.ID))
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.uses(cmd.Process.Pid, 7*quantity.GiB)
	w.sample()
	w.lists("held 20.0G uses 7.00G")

	quick := exec.Command("true")
	if err := quick.Start(); err != nil {
		t.Fatal(err)
	}
	left := w.claim(lease.Claim{Need: 10 * quantity.GiB}, quick.Process.Pid)
	_ = quick.Wait() // the process has ended
	t.Setenv(lease.Variable, string(left.ID))
	orphan, _ := w.start("exec sleep 1000 >&-")
	w.sample()
	w.lists("held 20.0G uses 7.00G; held 10.0G uses 0")
	_ = orphan.Process.Kill() // the last process of the second lease
	_ = orphan.Wait()         // killed above
	w.rows = nil
	_ = cmd.Process.Kill() // the last process of the first lease
	_ = cmd.Wait()         // killed above
	w.sample()
	w.lists("")
}

func TestLeasesSurviveTheDaemon(t *testing.T) {
	w := newWorld(t)
	w.sample()
	shell, _ := w.start("echo; exec sleep 1000")
	w.claim(lease.Claim{Need: 60 * quantity.GiB}, shell.Process.Pid)
	var ticket string
	ctx, crash := context.WithCancel(context.Background())
	waiting := lease.Ask{Claim: lease.Claim{Need: 30 * quantity.GiB, Count: 1, UID: uint32(os.Geteuid())}, Wait: time.Hour}
	_, err := w.Claim(ctx, nil, waiting, func(l schema.Lease) error { ticket = string(l.ID); crash(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the daemon ended, and the claim with %v", err)
	}
	w.open(w.Directory)
	w.sample()
	w.lists("held 60.0G uses 0; waiting 30.0G")
	waiting.Ticket = ticket
	again, err := w.Claim(context.Background(), nil, waiting, func(schema.Lease) error {
		_ = shell.Process.Kill() // this ends its lease
		_ = shell.Wait()         // killed above
		w.sample()
		return nil
	})
	if err != nil || string(again.ID) != ticket {
		t.Errorf("lease %s, %v: want %s", again.ID, err, ticket)
	}
	// A tail in the newest file is ignored. If the file is cut off or of another boot, the previous
	// file counts.
	newest := w.journal.path + "." + strconv.Itoa(w.journal.turn%2)
	written, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	for broken, want := range map[string]string{
		string(written) + "tail of a longer one":                    "held 30.0G",
		string(written[:len(written)/2]):                            "held 60.0G; waiting 30.0G",
		strings.Replace(string(written), boot(), "another boot", 1): "held 60.0G; waiting 30.0G",
	} {
		if err := os.WriteFile(newest, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		w.open(w.Directory)
		w.lists(want)
	}
	for turn := range 2 {
		if err := os.WriteFile(w.journal.path+"."+strconv.Itoa(turn), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(w.Options); err == nil {
		t.Error("half a ledger is taken for one")
	}
}

// TestUnwrittenLeaseIsNotGiven: a restart would lose an unwritten lease.
func TestUnwrittenLeaseIsNotGiven(t *testing.T) {
	w := newWorld(t)
	w.sample()
	w.journal.path = filepath.Join(w.Directory, "no", "leases")
	if _, err := w.Claim(context.Background(), nil, lease.Ask{Claim: lease.Claim{Need: quantity.GiB, Count: 1}}, nil); err == nil {
		t.Error("a lease was given and not written down")
	}
	w.lists("")
}

func TestLeavingEndsAWait(t *testing.T) {
	w := newWorld(t)
	w.sample()
	w.claim(lease.Claim{Need: 60 * quantity.GiB, TTL: time.Hour}, 0)
	left := make(chan struct{})
	close(left)
	for what, ask := range map[string]lease.Ask{"left": {Wait: time.Hour}, "in time": {Wait: time.Nanosecond}, "at once": {}} {
		ask.Claim = lease.Claim{Need: 30 * quantity.GiB, Count: 1}
		gone := left
		if what != "left" {
			gone = nil
		}
		_, err := w.Claim(context.Background(), gone, ask, func(schema.Lease) error { return nil })
		if refusal, is := errors.AsType[*lease.Refusal](err); !is || refusal.Never || refusal.Reason != "needs 30.0G, most free is GPU 4 with 19.0G (leases there may still take 60.0G)" {
			t.Errorf("%s: %v", what, err)
		}
	}
	w.lists("held 60.0G uses 0")
}

func TestTroublesAreEvents(t *testing.T) {
	w := newWorld(t)
	w.sample()
	w.claim(lease.Claim{Need: 60 * quantity.GiB, TTL: time.Hour}, 0)
	w.uses(os.Getpid(), 30*quantity.GiB)
	w.sample()
	if len(w.events) > 0 {
		t.Errorf("one reading makes an event: %+v", w.events)
	}
	w.sample()
	want := "10.0G of what leases were promised on GPU 4 was taken without a lease; the largest there is PID " + strconv.Itoa(os.Getpid()) + " (me) with 30.0G"
	if note := w.Leases(0)[0].Note; string(note) != want {
		t.Errorf("the note is %q, want %q", note, want)
	}
	w.rows, w.free = nil, 80*quantity.GiB
	w.sample()
	w.sample()
	if len(w.events) != 2 || w.events[0].Kind != snapshot.EventAlarm || w.events[0].Message != want || w.events[1].Kind != snapshot.EventCleared || w.events[0].GPU != 4 {
		t.Errorf("the events are %+v", w.events)
	}
}

// TestOthersSeeNoCommands: other users see no commands, and cannot end a lease that is not theirs.
func TestOthersSeeNoCommands(t *testing.T) {
	w := newWorld(t)
	w.sample()
	own := w.claim(lease.Claim{Need: quantity.GiB, TTL: time.Hour, Command: "secret.py"}, 0)
	others := w.Leases(12345)[0]
	if others.ID != "" || others.Command != "" || others.NeedBytes != quantity.GiB {
		t.Errorf("another user sees %+v", others)
	}
	if _, err := w.Release(12345, string(own.ID)); !errors.Is(err, lease.ErrNone) {
		t.Errorf("another user releases it: %v", err)
	}
	if _, err := w.Renew(uint32(os.Geteuid()), string(own.ID), time.Minute); err != nil {
		t.Error(err)
	}
	if _, err := w.Release(uint32(os.Geteuid()), string(own.ID)); err != nil {
		t.Error(err)
	}
	w.lists("")
}

// TestImportanceIsTheConfigurations: a claim cannot set its importance, and a rule about a command
// counts only for the daemon's own user.
func TestImportanceIsTheConfigurations(t *testing.T) {
	w := newWorld(t)
	w.Importance = (&guard.Policy{Importance: []guard.Importance{{Command: "train.py*", Value: 500}}}).OfClaims()
	w.sample()
	for uid, want := range map[uint32]int{uint32(os.Geteuid()): 500, 12345: 0} {
		ask := lease.Ask{Claim: lease.Claim{Need: quantity.GiB, Count: 1, UID: uid, Importance: 1000, Command: "python3 /srv/train.py --now"}}
		if given, err := w.Claim(context.Background(), nil, ask, nil); err != nil || given.Importance != want {
			t.Errorf("of %d: %d, %v", uid, given.Importance, err)
		}
	}
}

// TestWaitingNamesWhatIsInItsWay: a process that grows is named before the largest one. Of another
// user's process, only PID and user are named.
func TestWaitingNamesWhatIsInItsWay(t *testing.T) {
	w := newWorld(t)
	w.uses(os.Getpid(), 30*quantity.GiB)
	w.uses(os.Getppid(), 40*quantity.GiB)
	pids := []string{strconv.Itoa(os.Getpid()), strconv.Itoa(os.Getppid())}
	w.rows[0].UID, w.rows[0].User, w.rows[0].Command = quantity.From(uint32(12345), quantity.System), "dave", []string{"python3", "/home/dave/dlrm.py", "--secret"}
	w.rows[1].Command = []string{"train.py", "--key=1"}
	w.sample()
	le, err := w.ledger.Claim(time.Now(), lease.Claim{Need: 20 * quantity.GiB, Count: 1, UID: 12346}, nil)
	if err != nil {
		t.Fatal(err)
	}
	look := func(viewer uint32, want string) {
		t.Helper()
		if got := w.standing(le, viewer).Words(&le.Claim); got != "needs 20.0G, most free is GPU 4 with 9.00G ("+want+")" {
			t.Errorf("%d: %q, want %q", viewer, got, want)
		}
	}
	me := uint32(os.Geteuid())
	look(12346, "PID "+pids[1]+" (me) has 40.0G")
	look(max(me, 1), map[bool]string{true: "PID " + pids[1] + " (me) has 40.0G", false: "me's train.py has 40.0G"}[me == 0])
	look(0, "me's train.py has 40.0G")
	w.rows[0].GrowthPerSecond = quantity.From(3*quantity.MiB, quantity.Computed)
	w.sample()
	look(0, "dave's dlrm.py grows 3M/s")
	look(12345, "dave's dlrm.py grows 3M/s")
	look(12346, "PID "+pids[1]+" (me) has 40.0G")
}

// TestInstancesAreDevices: the devices are MIG instances, each with its memory, in place of the GPU
// that they are cut from.
func TestInstancesAreDevices(t *testing.T) {
	w := newWorld(t)
	w.apply(snapshottest.DrawnBox())
	reading := w.read(snapshottest.DrawnBox())
	labels := ""
	for i, d := range reading.Devices {
		labels += " " + d.Label
		if i > 0 && d.Capacity == 0 {
			t.Errorf("GPU %s has no memory", d.Label)
		}
	}
	if !strings.Contains(labels, " 5:1 ") || strings.Contains(labels, " 5 ") {
		t.Errorf("the devices are%s", labels)
	}
}

func BenchmarkClaim(b *testing.B) {
	w := &world{free: 80 * quantity.GiB}
	w.Keeper, _ = Open(Options{Directory: b.TempDir(), Table: process.NewTable("/proc"), Now: time.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	w.sample()
	ask := lease.Ask{Claim: lease.Claim{Need: quantity.GiB / 8, Count: 1, TTL: time.Hour}}
	for range 100 {
		if _, err := w.Claim(context.Background(), nil, ask, nil); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		given, err := w.Claim(context.Background(), nil, ask, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if _, err := w.Release(0, string(given.ID)); err != nil {
			b.Fatal(err)
		}
		w.sample()
		b.StartTimer()
	}
}
