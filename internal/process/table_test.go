package process

import (
	"fmt"
	"math"
	"os"
	"os/user"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"vramscope/internal/quantity"
)

func noName(uid string) (*user.User, error) {
	n, err := strconv.Atoi(uid)
	if err != nil {
		return nil, err
	}
	return nil, user.UnknownUserIdError(n)
}

func TestProcessFromProc(t *testing.T) {
	tree := newTree(t)
	tree.add(500, "python3", 1000)
	tree.add(600, "python3", 4242)
	got := infos(tree.table(), at(0), []int{500, 600, 700, -1, 0, 500})
	want := Info{
		Identity: Identity{PID: 500, StartTime: 50000, Namespace: 4026531836},
		Parent:   1,
		UID:      quantity.From(uint32(1000), quantity.System),
		User:     "alice",
		Name:     "python3",
		Command:  []string{"/usr/bin/python3", "train.py", "--lr", "1e-4"},
		Started:  time.Unix(500, 0),
		Memory:   quantity.From(quantity.Bytes(2048*os.Getpagesize()), quantity.System),
	}
	if !reflect.DeepEqual(got[500], want) {
		t.Errorf("got  %+v\nwant %+v", got[500], want)
	}
	if got[600].User != "4242" {
		t.Errorf("a user without a name is %q, want the number", got[600].User)
	}
	if len(got) != 2 {
		t.Errorf("%d processes, want 2: what is not there is absent", len(got))
	}
}

func TestCPUNeedsTwoReadings(t *testing.T) {
	tree := newTree(t)
	tree.add(500, "python3", 1000)
	table := tree.table()
	look := func(seconds float64, ticks uint64) quantity.Optional[float64] {
		tree.stat(500, "python3", 50000, ticks)
		return infos(table, at(seconds), []int{500})[500].CPU
	}
	if cpu := look(0, 1000); cpu.Known() {
		t.Errorf("known after one look: %v", cpu)
	}
	if cpu := look(.1, 1100); cpu.Known() {
		t.Errorf("known after a tenth of a second: %v", cpu)
	}
	for _, tc := range []struct {
		seconds float64
		ticks   uint64
		want    float64
	}{{2, 1400, 200}, {2.1, 1401, 200}, {4, 1400, 0}, {8, 1500, 25}} {
		if cpu, ok := look(tc.seconds, tc.ticks).Value(); !ok || math.Abs(cpu-tc.want) > .01 {
			t.Errorf("after %v s: %v, want %v", tc.seconds, cpu, tc.want)
		}
	}
	if cpu := look(9, 10); cpu.Known() {
		t.Errorf("ticks that went back gave %v", cpu)
	}
}

func TestReusedPIDIsAnotherProcess(t *testing.T) {
	tree := newTree(t)
	tree.add(500, "python3", 1000)
	table := tree.table()
	first := infos(table, at(0), []int{500})[500]
	tree.stat(500, "python3", 77777, 3)
	tree.write(500, "cmdline", "sleep\x0060\x00")
	second := infos(table, at(1), []int{500})[500]
	if first.Identity == second.Identity {
		t.Error("one identity for two processes")
	}
	if !reflect.DeepEqual(second.Command, []string{"sleep", "60"}) || second.CPU.Known() {
		t.Errorf("the second inherited from the first: %+v", second)
	}
}

func TestExecIsDetected(t *testing.T) {
	tree := newTree(t)
	tree.add(500, "bash", 1000)
	table := tree.table()
	infos(table, at(0), []int{500})
	tree.write(500, "cmdline", "python3\x00other.py\x00")
	if got := infos(table, at(1), []int{500})[500]; got.Command[1] != "train.py" {
		t.Errorf("read again without a reason: %v", got.Command)
	}
	tree.stat(500, "python3", 50000, 0)
	if got := infos(table, at(2), []int{500})[500]; got.Command[1] != "other.py" {
		t.Errorf("a new name: still %v", got.Command)
	}
	tree.write(500, "cmdline", "python3\x00third.py\x00")
	if got := eventually(t, table, at(70), 500, hasCommand("third.py")); got.Command[1] != "third.py" {
		t.Errorf("a minute later: still %v", got.Command)
	}
	tree.write(500, "cmdline", "")
	for infos(table, at(140), []int{500}); table.reading(500); time.Sleep(time.Millisecond) {
	}
	if got := infos(table, at(140), []int{500})[500]; len(got.Command) != 2 || got.Command[1] != "third.py" {
		t.Errorf("a zombie is %v", got.Command)
	}
}

func hasCommand(script string) func(Info) bool {
	return func(i Info) bool { return len(i.Command) > 1 && i.Command[1] == script }
}

// eventually calls the table until is returns true for the process.
func eventually(t *testing.T, table *Table, now time.Time, pid int, is func(Info) bool) Info {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		got := infos(table, now, []int{pid})[pid]
		if is(got) {
			return got
		}
		if time.Now().After(deadline) {
			t.Fatalf("it never came; there is %+v", got)
		}
	}
}

