package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2/unstable"

	"vramscope/guard"
	"vramscope/internal/text"
)

// The lists of the guard's table are no options with a flag: [[guard.rule]] and
// [[guard.importance]], each a table with tables in it.
//
//	expressions ─ take ─→ the line of each path: "guard.rule[0].goal"
//	values ─ setGuardLists ─→ Settings.Guard, or the path of what is wrong
const (
	ruleList       = "guard.rule"
	importanceList = "guard.importance"
	mostRules      = 64
	mostImportance = 1024
)

// guardLists finds the line of everything in the two lists.
type guardLists struct {
	lines map[string]int
	rules int
	worth int
	at    string // the path of the table that keys are in
}

// take notes an expression of the lists, and reports whether it is one.
func (g *guardLists) take(kind unstable.Kind, key string, line int) bool {
	if kind == unstable.KeyValue && g.at != "" {
		g.lines[g.at+"."+key] = line
		return true
	}
	if kind != unstable.KeyValue {
		g.at = ""
	}
	list, count := ruleList, &g.rules
	if key == importanceList || strings.HasPrefix(key, importanceList+".") {
		list, count = importanceList, &g.worth
	}
	if key != list && !strings.HasPrefix(key, list+".") {
		return false
	}
	if kind == unstable.ArrayTable && key == list {
		*count++
	}
	path := fmt.Sprintf("%s[%d]%s", list, max(*count-1, 0), strings.TrimPrefix(key, list))
	if kind == unstable.KeyValue {
		path = key
	} else {
		g.at = path
	}
	g.lines[path] = line
	return true
}

// line is that of a path or of the nearest thing around it.
func (g *guardLists) line(path string) int {
	for path != "" {
		if line, ok := g.lines[path]; ok {
			return line
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 1
}

// guardError is what is wrong in the lists, and where.
type guardError struct {
	path string
	err  error
}

var index = regexp.MustCompile(`\[\d+\]`)

func (e *guardError) Error() string {
	return text.Clean(index.ReplaceAllString(e.path, "")) + ": " + e.err.Error()
}

// reader reads a table. The first thing that is wrong stays.
type reader struct {
	path  string
	table map[string]any
	known []string
	err   *guardError
}

func (r *reader) fail(key string, err error) {
	if r.err == nil && err != nil {
		r.err = &guardError{path: strings.TrimSuffix(r.path+"."+key, "."), err: err}
	}
}

// valueOf reads a key that has a value of this type; without the key, the zero value.
func valueOf[T any](r *reader, key, wants string) (value T, ok bool) {
	r.known = append(r.known, key)
	found, there := r.table[key]
	if !there {
		return value, false
	}
	if value, ok = found.(T); !ok {
		r.fail(key, errors.New("want "+wants))
	}
	return value, ok
}

func (r *reader) text(key string) string {
	value, there := valueOf[string](r, key, "a text")
	switch {
	case there && value == "": // else it would mean what the key's absence means: any, or none
		r.fail(key, errors.New("it is empty"))
	case strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c == 0x7f }):
		r.fail(key, errors.New("it has a character that cannot be shown"))
	}
	return value
}

// part is a table in the table.
func (r *reader) part(key string, read func(*reader)) {
	table, ok := valueOf[map[string]any](r, key, "a table: { … }")
	if !ok {
		return
	}
	in := &reader{path: r.path + "." + key, table: table}
	read(in)
	in.end()
	if r.err == nil {
		r.err = in.err
	}
}

// end refuses keys that were not read.
func (r *reader) end() {
	for _, key := range slices.Sorted(maps.Keys(r.table)) {
		if slices.Contains(r.known, key) {
			continue
		}
		message := "there is no such key"
		if near := text.Nearest(key, r.known); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
		}
		r.fail(key, errors.New(message))
	}
}

