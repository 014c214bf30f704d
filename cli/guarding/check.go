package guarding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/cli/sources"
	"vramscope/daemon/socket"
	"vramscope/guard"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
	"vramscope/server"
)

func Command(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:         "guard check|log|replay",
		Annotations: map[string]string{command.Takes: ""},
		Short:       "free memory by policy: check it, what it did, what it would do",
		Long: `vramscope daemon frees cached memory by the rules in [guard] of its
configuration: dry-run, in which it only reports what it would do, or act.

  check    validates a configuration, and explains it in plain words
  log      what the guard has decided
  replay   what a policy would have done over a recording`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return command.Usage("guard has check, log and replay, not %q", text.Clean(args[0]))
			}
			return command.Usage("guard needs one of check, log and replay")
		},
	}
	cmd.AddCommand(guardCheck(p), guardLog(p), guardReplay(p))
	return cmd
}

func guardCheck(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:         "check [FILE]",
		Annotations: map[string]string{command.Takes: "config demo seed"},
		Short:       "validate a configuration, and explain its guard",
		Long: `Reads a configuration as the daemon would, and explains its [guard] in plain
words. Without FILE it is the configuration that is in force. An error names line
and key, and the exit code is 2.

With --demo it also says what the guard makes of each process of a simulated box;
where there are no rules, by those of an example.`,
		Example: `  vramscope guard check
  vramscope guard check --demo
  vramscope guard check /etc/xdg/vramscope/config.toml`,
		Args:              command.AtMostOne("FILE"),
		ValidArgsFunction: cobra.FixedCompletions([]string{"toml"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				p.Flags.Config = args[0]
			}
			s, err := p.Settings()
			if err != nil {
				return err
			}
			if p.Flags.Demo {
				return guardDemo(p, s)
			}
			if !s.Guard.Guards() && len(s.Guard.Rules) == 0 {
				none := NoRules(p, "There is no guard: ")
				return p.Print([]byte(none.Message + "\n" + none.Next[0] + "\n  with mode = \"act\" it answers rescues without a rule (vramscope run --rescue)\n"))
			}
			return p.Print([]byte(policyInWords(&s, p.ConfigPath(), cannotAct(p))))
		},
	}
}

// NoRules returns a failure that begins with words, and says why there are no rules and what to do.
func NoRules(p *command.Program, words string) *command.Failure {
	path, why := p.ConfigPath(), " has no [[guard.rule]]"
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		why = " does not exist"
	}
	return command.Usage("%s%s%s", words, text.Clean(path), why).Then("  write rules into it, or name another file with --config; docs/guard.md has examples")
}

// cannotAct returns why the daemon's guard cannot act, "" if no reason is known. If no daemon of a real
// box answers, it checks whether the audit log can be written.
func cannotAct(p *command.Program) string {
	ctx, cancel := context.WithTimeout(context.Background(), sources.OnceReading)
	defer cancel()
	client, err := socket.Dial(ctx, p.Daemons())
	if err != nil || client.Status().Simulated {
		if err := p.AuditLog(nil).Check(); err != nil {
			return "the audit log cannot be written: " + err.Error()
		}
		return ""
	}
	defer func() { _ = client.Close() }() // it has answered
	if g, err := client.Guard(ctx); err == nil {
		return g.Cannot
	}
	return "" // the daemon has no guard, or did not answer
}