// reading reports whether the facts of a process are still being read.
func (t *Table) reading(pid int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	pending := t.entries[pid].pending
	return pending != nil && len(pending) == 0
}

// TestMissingFiles: without cmdline, cgroup or ns the other facts stay. Without stat the process has ended.
func TestMissingFiles(t *testing.T) {
	for _, name := range []string{"cmdline", "cgroup", "ns"} {
		tree := newTree(t)
		tree.add(500, "python3", 1000)
		tree.remove(500, name)
		info, ok := infos(tree.table(), at(0), []int{500})[500]
		if !ok || info.Name != "python3" || info.Identity.StartTime != 50000 {
			t.Errorf("without %s: %+v", name, info)
		}
	}
	tree := newTree(t)
	tree.add(500, "python3", 1000)
	table := tree.table()
	infos(table, at(0), []int{500})
	tree.remove(500, "stat")
	if got := infos(table, at(1), []int{500}); len(got) != 0 {
		t.Errorf("it has ended and is still %+v", got)
	}
}

func TestHostileProcess(t *testing.T) {
	tree := newTree(t)
	tree.add(500, "x", 1000)
	tree.stat(500, ") R 9\n\x1b]0;p", 50000, 0)
	tree.write(500, "cmdline", strings.Repeat("\x1b[2J\n", 13000)+"\x00"+strings.Repeat("b\x00", 1000))
	info := infos(tree.table(), at(0), []int{500})[500]
	if info.Name != ") R 9\n\x1b]0;p" || info.Identity.StartTime != 50000 {
		t.Errorf("name %q, identity %+v", info.Name, info.Identity)
	}
	size := 0
	for _, arg := range info.Command {
		size += len(arg) + 1
	}
	if size > commandSize+1 || size < commandSize-1 {
		t.Errorf("%d bytes of the command line kept, want %d", size, commandSize)
	}
}

func TestHangingReadsDelayOneCallOnly(t *testing.T) {
	tree := newTree(t)
	tree.add(500, "hangs", 1000)
	tree.add(600, "python3", 1000)
	table := tree.table()
	release := make(chan struct{})
	plain := table.read
	table.read = func(t *Table, pid int) facts {
		if pid == 500 {
			<-release
		}
		return plain(t, pid)
	}
	table.Timeout = 500 * time.Millisecond
	got := infos(table, at(0), []int{600, 500})
	if got[500].Name != "hangs" || len(got[500].Command) != 0 || len(got[600].Command) != 4 {
		t.Fatalf("beside one that hangs: %+v", got)
	}
	begin := time.Now()
	for i := range 100 {
		infos(table, at(1+float64(i)), []int{500, 600})
	}
	if took := time.Since(begin); took > 50*table.Timeout {
		t.Errorf("100 calls took %v: each waited for what hangs", took)
	}
	for deadline := time.Now().Add(time.Minute); len(table.slots) != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d readers, want the one that hangs", len(table.slots))
		}
	}
	close(release)
	eventually(t, table, at(101), 500, func(i Info) bool { return len(i.Command) == 4 && i.User == "alice" })
}

func TestManyNewProcessesDoNotDelayTheFirstCall(t *testing.T) {
	tree := newTree(t)
	pids := make([]int, 100)
	for i := range pids {
		pids[i] = 500 + i
		tree.add(pids[i], "python3", 1000)
	}
	table := tree.table()
	table.Timeout = 20 * time.Millisecond
	release := make(chan struct{})
	plain := table.read
	table.read = func(t *Table, pid int) facts {
		<-release
		return plain(t, pid)
	}
	got := infos(table, at(0), pids)
	if len(got) != 100 || got[599].Name != "python3" || got[599].Command != nil {
		t.Errorf("%d processes, the last %+v, want all with what is in their stat", len(got), got[599])
	}
	close(release)
	for _, pid := range pids {
		eventually(t, table, at(.1), pid, func(i Info) bool { return len(i.Command) == 4 && i.User == "alice" })
	}
}

func TestZombieHasEnded(t *testing.T) {
	tree := newTree(t)
	tree.add(500, "python3", 1000)
	table := tree.table()
	id := infos(table, at(0), []int{500})[500].Identity
	for i, tc := range []struct {
		state   string
		threads int
		ended   bool
	}{{"D", 12, false}, {"Z", 7, false}, {"Z", 1, true}, {"X", 0, true}, {"R", 1, false}} {
		tree.state(500, "python3", tc.state, tc.threads, 50000, 0)
		if info := infos(table, at(float64(1+i)), []int{500})[500]; info.Ended != tc.ended || info.Name != "python3" {
			t.Errorf("state %s with %d threads: %+v", tc.state, tc.threads, info)
		}
		if table.Alive(id) == tc.ended {
			t.Errorf("state %s with %d threads: alive %v", tc.state, tc.threads, !tc.ended)
		}
	}
	if id.StartTime++; table.Alive(id) {
		t.Error("another process of this number passes for it")
	}
	tree.remove(500, "stat")
	if id.StartTime--; table.Alive(id) {
		t.Error("alive without a stat")
	}
}

