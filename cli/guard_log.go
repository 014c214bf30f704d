package cli

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vramscope/action"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

type guardLogFlags struct {
	since, file, format string
}

func (p *program) guardLog() *cobra.Command {
	f := guardLogFlags{since: "24h"}
	cmd := &cobra.Command{
		Use:         "log",
		Annotations: map[string]string{takes: "demo"},
		Short:       "what the guard has decided",
		Long: `Lists what the guard has decided, oldest first: what it did or would have done,
expected and measured bytes, and why; also why it did nothing. It reads the
recording or, without one, the audit log.`,
		Example: `  vramscope guard log
  vramscope guard log --since 7d --format json | jq '.decisions[] | select(.kind == "flushed")'`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return p.runGuardLog(f) },
	}
	cmd.Flags().Var(aSpan(&f.since), "since", "how far back: 30m, 24h, 7d")
	cmd.Flags().StringVar(&f.file, "file", "", "a recording, or a folder of them (default: where vramscope daemon --record puts them)")
	choiceFlag(cmd, &f.format, "format", "f", "text", "json")
	nameValues(cmd, map[string]string{"since": "DURATION", "file": "PATH"})
	return cmd
}

func (p *program) runGuardLog(f guardLogFlags) error {
	back, err := parseSpan(f.since)
	if err != nil {
		return usage("--since: %v", err)
	}
	since := p.now().Add(-back)
	decisions, source, err := p.decisions(f.file, since)
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
	return p.printAs(f.format, schema.GuardDocument{Schema: schema.GuardVersion, Decisions: schema.DecisionsOf(decisions)}, b.String())
}

// decisions are those since a time, oldest first, and where they are from.
func (p *program) decisions(file string, since time.Time) ([]snapshot.GuardDecision, string, error) {
	where := cmp.Or(file, p.recordings, recordingsOf(p.flags.demo))
	r, err := recording.Open(where)
	if err != nil && (file != "" || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, recording.ErrEmpty)) {
		return nil, where, p.noRecording(err, where, file == "")
	}
	if err == nil {
		defer func() { _ = r.Close() }() // it was only read
		found, err := recordedDecisions(r, since, p.now().Add(time.Minute))
		if err != nil || len(found) > 0 || file != "" { // a file that was named is the only source
			return found, where, err
		}
	}
	log := filepath.Join(stateHome(), action.LogName)
	found, err := loggedDecisions(log, since)
	return found, log, err
}

func recordedDecisions(r *recording.Recording, from, to time.Time) ([]snapshot.GuardDecision, error) {
	rows, err := r.Decisions(from, to)
	if err != nil {
		return nil, err
	}
	index := map[string]int{}
	if then, ok := r.At(to); ok {
		for i := range then.GPUs {
			index[then.GPUs[i].UUID] = then.GPUs[i].Index
		}
	}
	var found []snapshot.GuardDecision
	for i := range rows {
		d := &rows[i]
		found = append(found, snapshot.GuardDecision{
			Time: d.Time, Kind: d.Kind, Rule: d.Rule, GPU: index[d.GPUUUID], GPUUUID: d.GPUUUID, Instance: d.Instance, Row: d.Row(), User: d.User, Name: d.Name,
			Level: d.Level, Free: d.Free, Goal: d.Goal, Expected: d.Expected, Measured: d.Measured, Reason: d.Reason, Message: d.Message,
		})
	}
	return found, nil
}

// loggedDecisions are those of the audit log, whose lines have no sentence.
func loggedDecisions(path string, since time.Time) (found []snapshot.GuardDecision, err error) {
	err = eachLogged(path, func(e *action.Entry) {
		if e.By != "policy" || e.Outcome == "begin" {
			return
		}
		if d := decisionOf(e); !d.Time.Before(since) {
			found = append(found, d)
		}
	})
	return found, err
}

// eachLogged visits the lines of an audit log, which may not be there.
func eachLogged(path string, visit func(*action.Entry)) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e action.Entry
		if json.Unmarshal(lines.Bytes(), &e) == nil { // else another version wrote it
			visit(&e)
		}
	}
	return lines.Err()
}

// loggedAt is when a line was written; the zero time, before all, where that is unreadable.
func loggedAt(e *action.Entry) time.Time {
	at, _ := time.Parse("2006-01-02T15:04:05.000Z07:00", e.Time)
	return at
}

func decisionOf(e *action.Entry) snapshot.GuardDecision {
	d := snapshot.GuardDecision{
		Time: loggedAt(e), Kind: snapshot.GuardDecisionKind(e.Outcome), Rule: e.Why, User: e.Target, Level: e.Level, Reason: e.Reason,
		Row: snapshot.RowID{Process: process.Identity{PID: e.PID, StartTime: e.StartTime}},
	}
	if len(e.GPUs) > 0 && len(e.Devices) > 0 {
		d.GPU, d.GPUUUID, d.Row.GPUUUID = e.GPUs[0], e.Devices[0], e.Devices[0]
	}
	if e.Expected != nil {
		d.Expected = quantity.From(*e.Expected, quantity.Probe)
	}
	if e.DriverBytes != nil {
		d.Measured = quantity.From(*e.DriverBytes, quantity.Driver)
	}
	if e.Action == "flush" {
		switch e.Outcome {
		case "refused", "failed":
			d.Kind = snapshot.GuardRefused
		default:
			d.Kind = snapshot.GuardFlushed
		}
	}
	d.Message = d.Sentence()
	return d
}
