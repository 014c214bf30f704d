package process

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"vramscope/internal/quantity"
)

// TestEffectiveUser: if a process cannot be dumped, the files in its directory belong to another
// user, but the directory itself belongs to the process's user.
func TestEffectiveUser(t *testing.T) {
	if got, known := effectiveUID("/proc/self").Value(); !known || int(got) != os.Geteuid() {
		t.Fatalf("user %d, want %d", got, os.Geteuid())
	}
	if effectiveUID("/proc/0").Known() {
		t.Error("a process that does not exist has a user")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	type answer struct{ directory, file uint32 }
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	take := func(uid uintptr) {
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uid, ^uintptr(0)); errno != 0 {
			t.Fatal(errno) // the call above concerned this thread alone
		}
	}
	dumpable := func(yes uintptr) {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, yes, 0, 0, 0); err != nil {
			t.Error(err)
		}
	}
	take(65534)
	dumpable(0)
	thread := fmt.Sprintf("/proc/self/task/%d", unix.Gettid())
	got := answer{effectiveUID(thread).Or(0), effectiveUID(filepath.Join(thread, "stat")).Or(0)}
	take(0)
	dumpable(1)
	if got != (answer{directory: 65534, file: 0}) {
		t.Errorf("owners %+v", got)
	}
}

// TestOnlyWhatIsWantedIsRead: thread names, and the environments of other users' processes, are read
// only if Hints is set. Root reads all environments in any case.
func TestOnlyWhatIsWantedIsRead(t *testing.T) {
	tree := newTree(t)
	tree.add(500, "python3", os.Geteuid()+1)
	tree.add(600, "python3", os.Geteuid())
	for _, pid := range []int{500, 600} {
		tree.write(pid, "environ", "VRAMSCOPE_IMPORTANCE=7\x00SLURM_JOB_ID=88123\x00RANK=3\x00")
		tree.write(pid, "task/1/comm", "pt_nccl_watchdg\n")
	}
	table := tree.table()
	got := infos(table, at(0), []int{500, 600})
	if got[500].Job.Kind != "" || got[600].Job.ID != "88123" {
		t.Errorf("jobs %v and %v, want the own process's alone", got[500].Job, got[600].Job)
	}
	rank := Hints{Rank: quantity.From(3, quantity.System)}
	if others := got[500].Hints; others != map[bool]Hints{true: rank}[os.Geteuid() == 0] || got[600].Hints != rank {
		t.Errorf("hints that are not wanted: %v, %v", others, got[600].Hints)
	}
	table = tree.table()
	table.Hints = true
	got = infos(table, at(0), []int{500, 600})
	if got[500].Job.Kind != "" {
		t.Errorf("another user's process says that it is of %v", got[500].Job)
	}
	if h := got[500].Hints; h != got[600].Hints || h.Importance.Or(0) != 7 || h.Distributed.Or("") != "an NCCL thread" {
		t.Errorf("hints %v, %v", h, got[600].Hints)
	}
}

// TestUnreadFactsAreMarked: a job or a user's name that could not be read is marked as unread: it may
// exist.
func TestUnreadFactsAreMarked(t *testing.T) {
	for _, tc := range []struct {
		name, cgroup      string
		lookup            error
		userUnread, isJob bool
		jobUnread         bool
	}{
		{"read", "0::/system.slice/vllm.service\n", user.UnknownUserIdError(1001), false, true, false},
		{"no job", "0::/user.slice\n", user.UnknownUserIdError(1001), false, false, false},
		{"Slurm without a number", "0::/slurmstepd.scope/sEKNKTV3WPV500/step_0\n", user.UnknownUserIdError(1001), false, true, true},
		{"no cgroup", "", user.UnknownUserIdError(1001), false, false, true},
		{"directory failed", "0::/user.slice\n", errors.New("LDAP"), true, false, false},
	} {
		tree := newTree(t)
		tree.add(500, "train", 1001)
		tree.write(500, "cgroup", tc.cgroup)
		if tc.cgroup == "" {
			tree.remove(500, "cgroup")
		}
		table := tree.table()
		table.slurm.scontrol = func(string) slurmAnswer { return slurmAnswer{} }
		table.users.lookup = func(string) (*user.User, error) { return nil, tc.lookup }
		info := infos(table, at(0), []int{500})[500]
		if info.User != "1001" || info.Hints.UserUnread != tc.userUnread || info.Hints.JobUnread != tc.jobUnread || (info.Job.Kind != "") != tc.isJob {
			t.Errorf("%s: %q, %+v, %v", tc.name, info.User, info.Hints, info.Job)
		}
	}
}
