package guarding

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/gather"
	"vramscope/cli/sources"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

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
