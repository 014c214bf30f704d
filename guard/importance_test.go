package guard

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// TestUnreadIsProtected: an entry may match by an attribute that cannot be read. If no earlier entry surely
// matches, or if the entry protects, the process is not flushed, is no more important than the entry says,
// and is reported once.
func TestUnreadIsProtected(t *testing.T) {
	slurm := func(id string) process.Job { return process.Job{Kind: "slurm", ID: id} }
	alices := func(p *snapshot.Process) { p.Job = slurm("88123") }
	jobUnread := func(p *snapshot.Process) { p.Hints.JobUnread = true }
	sluid := func(p *snapshot.Process) { p.Job, p.Hints.JobUnread = slurm("sEKNKTV3WPV500"), true }
	factsUnread := func(p *snapshot.Process) {
		p.User, p.Command, p.UID = "", nil, quantity.Unknown[uint32]()
	}
	userUnread := func(p *snapshot.Process) { p.User, p.Hints.UserUnread = "1000", true }
	noUser := func(p *snapshot.Process) { p.User = "" }
	noCommand := func(p *snapshot.Process) { p.Command = nil }
	numbered := func(p *snapshot.Process) { p.User = "1000" }
	none := func(*snapshot.Process) {}
	protects := func(i Importance) Importance { i.Protect = true; return i }
	for _, tc := range []struct {
		name    string
		change  func(*snapshot.Process)
		entries []Importance
		value   int
		unread  string
		protect bool
	}{
		{"read, another's", none, []Importance{protects(Importance{User: "ci"})}, 0, "", false},
		{"read, no job", none, []Importance{protects(Importance{Job: "slurm:*"})}, 0, "", false},
		{"read, a job", alices, []Importance{protects(Importance{Job: "slurm:*"})}, 0, "", true},
		{"a number for a name, and no directory failed", numbered, []Importance{protects(Importance{User: "ci"})}, 0, "", false},
		{"read, another job", alices, []Importance{protects(Importance{Job: "slurm:99999"})}, 0, "", false},
		{"cgroup unreadable", jobUnread, []Importance{protects(Importance{Job: "slurm:*"})}, 0, "job", false},
		{"cgroup unreadable, no job asked", jobUnread, []Importance{protects(Importance{User: "ci"})}, 0, "", false},
		{"cgroup unreadable, another user's jobs", jobUnread, []Importance{protects(Importance{User: "ci", Job: "slurm:*"})}, 0, "", false},
		{"cgroup unreadable, his jobs", jobUnread, []Importance{protects(Importance{User: "alice", Job: "slurm:*"})}, 0, "job", false},
		{"no number, any of Slurm's", sluid, []Importance{protects(Importance{Job: "slurm:*"})}, 0, "", true},
		{"no number, one of Slurm's", sluid, []Importance{protects(Importance{Job: "slurm:88123"})}, 0, "job", false},
		{"no number, pods", sluid, []Importance{protects(Importance{Job: "pod:*"})}, 0, "", false},
		{"no number, a pattern without a kind", sluid, []Importance{protects(Importance{Job: ":x"})}, 0, "", false},
		{"no number, no pattern", sluid, []Importance{{User: "alice", Value: 7}}, 7, "", false},
		{"directory failed", userUnread, []Importance{protects(Importance{User: "ci"})}, 0, "user", false},
		{"user unknown", noUser, []Importance{protects(Importance{User: "ci"})}, 0, "user", false},
		{"command unreadable", noCommand, []Importance{protects(Importance{Command: "train*"})}, 0, "command", false},
		{"facts unread", factsUnread, []Importance{protects(Importance{Job: "slurm:*"})}, 0, "job", false},
		{"protected after a match", jobUnread, []Importance{{User: "alice", Value: 5}, protects(Importance{Job: "slurm:*"})}, 0, "job", false},
		{"worth more perhaps", jobUnread, []Importance{{Job: "slurm:*", Value: 500}}, 0, "job", false},
		{"worth less perhaps", jobUnread, []Importance{{Job: "slurm:*", Value: -500}, {User: "alice", Value: 300}}, -500, "job", false},
		{"worth less perhaps, and less surely", jobUnread, []Importance{{Job: "slurm:*", Value: -500}, {User: "alice", Value: -600}}, -600, "job", false},
		{"worth what matched first", jobUnread, []Importance{{User: "alice", Value: 300}, {Job: "slurm:*", Value: -500}}, 300, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBox(&row{}, &row{allocated: 60 * gib, cached: 15 * gib, command: "x"})
			e := New(rooms(Act, tc.entries...), alice)
			first := b.now.Add(time.Second)
			var all []Decision
			for range 90 {
				snap := b.snapshot()
				p := &snap.Rows[1]
				tc.change(p)
				if got := e.importanceOf(p); got.value != tc.value || got.unread != tc.unread || got.protect != tc.protect {
					t.Fatalf("importance %+v", got)
				}
				all = append(all, e.Decide(snap)...)
				if tc.unread != "" && p.UID.Known() && !strings.Contains(e.State().Standings[1].Reason, "its "+tc.unread+" could not be read") {
					t.Fatalf("standing %q", e.State().Standings[0].Reason)
				}
			}
			flushes := len(of(all, snapshot.GuardActs)) > 0
			reports := 0
			for _, d := range of(all, snapshot.GuardNothing) {
				if strings.Contains(d.Message, "PID 101 is not flushed: the configuration may protect it, and its "+tc.unread+" could not be read") {
					reports++
				}
			}
			if tc.unread != "" && !all[0].Time.Equal(first.Add(watchedLeast)) {
				t.Errorf("watched from %s, and reported at %s", first, all[0].Time)
			}
			if want := tc.unread == "" && !tc.protect; flushes != want || (reports == 1) != (tc.unread != "") || reports > 1 {
				t.Errorf("flushed: %v; reported %d times: %v", flushes, reports, all)
			}
		})
	}
}

