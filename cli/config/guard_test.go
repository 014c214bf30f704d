package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"vramscope/guard"
	"vramscope/internal/quantity"
)

const example = `
[guard]
mode = "act"
every = "2s"
[[guard.rule]]
name  = "room on shared cards"
gpu   = "0-3"
when  = { free_below = "10%", for = "10s" }
users = "own"
goal  = { free = "15%" }
steps = ["gradual", "urgent"]
[[guard.rule]]
name = "soon full"
gpu = [5, "GPU-8f1c"]
when.full_within = "3m"
[guard.rule.goal]
free = "8GiB"
[[guard.importance]]
match = { user = "ci", command = "pytest*", job = "slurm:*" }
value = -500
[[guard.importance]]
match.command = "train*"
protect = true
distributed = true
`

func TestGuardIsRead(t *testing.T) {
	s := Defaults()
	if err := s.parse("f", []byte(example)); err != nil {
		t.Fatal(err)
	}
	want := guard.Policy{Mode: guard.Act, Every: 2 * time.Second, MaxPerMinute: 6, Rules: []guard.Rule{{
		Name: "room on shared cards", GPUs: []string{"0", "1", "2", "3"}, When: guard.When{FreeBelow: guard.Amount{Percent: 10}, For: 10 * time.Second},
		Users: guard.Own, Goal: guard.Amount{Percent: 15}, Steps: []guard.Level{guard.Gradual, guard.Urgent},
	}, {
		Name: "soon full", GPUs: []string{"5", "GPU-8f1c"}, When: guard.When{FullWithin: 3 * time.Minute},
		Users: guard.Own, Goal: guard.Amount{Bytes: 8 * quantity.GiB}, Steps: guard.Steps(),
	}}, Importance: []guard.Importance{
		{User: "ci", Command: "pytest*", Job: "slurm:*", Value: -500}, {Command: "train*", Protect: true, Distributed: true},
	}}
	if !reflect.DeepEqual(s.Guard, want) {
		t.Errorf("got  %+v\nwant %+v", s.Guard, want)
	}
	back := Defaults()
	if err := back.parse("f", []byte(InForce("none", &s))); err != nil || !reflect.DeepEqual(back, s) {
		t.Errorf("in force it reads back as %+v: %v\n%s", back.Guard, err, InForce("none", &s))
	}
}

// A file that others can write sets no policy.
func TestGuardNeedsASafeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	for _, content := range []string{example, "[guard]\nmode = 'act'\n", "[[guard.importance]]\nmatch = { user = '*' }\n", "guard.mode = 'off'\n[[guard.importance]]\nmatch = { user = '*' }\n", servers} {
		if err := errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chmod(path, 0o600)); err != nil {
			t.Fatal(err)
		}
		s := Defaults()
		if err := s.Load(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := s.Load(path); err == nil || !strings.Contains(err.Error(), ": "+path+" is not safe from other users") {
			t.Errorf("%q: %v", content, err)
		}
	}
}