// setGuardLists reads the rules and the importance of the table [guard].
func (s *Settings) setGuardLists(value any) *guardError {
	table, _ := value.(map[string]any) // what is no table has been refused
	rules, err := listOf(table, "rule", ruleList, mostRules)
	if err != nil {
		return err
	}
	entries, err := listOf(table, "importance", importanceList, mostImportance)
	if err != nil {
		return err
	}
	s.Guard.Rules, s.Guard.Importance = nil, nil
	names := map[string]bool{}
	for i, rule := range rules {
		r := &reader{path: fmt.Sprintf("%s[%d]", ruleList, i), table: rule}
		s.Guard.Rules = append(s.Guard.Rules, readRule(r))
		name := s.Guard.Rules[i].Name
		if names[name] {
			r.fail("name", fmt.Errorf("there are two rules with the name %q", name))
		}
		names[name] = true
		if r.err != nil {
			return r.err
		}
	}
	for i, entry := range entries {
		r := &reader{path: fmt.Sprintf("%s[%d]", importanceList, i), table: entry}
		s.Guard.Importance = append(s.Guard.Importance, readImportance(r))
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

func listOf(table map[string]any, key, path string, most int) (list []map[string]any, wrong *guardError) {
	value, there := table[key]
	if !there {
		return nil, nil
	}
	items, ok := value.([]any)
	for _, item := range items {
		one, is := item.(map[string]any)
		ok = ok && is
		list = append(list, one)
	}
	switch {
	case !ok:
		return nil, &guardError{path, fmt.Errorf("it is a list of tables: write [[%s]] on a line of its own, and its keys below", path)}
	case len(list) > most:
		return nil, &guardError{path, fmt.Errorf("there are %d: at most %d", len(list), most)}
	}
	return list, nil
}

func readRule(r *reader) guard.Rule {
	rule := guard.Rule{Users: guard.Own}
	rule.Name = r.text("name")
	if len(rule.Name) > 64 {
		r.fail("name", errors.New("it has more than 64 bytes"))
	}
	rule.GPUs = r.gpus("gpu")
	r.part("when", func(in *reader) {
		rule.When = guard.When{
			FreeBelow: in.amount("free_below"), For: in.duration("for", 0), FullWithin: in.duration("full_within", time.Second),
		}
	})
	r.part("goal", func(in *reader) { rule.Goal = in.amount("free") })
	if users := r.text("users"); users != "" {
		rule.Users = guard.Users(users)
	}
	if rule.Users != guard.Own && rule.Users != guard.All {
		r.fail("users", fmt.Errorf("%q is neither own nor all", string(rule.Users)))
	}
	items, named := valueOf[[]any](r, "steps", `a list: ["gradual", "selective", "urgent"]`)
	if named && len(items) == 0 {
		r.fail("steps", errors.New("the list is empty: without the key it is all three"))
	}
	for _, item := range items {
		step, ok := item.(string)
		if !ok {
			r.fail("steps", errors.New("want a list of texts"))
		}
		rule.Steps = append(rule.Steps, guard.Level(step))
	}
	if len(rule.Steps) == 0 {
		rule.Steps = guard.Steps()
	}
	r.end()
	if key, err := rule.Check(); err != nil {
		r.fail(key, err)
	}
	return rule
}

func readImportance(r *reader) guard.Importance {
	var entry guard.Importance
	r.part("match", func(in *reader) {
		entry.User, entry.Command, entry.Job = in.text("user"), in.text("command"), in.text("job")
	})
	value, _ := valueOf[int64](r, "value", "a whole number, −1000 to 1000")
	if value < guard.LeastImportant || value > guard.MostImportant {
		r.fail("value", fmt.Errorf("%d is out of range: −1000 to 1000", value))
	}
	entry.Value = int(value)
	entry.Protect, _ = valueOf[bool](r, "protect", "true or false")
	entry.Distributed, _ = valueOf[bool](r, "distributed", "true or false")
	r.end()
	if entry.User == "" && entry.Command == "" && entry.Job == "" {
		r.fail("match", errors.New(`say whose: match = { user = "ci" }, with command or job besides or instead; "*" is any`))
	}
	return entry
}