// TestUnreadAsksForNothing: in a rescue, an entry that may match the unread job of the process that asks
// limits its importance.
func TestUnreadAsksForNothing(t *testing.T) {
	for _, unread := range []bool{false, true} {
		b := newBox(&row{allocated: 40 * gib, command: "asker"}, &row{allocated: 10 * gib, cached: 20 * gib, command: "giver"})
		e := New(rooms(Act, Importance{Job: "slurm:*", Value: -400}, Importance{Command: "asker", Value: 100}), alice)
		snap := b.snapshot()
		for range 90 {
			snap = b.snapshot()
			snap.Rows[0].Hints.JobUnread = unread
			e.Decide(snap)
		}
		got := e.Rescue(snap, Ask{Process: b.rows[0].id().Process, UID: 1000, GPUUUID: uuid, Bytes: 15 * gib})
		if acts := len(of(got, snapshot.GuardActs)) > 0; acts == unread {
			t.Errorf("unread %v: %v", unread, got)
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, tc := range []struct {
		pattern, text string
		want          bool
	}{
		{"*", "", true}, {"*", "two\nlines", true},
		{"train*", "train.py --cfg a.yaml", true}, {"train*", "retrain.py", false},
		{"*train*", "retrain.py", true}, {"*.py", "train.py", true}, {"*.py", "train.pyc", false}, {"*.py", "trainxpy", false},
		{"a*b*c", "abc", true}, {"a*b*c", "a.b.b.c", true}, {"a*b*c", "acb", false}, {"ab*ba", "aba", false},
		{"slurm:?", "slurm:7", true}, {"slurm:?", "slurm:77", false}, {"?", "ü", true}, {"?", "", false}, {"?", "\xff", true},
		{"pod:[a-z]", "pod:x", false}, {`a\*`, `a\b`, true}, {"\xff", "\xff", true}, {"Train", "train", false},
	} {
		if got := Pattern(tc.pattern).MatchString(tc.text); got != tc.want {
			t.Errorf("%q of %q: %v", tc.pattern, tc.text, got)
		}
	}
}

// TestClaimsAreWorthWhatTheConfigurationSays: the first entry that matches counts. Only the daemon's
// own user gains by the name of a command.
func TestClaimsAreWorthWhatTheConfigurationSays(t *testing.T) {
	p := Policy{Importance: []Importance{
		{Command: "train.py*", Value: 700}, {User: "ci", Command: "pytest*", Value: 400}, {Job: "slurm:*", Value: 300}, {User: "ci", Value: -500}, {User: "a*", Value: 200},
	}}
	of := p.OfClaims()
	train, test := []string{"python3", "/home/ci/train.py", "--fast"}, []string{"pytest", "-x"}
	for _, tc := range []struct {
		user    string
		own     bool
		command []string
		want    int
	}{
		{"alice", false, nil, 200}, {"bob", false, nil, 0}, {"ci", false, train, -500}, {"ci", false, test, -500}, {"", false, train, 0},
		{"root", true, train, 700}, {"ci", true, test, 400}, {"ci", true, nil, -500}, {"bob", true, []string{"bash"}, 0},
	} {
		if got := of(tc.user, tc.own, tc.command); got != tc.want {
			t.Errorf("%+v: %d", tc, got)
		}
	}
}
