package guarding

import (
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
	"vramscope/cli/gather"
	"vramscope/cli/sources"
	"vramscope/guard"
	guardreplay "vramscope/guard/replay"
	"vramscope/internal/text"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

type guardReplayFlags struct {
	from, to, format string
}

func guardReplay(p *command.Program) *cobra.Command {
	var f guardReplayFlags
	cmd := &cobra.Command{
		Use:         "replay [FILE|DIR]",
		Annotations: map[string]string{command.Takes: "config demo"},
		Short:       "what a policy would have done over a recording",
		Long: `Applies the policy in [guard] of the configuration to a recording, as if it had
acted: what it would have done, and what would have come of it. A process
that would have been flushed has from then on the most that it needed since.
Programs go on as they were recorded: one that ran out of memory still does.

Without FILE or DIR it reads your own recordings. Times are as for export.`,
		Example: `  vramscope guard replay --from 22:00 --to 06:00
  vramscope guard replay --config new.toml recordings/2026-11-21.db`,
		Args:              command.AtMostOne("FILE or DIR"),
		ValidArgsFunction: cobra.FixedCompletions([]string{"db"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE:              func(_ *cobra.Command, args []string) error { return runGuardReplay(p, args, f) },
	}
	command.ChoiceFlag(cmd, &f.format, "format", "f", "text", "json")
	command.FromTo(cmd, &f.from, &f.to)
	return cmd
}

func runGuardReplay(p *command.Program, args []string, f guardReplayFlags) error {
	s, err := p.Settings()
	if err != nil {
		return err
	}
	if len(s.Guard.Rules) == 0 {
		return NoRules(p, "")
	}
	r, err := sources.OpenRecording(p, args...)
	if err != nil {
		return err
	}
	defer r.Close()
	from, to, err := r.Between(f.from, f.to)
	if err != nil {
		return err
	}
	decisions, summary, err := replayed(r.Recording, s.Guard, from, to)
	if err != nil {
		return err
	}
	events, err := r.EventsBetween(from, to)
	if err != nil {
		return err
	}
	ooms := len(slices.DeleteFunc(events, func(e snapshot.Event) bool { return e.Kind != snapshot.EventOutOfMemory }))
	doc := schema.GuardDocument{Schema: schema.GuardVersion, Decisions: schema.DecisionsOf(decisions), Replay: &schema.GuardReplay{
		From: schema.Time(summary.From), To: schema.Time(summary.To), ObservedSeconds: summary.Observed.Seconds(), Flushes: summary.Flushes,
		FreedBytes: summary.Freed, StayedBytes: summary.Stayed, CameBack: summary.CameBack, BelowWithout: summary.Below[0], BelowWith: summary.Below[1],
		SecondsWithout: summary.Seconds[0], SecondsWith: summary.Seconds[1], OutOfMemory: ooms,
	}}
	return p.PrintAs(f.format, doc, replayInWords(decisions, &summary, ooms))
}

func replayed(r *recording.Recording, policy guard.Policy, from, to time.Time) (all []snapshot.GuardDecision, s guardreplay.Summary, err error) {
	var engine *guardreplay.Replay
	err = r.Moments(from, to, func(snap *snapshot.Snapshot) {
		if engine == nil {
			engine = guardreplay.New(policy, ownerOf(snap))
		}
		all = append(all, engine.Step(snap)...)
	})
	if err == nil && engine == nil {
		err = errors.New("nothing is recorded of that time")
	}
	if err != nil {
		return nil, s, err
	}
	return all, engine.Summary(), nil
}

// ownerOf returns the user who recorded, as the owner of the guard.
func ownerOf(snap *snapshot.Snapshot) guard.Owner {
	owner := guard.Owner{Root: snap.Host.User == "root", UID: uint32(os.Geteuid())}
	for i := range snap.Rows {
		if uid, ok := snap.Rows[i].UID.Value(); ok && snap.Rows[i].User == snap.Host.User {
			owner.UID = uid
		}
	}
	return owner
}

func replayInWords(decisions []snapshot.GuardDecision, s *guardreplay.Summary, ooms int) string {
	var b strings.Builder
	for i := range decisions {
		d := &decisions[i]
		message := d.Message
		if d.Kind == snapshot.GuardFlushed {
			message = "would have " + message
		}
		b.WriteString(decisionLine(d.Time, "GPU "+strconv.Itoa(d.GPU)+"  ", message))
	}
	if len(decisions) > 0 {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s to %s, %s observed\n", s.From.Local().Format(time.DateTime), s.To.Local().Format(time.DateTime), s.Observed.Round(time.Second))
	fmt.Fprintf(&b, "would have flushed %s: %s freed, of which %s had stayed free a minute later\n", text.Plural(s.Flushes, "time", "times"), s.Freed, s.Stayed)
	fmt.Fprintf(&b, "below a threshold  without: %s, %s   with: %s, %s\n",
		text.Plural(s.Below[0], "time", "times"), seconds(s.Seconds[0]), text.Plural(s.Below[1], "time", "times"), seconds(s.Seconds[1]))
	fmt.Fprintf(&b, "out of memory      %s recorded; a replay cannot tell which would not have been\n", text.Plural(ooms, "event", "events"))
	return b.String()
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}

type guardLogFlags struct {
	since, file, format string
}

func guardLog(p *command.Program) *cobra.Command {
	f := guardLogFlags{since: "24h"}
	cmd := &cobra.Command{
		Use:         "log",
		Annotations: map[string]string{command.Takes: "demo"},
		Short:       "what the guard has decided",
		Long: `Lists what the guard has decided, oldest first: what it did or would have done,
expected and measured bytes, and why; also why it did nothing. It reads the
recording or, without one, the audit log.`,
		Example: `  vramscope guard log
  vramscope guard log --since 7d --format json | jq '.decisions[] | select(.kind == "flushed")'`,
		Args: command.NoArguments,
		RunE: func(*cobra.Command, []string) error { return runGuardLog(p, f) },
	}
	cmd.Flags().Var(command.Span(&f.since), "since", "how far back: 30m, 24h, 7d")
	cmd.Flags().StringVar(&f.file, "file", "", "a recording, or a folder of them (default: where vramscope daemon --record puts them)")
	command.ChoiceFlag(cmd, &f.format, "format", "f", "text", "json")
	command.NameValues(cmd, map[string]string{"since": "DURATION", "file": "PATH"})
	return cmd
}

func runGuardLog(p *command.Program, f guardLogFlags) error {
	back, err := command.ParseSpan(f.since)
	if err != nil {
		return command.Usage("--since: %v", err)
	}
	since := p.Now().Add(-back)
	decisions, source, err := decisions(p, f.file, since)
	if err != nil {
		return err
	}
	var b strings.Builder
	for i := range decisions {
		d := &decisions[i]
		gpu := ""
		if d.GPUUUID != "" {
			gpu = "GPU " + strconv.Itoa(d.GPU) + "  "
		}
		b.WriteString(decisionLine(d.Time, gpu, d.Message))
	}
	if len(decisions) == 0 {
		fmt.Fprintf(&b, "the guard has decided nothing since %s, by %s\n", since.Local().Format(time.DateTime), source)
	}
	return p.PrintAs(f.format, schema.GuardDocument{Schema: schema.GuardVersion, Decisions: schema.DecisionsOf(decisions)}, b.String())
}

// decisions returns the guard's decisions since a time, oldest first, and their source.
func decisions(p *command.Program, file string, since time.Time) ([]snapshot.GuardDecision, string, error) {
	r, err := sources.OpenRecording(p, file)
	if err != nil && (file != "" || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, recording.ErrEmpty)) {
		return nil, "", err
	}
	if err == nil {
		defer r.Close()
		found, err := r.Decisions(since, p.Now().Add(time.Minute))
		if err != nil || len(found) > 0 || file != "" { // a file that was named is the only source
			return found, r.Where, err
		}
	}
	log := p.AuditLog(nil)
	found, err := gather.LoggedDecisions(log, since)
	return found, log.Path(), err
}