// TestStatOfManyIsReadLessOften: with more processes, a stat is used for longer.
func TestStatOfManyIsReadLessOften(t *testing.T) {
	for _, tc := range []struct {
		processes int
		want      time.Duration
	}{{1, statWindow}, {16, statWindow}, {32, 1900 * time.Millisecond}, {64, 3900 * time.Millisecond}, {256, 3900 * time.Millisecond}, {1024, 3900 * time.Millisecond}, {2048, 7900 * time.Millisecond}} {
		if got := windowFor(tc.processes); got != tc.want {
			t.Errorf("of %d processes stat stands for %v, want %v", tc.processes, got, tc.want)
		}
	}
}

func TestSlowDirectoryService(t *testing.T) {
	tree := newTree(t)
	tree.add(500, "python3", 7000)
	table := tree.table()
	table.Timeout = 500 * time.Millisecond
	release := make(chan struct{})
	table.users.lookup = func(string) (*user.User, error) {
		<-release
		return &user.User{Username: "frank"}, nil
	}
	if got := infos(table, at(0), []int{500})[500]; got.User != "" || len(got.Command) != 4 {
		t.Fatalf("before the answer: %+v", got)
	}
	close(release)
	eventually(t, table, at(1), 500, func(i Info) bool { return i.User == "frank" })
}

func TestFailedDirectoryIsAskedAgain(t *testing.T) {
	tree := newTree(t)
	tree.add(500, "python3", 7000)
	table := tree.table()
	fail := true
	table.users.lookup = func(string) (*user.User, error) {
		if fail {
			return nil, syscall.ECONNREFUSED
		}
		return &user.User{Username: "frank"}, nil
	}
	if got := infos(table, at(0), []int{500})[500].User; got != "7000" {
		t.Errorf("the number stands in: got %q", got)
	}
	fail = false
	eventually(t, table, at(60), 500, func(i Info) bool { return i.User == "frank" })
}

// panicOf returns the value of act's panic as text, or "" if act does not panic.
func panicOf(act func()) (text string) {
	defer func() {
		if value := recover(); value != nil {
			text = fmt.Sprint(value)
		}
	}()
	act()
	return ""
}

func TestPanicsOfReadersReachTheCaller(t *testing.T) {
	for what, plant := range map[string]func(*Table){
		"facts": func(t *Table) { t.read = func(*Table, int) facts { panic("no facts") } },
		"names": func(t *Table) { t.users.lookup = func(string) (*user.User, error) { panic("no names") } },
	} {
		tree := newTree(t)
		tree.add(500, "python3", 7000)
		table := tree.table()
		table.Timeout = time.Minute
		plant(table)
		got := panicOf(func() { infos(table, at(0), []int{500}) })
		if !strings.HasPrefix(got, "no "+what) || !strings.Contains(got, "TestPanicsOfReadersReachTheCaller") {
			t.Errorf("%s: the caller panics with %q, want the reader's panic and stack", what, got)
		}
		for deadline := time.Now().Add(time.Minute); len(table.slots) != 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d readers keep their slots", what, len(table.slots))
			}
		}
	}
}

func TestHost(t *testing.T) {
	host := newTree(t).table().Host(at(0))
	if host.Name != "this-machine" || host.User == "" {
		t.Errorf("got %+v", host)
	}
	if total, used, load := host.MemoryTotal.Or(-1), host.MemoryUsed.Or(-1), host.Load.Or(-1); total != 1000*quantity.KiB || used != 600*quantity.KiB || load != 3.25 {
		t.Errorf("memory %d of %d, load %v", used, total, load)
	}
	empty := &tree{t: t, root: t.TempDir()}
	if host := empty.table().Host(at(0)); host.MemoryTotal.Known() || host.MemoryUsed.Known() || host.Load.Known() {
		t.Errorf("without /proc: %+v", host)
	}
}

func TestOwnProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc here")
	}
	info, err := NewTable("/proc").Look(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if uid, ok := info.UID.Value(); !ok || uid != uint32(os.Geteuid()) || info.User == "" {
		t.Errorf("user %v %q", info.UID, info.User)
	}
	if age := time.Since(info.Started); age < -time.Second || age > time.Hour {
		t.Errorf("this test started %v ago", age)
	}
	if len(info.Command) == 0 || filepath.Base(info.Command[0]) != filepath.Base(os.Args[0]) || info.Identity.Namespace == 0 {
		t.Errorf("got %+v", info)
	}
}