// policyInWords explains a policy. cannot is why its guard cannot act, "" if it can.
func policyInWords(s *config.Settings, path, cannot string) string {
	var b strings.Builder
	policy := &s.Guard
	fmt.Fprintf(&b, "%s\n\n", text.Clean(path))
	switch {
	case len(policy.Rules) == 0 && cannot != "":
		fmt.Fprintf(&b, "The daemon's guard is to answer rescues, and cannot: %s\n", text.Clean(cannot))
		return b.String()
	case len(policy.Rules) == 0:
		fmt.Fprintf(&b, rescuesInWords, text.Plural(policy.MaxPerMinute, "time", "times"))
		b.WriteString("\n" + importanceInWords(policy.Importance))
		return b.String()
	case policy.Mode == guard.Off:
		b.WriteString("The guard is off. With mode = \"dry-run\" or \"act\":\n")
	case policy.Mode == guard.DryRun:
		b.WriteString("The guard reports what it would do, and does nothing (dry-run).\n")
	case cannot != "":
		fmt.Fprintf(&b, "The daemon's guard is to act, and cannot: %s\n", text.Clean(cannot))
	default:
		b.WriteString("The daemon's guard acts: it flushes, and answers rescues. A monitor only reports what it would do.\n")
	}
	fmt.Fprintf(&b, "It looks every %s, and flushes at most %s a minute.\n",
		quantity.BriefDuration(policy.Every), text.Plural(policy.MaxPerMinute, "time", "times"))
	for i := range policy.Rules {
		b.WriteString("\n" + ruleInWords(&policy.Rules[i]))
		if len(policy.Rules[i].Sleep) > 0 && !slices.ContainsFunc(s.Servers, func(e server.Entry) bool { return e.Watch }) {
			b.WriteString("  note     no [[server]] has watch = true: the step sleep finds none\n")
		}
	}
	b.WriteString("\n" + importanceInWords(policy.Importance))
	return b.String()
}

// rescuesInWords explains a policy that acts without rules.
const rescuesInWords = `There is no [[guard.rule]]: whatever is free, the daemon's guard flushes nothing by itself.
It answers rescues: where an allocation of a program under vramscope run --rescue fails,
processes on that GPU that are no more important free what they cache, at most %s a minute.
  gives    your own processes; where root runs the daemon, another user's only if it
           matches a [[guard.importance]] that does not protect it, and is less important
`

func ruleInWords(r *guard.Rule) string {
	where := "every GPU"
	if len(r.GPUs) == 1 {
		where = "GPU " + r.GPUs[0]
	} else if len(r.GPUs) > 1 {
		where = "GPUs " + strings.Join(r.GPUs, ", ")
	}
	var conditions []string
	if !r.When.FreeBelow.Zero() {
		conditions = append(conditions, "less than "+r.When.FreeBelow.String()+" is free")
	}
	demand := r.When.Demand || r.When.FullWithin > 0 && r.When.FreeBelow.Zero()
	if demand {
		conditions = append(conditions, "less is free than programs will need at their next peaks, or than "+r.Goal.String())
	}
	if r.When.Lease {
		conditions = append(conditions, "the first claim that waits for a lease lacks memory")
	}
	when := strings.Join(conditions, " and ")
	if r.When.For > 0 {
		when += ", for " + quantity.BriefDuration(r.When.For) + " without a break"
	}
	users := "your own processes only"
	if r.Users == guard.All {
		users = "any user's processes, where root runs the daemon; else your own"
	}
	var steps []string
	for i, step := range r.Steps {
		words := stepsInWords[step]
		if step == guard.Sleep {
			words += text.Clean(strings.Join(r.Sleep, ", "))
		}
		steps = append(steps, fmt.Sprintf("    %d. %-10s %s", i+1, step, words))
	}
	goal := r.Goal.String()
	if demand {
		goal = "as much, and at least " + goal + ","
	}
	if r.When.Lease {
		goal = "what it lacks"
	}
	note := ""
	if r.When.FullWithin > 0 {
		note = "\n  note     full_within prevented nothing and has no effect any more"
		if demand {
			note += ": the rule is read as demand = true"
		}
	}
	return fmt.Sprintf(`%s
  on       %s
  when     %s%s
  until    %s is free
  touches  %s
  steps    each until nothing is left that it frees, or the goal is reached
%s
`, text.Clean(r.Name), where, when, note, goal, users, strings.Join(steps, "\n"))
}

var stepsInWords = map[guard.Level]string{
	guard.Gradual:   "caches that should stay free",
	guard.Selective: "also caches that programs have registered, of known size",
	guard.Urgent:    "also what the program needs back within ten minutes",
	guard.Sleep:     "watched servers without requests, until somebody wakes them: ",
}

