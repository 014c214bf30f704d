package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"vramscope/guard"
	"vramscope/server"
)

// The lists [[guard.rule]] and [[guard.importance]] have no flags.
const (
	ruleList       = "guard.rule"
	importanceList = "guard.importance"
	mostRules      = 64
	mostImportance = 1024
)

func ruleOptions(r *guard.Rule) []Option {
	gpus := list(&r.GPUs, gpuRange)
	gpus.Kind = ranges
	return []Option{
		{Key: "name", Value: word(&r.Name, ruleName)},
		{Key: "gpu", Value: gpus},
		{Key: "when.free_below", Value: amount(&r.When.FreeBelow)},
		{Key: "when.demand", Value: truth(&r.When.Demand)},
		{Key: "when.lease", Value: truth(&r.When.Lease)},
		{Key: "when.full_within", Value: duration(&r.When.FullWithin, time.Second, 24*time.Hour)},
		{Key: "when.for", Value: duration(&r.When.For, 0, 24*time.Hour)},
		{Key: "users", Value: choice(&r.Users, guard.Own, guard.All)},
		{Key: "goal.free", Value: amount(&r.Goal)},
		{Key: "steps", Value: list(&r.Steps, func(item string) ([]guard.Level, error) { return []guard.Level{guard.Level(item)}, nil })},
		{Key: "sleep", Value: list(&r.Sleep, func(item string) ([]string, error) { return []string{item}, shown(item) })},
	}
}

func importanceOptions(e *guard.Importance) []Option {
	return []Option{
		{Key: "match.user", Value: word(&e.User, shown)},
		{Key: "match.command", Value: word(&e.Command, shown)},
		{Key: "match.job", Value: word(&e.Job, shown)},
		{Key: "value", Value: whole(&e.Value, "", guard.LeastImportant, guard.MostImportant)},
		{Key: "protect", Value: truth(&e.Protect)},
		{Key: "distributed", Value: truth(&e.Distributed)},
	}
}

func ruleName(name string) error {
	if len(name) > 64 {
		return errors.New("it has more than 64 bytes")
	}
	return shown(name)
}

// lastGPU is the highest index in a range: no box has more GPUs.
const lastGPU = 1023

// gpuRange returns the GPUs that an item names: "2", "0-3" or a GPU's UUID.
func gpuRange(item string) ([]string, error) {
	if strings.HasPrefix(item, "GPU-") && len(item) > len("GPU-") {
		return []string{item}, nil
	}
	from, to, ranged := strings.Cut(item, "-")
	if !ranged {
		to = from
	}
	first, err := strconv.ParseUint(from, 10, 16)
	last, lastErr := strconv.ParseUint(to, 10, 16)
	if err != nil || lastErr != nil || last < first || last > lastGPU {
		return nil, fmt.Errorf("%q is neither a GPU's index, nor a range like 0-3, nor a UUID (GPU-…)", item)
	}
	var gpus []string
	for i := first; i <= last; i++ {
		gpus = append(gpus, strconv.FormatUint(i, 10))
	}
	return gpus, nil
}

// tables returns the tables of a list. More than limit are a mistake.
func (r *reader) tables(path string, value any, limit int) (tables []map[string]any) {
	if value == nil {
		return nil
	}
	items, ok := value.([]any)
	for _, item := range items {
		table, isTable := item.(map[string]any)
		ok = ok && isTable
		tables = append(tables, table)
	}
	switch {
	case !ok:
		r.fail(path, fmt.Errorf("it is a list of tables: write [[%s]] on a line of its own, and its keys below", path))
		return nil
	case len(tables) > limit:
		r.fail(path, fmt.Errorf("there are %d: at most %d", len(tables), limit))
		return nil
	}
	return tables
}

func (r *reader) readRules(p *guard.Policy, value any) {
	names := map[string]bool{}
	for i, table := range r.tables(ruleList, value, mostRules) {
		rule, root, before := guard.Rule{Users: guard.Own, Steps: guard.Steps()}, fmt.Sprintf("%s[%d].", ruleList, i), len(r.mistakes)
		r.read(root, "", table, ruleOptions(&rule))
		if names[rule.Name] {
			r.fail(root+"name", fmt.Errorf("there are two rules with the name %q", rule.Name))
		}
		names[rule.Name] = true
		if key, err := rule.Check(); len(r.mistakes) == before { // one mistake in a rule often causes another
			r.fail(root+key, err)
		}
		p.Rules = append(p.Rules, rule)
	}
}

func (r *reader) readImportance(p *guard.Policy, value any) {
	for i, table := range r.tables(importanceList, value, mostImportance) {
		entry, root, before := guard.Importance{}, fmt.Sprintf("%s[%d].", importanceList, i), len(r.mistakes)
		r.read(root, "", table, importanceOptions(&entry))
		if entry.User == "" && entry.Command == "" && entry.Job == "" && len(r.mistakes) == before {
			r.fail(root+"match", errors.New(`say whose: match = { user = "ci" }, with command or job besides or instead; "*" is any`))
		}
		p.Importance = append(p.Importance, entry)
	}
}

// lists returns the rules, importance and servers of settings in TOML.
func lists(s *Settings) string {
	var b strings.Builder
	p := &s.Guard
	for i := range p.Rules {
		writeElement(&b, ruleList, ruleOptions(&p.Rules[i]), ruleOptions(&guard.Rule{}))
	}
	for i := range p.Importance {
		writeElement(&b, importanceList, importanceOptions(&p.Importance[i]), importanceOptions(&guard.Importance{}))
	}
	for i := range s.Servers {
		writeElement(&b, serverList, serverOptions(&s.Servers[i]), serverOptions(&server.Entry{}))
	}
	return b.String()
}

// writeElement writes a table of a list, with the options that differ from unset.
func writeElement(b *strings.Builder, list string, options, unset []Option) {
	fmt.Fprintf(b, "[[%s]]\n", list)
	for i, o := range options {
		if literal := o.Literal(); literal != unset[i].Literal() {
			fmt.Fprintf(b, "%s = %s\n", o.Key, literal)
		}
	}
}
