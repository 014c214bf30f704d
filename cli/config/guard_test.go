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

func TestGuardMistakesNameLineAndKey(t *testing.T) {
	rule := func(lines ...string) string {
		return "[guard]\n[[guard.rule]]\n" + strings.Join(lines, "\n")
	}
	good := []string{`name = "r"`, `when = { free_below = "10%" }`, `goal = { free = "15%" }`}
	for _, tc := range []struct{ content, want string }{
		{"[guard]\nmode = 'on'", `f:2: guard.mode: "on" is none of off, dry-run and act`},
		{"[guard]\nmod = 'act'", `f:2: there is no key "guard.mod"; did you mean "guard.mode"?`},
		{"[guard]\nevery = '5h'", "f:2: guard.every: 5h is out of range: 100ms to 1m"},
		{"[guard]\nmax_per_minute = 0", "f:2: guard.max_per_minute:"},
		{"[guard]\nrule = 3", "f:2: guard.rule: it is a list of tables: write [[guard.rule]]"},
		{"[guard.rule]\nname = 'x'", "f:1: guard.rule: it is a list of tables"},
		{"[[guard]]", "f:1: guard: it is a table"},
		{rule(), "f:2: guard.rule.name: the rule needs a name"},
		{rule(good[0]), "f:2: guard.rule.when: the rule needs a condition"},
		{rule(good[0], good[1]), "f:2: guard.rule.goal: the rule needs a goal"},
		{rule(good[0], good[1], `goal = { free = "8%" }`), "f:5: guard.rule.goal: 8% is not above when.free_below (10%)"},
		{rule(good[0], good[1], `goal = { free = "10%" }`), "f:5: guard.rule.goal: 10% is not above"},
		{rule(good[0], good[1], `goal = { free = "8GiB" }`), "f:5: guard.rule.goal: write it as when.free_below is written"},
		{rule(good[0], good[1], `goal = 5`), "f:5: guard.rule.goal: want a table"},
		{rule(good[0], `when = { free_belo = "10%" }`), `f:4: guard.rule.when.free_belo: there is no such key; did you mean "free_below"?`},
		{rule(good[0], "", `[guard.rule.when]`, `free_below = "110%"`), `f:6: guard.rule.when.free_below: "110%" is no share`},
		{rule(append(good, `users = "bob"`)...), `f:6: guard.rule.users: "bob" is neither own nor all`},
		{rule(append(good, `steps = ["urgent", "gradual"]`)...), "f:6: guard.rule.steps: gradual after urgent"},
		{rule(append(good, `steps = ["kill"]`)...), `f:6: guard.rule.steps: "kill" is none of gradual, selective and urgent`},
		{rule(append(good, `gpu = "3-1"`)...), `f:6: guard.rule.gpu: "3-1" is neither`},
		{rule(good[0], `when = { free_below = "10" }`, `goal = { free = "15" }`), `f:4: guard.rule.when.free_below: "10" is less than 1MiB: write 10%`},
		{rule(append(good, `steps = []`)...), "f:6: guard.rule.steps: the list is empty"},
		{rule(append(good, `gpu = []`)...), "f:6: guard.rule.gpu: the list is empty"},
		{rule(append(good, `users = ""`)...), "f:6: guard.rule.users: it is empty"},
		{rule(good[0], `when = { free_below = "", full_within = "3m" }`, good[2]), "f:4: guard.rule.when.free_below: it is empty"},
		{"[guard]\n[[guard.importance]]\nmatch = { user = '', command = 'a' }", "f:3: guard.importance.match.user: it is empty"},
		{rule(append(good, `gpu = [-1]`)...), `f:6: guard.rule.gpu: -1 is no GPU's index`},
		{rule(append(append(good, "[[guard.rule]]"), good...)...), `f:7: guard.rule.name: there are two rules with the name "r"`},
		{"[[guard.importance]]\nvalue = 5", "f:1: guard.importance.match: say whose"},
		{"[[guard.importance]]\nmatch = { user = 'x' }\nvalue = -1001", "f:3: guard.importance.value: -1001 is out of range"},
		{"[[guard.importance]]\nmatch = { user = 'x' }\nvalue = '5'", "f:3: guard.importance.value: want a whole number"},
		{"[[guard.importance]]\nmatch = { user = \"x\\u001b\" }", "f:2: guard.importance.match.user: it has a character that cannot be shown"},
		{"[[guard.importance]]\nmatch = { user = 'x' }\nprotected = true", `f:3: guard.importance.protected: there is no such key; did you mean "protect"?`},
		{"a = 1\n[guard]\n[[guard.rule]]\nname = 'x'", `f:1: there is no key "a"`},
	} {
		s := Defaults()
		if err := s.parse("f", []byte(tc.content)); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%q: got %v, want %q", tc.content, err, tc.want)
		}
	}
}

// A file that others can write sets no policy.
func TestGuardNeedsASafeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	for _, content := range []string{example, "[guard]\nmode = 'act'\n", "[[guard.importance]]\nmatch = { user = '*' }\n"} {
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
		if err := s.Load(path); err == nil || !strings.HasPrefix(err.Error(), "guard: "+path+" is not safe from other users") {
			t.Errorf("%q: %v", content, err)
		}
	}
}