func importanceInWords(entries []guard.Importance) string {
	s := "The least important goes first. Every process counts 0, or less by its own VRAMSCOPE_IMPORTANCE.\n"
	if len(entries) == 0 {
		return s + "Processes of a distributed job are never touched.\n"
	}
	s = "The least important goes first. The first entry that matches sets a process's importance;\n" +
		"its own VRAMSCOPE_IMPORTANCE may only lower it. Others count 0. Whoever an entry may name, but for\n" +
		"a user, command or job that cannot be read, is not flushed and counts no more than the entry says.\n"
	distributed := false
	for i := range entries {
		e := &entries[i]
		var conditions []string
		for _, part := range []struct{ what, pattern string }{{"user", e.User}, {"command", e.Command}, {"job", e.Job}} {
			if part.pattern != "" {
				conditions = append(conditions, part.what+" "+text.Clean(part.pattern))
			}
		}
		worth := fmt.Sprintf("%+d", e.Value)
		if e.Protect {
			worth = "protected"
		}
		if e.Distributed {
			distributed = true
			worth += ", also in a distributed job"
		}
		s += fmt.Sprintf("  %-10s %s\n", worth, strings.Join(conditions, ", "))
	}
	if distributed {
		return s + "Processes of other distributed jobs are never touched.\n"
	}
	return s + "Processes of a distributed job are never touched.\n"
}

// decisionLine returns a decision in a log: "2026-11-21 03:12:07  GPU 0  flushed PID …".
func decisionLine(at time.Time, gpu string, message string) string {
	return at.Local().Format(time.DateTime) + "  " + gpu + text.Clean(message) + "\n"
}

// examplePolicy returns the policy of guard check --demo for a configuration without rules.
func examplePolicy() guard.Policy {
	return guard.Policy{
		Mode: guard.DryRun, Every: time.Second, MaxPerMinute: guard.DefaultMaxPerMinute,
		Rules: []guard.Rule{
			{Name: "demand", When: guard.When{Demand: true}, Users: guard.Own, Goal: guard.Amount{Percent: 6}, Steps: guard.Steps()},
			{Name: "threshold", When: guard.When{FreeBelow: guard.Amount{Percent: 20}, For: time.Second}, Users: guard.Own, Goal: guard.Amount{Percent: 30}, Steps: guard.Steps()},
		},
		Importance: []guard.Importance{{Command: "train.py*", Protect: true}, {User: "frank", Value: -500}},
	}
}

// guardDemo explains a policy, and the order in which it flushes the processes of a simulated box.
func guardDemo(p *command.Program, s config.Settings) error {
	path := p.ConfigPath()
	if len(s.Guard.Rules) == 0 {
		own := s.Guard.Importance
		path, s.Guard = "An example", examplePolicy()
		if len(own) > 0 {
			s.Guard.Importance = own
		}
	}
	words := policyInWords(&s, path, "")
	if s.Guard.Mode == guard.Off {
		s.Guard.Mode = guard.DryRun
	}
	src := sources.OpenWith(p, &s, sources.DemoPast)
	src.WatchGuard()
	sampling := sampler.New(src.Options)
	src.CatchUp(sampling, time.Second)
	snap := sampling.Latest()
	return p.Print([]byte(words + "\n" + standingsInWords(snap)))
}

// standingsInWords lists the processes in the order in which the guard would flush them, and its
// last decisions.
func standingsInWords(snap *snapshot.Snapshot) string {
	const commandCells, decisions = 24, 3
	var b strings.Builder
	b.WriteString("SIMULATED: whom the guard would flush on the demo's box, in which order, its importance, and\nhow much of what that frees should stay free:\n")
	for i := range snap.Guard.Standings {
		standing := &snap.Guard.Standings[i]
		p := snap.Row(standing.Row)
		if p == nil {
			continue
		}
		order, frees := "–", standing.Frees.String()
		if standing.Order > 0 {
			order = strconv.Itoa(standing.Order) + "."
		}
		if stays, ok := standing.Stays.Value(); ok {
			frees = stays.String() + " of " + frees
		}
		reason := ""
		if standing.Reason != "" {
			reason = "  " + text.Clean(standing.Reason)
		}
		fmt.Fprintf(&b, "  GPU %d  %-2s  %-6s %-24s  %+5d  %14s%s\n", p.GPU, order, text.Clean(cmp.Or(p.User, "?")),
			text.Cut(text.Clean(process.ShortCommand(p.Command, p.Name)), commandCells, "…"), standing.Importance, frees, reason)
	}
	b.WriteString("\nWhat it decided last:\n")
	for i, d := range snap.Guard.Decisions {
		if i < decisions {
			b.WriteString("  " + decisionLine(d.Time, fmt.Sprintf("GPU %d  ", d.GPU), d.Message))
		}
	}
	return b.String()
}
