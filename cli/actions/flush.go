package actions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vramscope/action"
	"vramscope/action/flush"
	"vramscope/cli/command"
	"vramscope/cli/render"
	"vramscope/cli/sources"
	"vramscope/internal/bounded"
	"vramscope/internal/process"
	"vramscope/internal/text"
	"vramscope/probe"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
	"vramscope/server"
)

type flushFlags struct {
	name   string // of the command
	level  string
	dryRun bool
	yes    bool
	format string
	hold   time.Duration // how long, at most, a lease holds a sleeping server's room
}

func Flush(p *command.Program) *cobra.Command {
	f := flushFlags{}
	cmd := &cobra.Command{
		Use:         "flush PID",
		Annotations: command.WithoutScreen,
		Short:       "have a process free its cached GPU memory",
		Long: `Asks the probe in a process to free memory that its allocators have cached, and
reports what was freed, by the probe and by the driver's figure before and
after. The process continues; its next allocations go to the driver, which takes
a moment.

  gradual     what is cached; in steps, if the allocator can free a part
  selective   also the caches that the program has registered as evictable
  urgent      also whatever else can be collected, on all its GPUs
  sleep       asks its server to release its memory (docs/sharing.md):
              ` + server.Named + `,
              or one that a [[server]] of the configuration names. vramscope
              resume has it take the memory again; with --hold a lease keeps its
              room until then

It asks first, unless --yes is given. Ctrl-C stops a gradual flush after the
current step.

Each flush is logged in $XDG_STATE_HOME/vramscope/audit.log (root's: in
/var/lib/vramscope), before and after.

The exit code is 0 if memory was freed, or there was none to free; 1 if there
was some and none was freed, or the driver's figure did not fall as the probe
says; 3 if the process was not flushed: it has no probe, is another user's, has
ended, refuses, or you said no.`,
		Example: `  vramscope flush 2963112 --dry-run
  vramscope flush 2963112 --level gradual --yes
  vramscope flush 2963112 --yes --format json | jq .flush.freed_bytes`,
		Args: command.OnePID("  vramscope once     lists them; FLUSH is what a flush of each would free"),
	}
	cmd.RunE = command.WithPID(func(ctx context.Context, pid int) error {
		if f.name = cmd.Name(); f.name == "resume" {
			f.level = string(flush.Wake)
		}
		if f.hold > 0 && f.level != string(flush.Sleep) {
			return command.Usage("--hold is of --level sleep: it holds the room of a server that sleeps")
		}
		return runFlush(ctx, p, pid, f)
	})
	flags := cmd.Flags()
	command.ChoiceFlag(cmd, &f.level, "level", "", string(flush.Gradual), string(flush.Selective), string(flush.Urgent), string(flush.Sleep))
	flags.BoolVarP(&f.dryRun, "dry-run", "n", false, "say what would happen, and do nothing")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	command.ChoiceFlag(cmd, &f.format, "format", "f", "text", "json")
	flags.Var(command.Duration(&f.hold, time.Second, 7*24*time.Hour), "hold", "with --level sleep: a lease holds its room until resume, at most for this long")
	command.NameValues(cmd, map[string]string{"hold": "DURATION"})
	return cmd
}

// Resume returns the command that undoes flush --level sleep.
func Resume(p *command.Program) *cobra.Command {
	cmd := Flush(p)
	cmd.Use, cmd.Short = "resume PID", "have a server take the GPU memory again that it released"
	cmd.Long = `Asks the server of a process, which vramscope flush --level sleep has put to
sleep, to take its memory again, and reports what it took, by the driver. Where
others have taken the memory meanwhile a server can fail.`
	cmd.Example = `  vramscope resume 2963112 --yes`
	cmd.Flags().Lookup("level").Hidden, cmd.Flags().Lookup("hold").Hidden = true, true
	return cmd
}

func runFlush(ctx context.Context, p *command.Program, pid int, f flushFlags) error {
	src, err := sources.Open(p, 0)
	if err != nil {
		return err
	}
	if src.Settings.ReadOnly {
		return command.Usage("read-only is set, and a flush changes something: leave out --read-only, or read_only in the configuration")
	}
	if !f.dryRun && !f.yes && !canAsk(p) {
		return cannotAsk(f.name, pid, "says what would happen")
	}
	src.LookOnce()
	src.Asked = pid
	_, end := src.ListenFor(ctx)
	defer end()
	sampling := sampler.New(src.Options)
	sample := func(ctx context.Context) *snapshot.Snapshot {
		defer func() { src.Asked = 0 }() // only the first sample waits for the process
		return src.Look(ctx, sampling)
	}
	return flushProcess(ctx, src, sample, pid, f)
}

func flushProcess(ctx context.Context, src *sources.Set, sample func(context.Context) *snapshot.Snapshot, pid int, f flushFlags) error {
	p, signs := src.Program, render.SignsFor(src.Program.ASCII(src.Settings))
	before := sample(ctx)
	asksServer := flush.OfServer(flush.Level(f.level))
	target := flushTarget(before, pid)
	if target == nil && asksServer && src.Servers != nil {
		below := src.Servers.Below(pid)
		if at := slices.IndexFunc(before.Rows, func(row snapshot.Process) bool { return below[row.ID.Process.Key()] }); at >= 0 {
			target = &before.Rows[at] // pid is a server whose child processes have its models
		}
	}
	if target == nil {
		err := notThere(before, src, pid)
		if f.dryRun {
			return err
		}
		return logRefusal(src.Log, src.Table, "flush", pid, err)
	}
	request := flush.Request{
		Process: target.ID.Process, Level: flush.Level(f.level), DryRun: f.dryRun, Hold: f.hold, Origin: action.Command(f.name),
	}
	if len(src.Options.Only) > 0 {
		for _, row := range action.Rows(before, request.Process) {
			request.Devices = append(request.Devices, before.DeviceUUID(row.ID))
		}
	}
	if !f.dryRun && !f.yes && (asksServer || flush.Refusal(before, request) == nil) {
		question := render.FlushQuestion(before, target, request, signs)
		if asksServer {
			request.DryRun = true
			would, err := src.Flusher(sample).Run(ctx, request)
			if err != nil {
				return flushFailure(err, target, src, true)
			}
			request.DryRun, question = false, signs.Words(would.Sentence(""))+"\nAsk it?"
		}
		if err := confirm(p, question); err != nil {
			return err
		}
	}
	status := command.Status{Program: p, Ellipsis: signs.Ellipsis}
	if asksServer {
		request.Progress = func(r flush.Result) { status.Show(r.Outcome(), signs.Words(r.Sentence(""))) }
	}
	steps, stop := command.UntilSignal(ctx)
	defer stop()
	result, err := src.Flusher(sample).Run(steps, request)
	status.Clear()
	if err != nil {
		return flushFailure(err, target, src, asksServer)
	}
	if err := p.PrintAs(f.format, render.FlushDocument(before, target, &result), render.FlushText(before, target, &result, signs)); err != nil {
		return err
	}
	if !result.Done() {
		return &command.Silent{Code: command.ExitFailure}
	}
	return nil
}

// flushTarget returns a row of the process, if possible one that can be flushed; nil if there is none.
func flushTarget(snap *snapshot.Snapshot, pid int) *snapshot.Process {
	var target *snapshot.Process
	for i := range snap.Rows {
		row := &snap.Rows[i]
		if row.ID.Process.PID == pid && (target == nil || row.FlushRefusal(snap.Host.User) == "") {
			target = row
		}
	}
	return target
}

// probeAdvice returns lines about the probe of a process that cannot be flushed.
func probeAdvice(target *snapshot.Process, src *sources.Set) (advice []string) {
	pid := target.ID.Process.PID
	if src.Probes != nil {
		for _, problem := range src.Probes.Problems() {
			if problem.PID == pid || strings.Contains(problem.Path, "/"+strconv.Itoa(pid)+"-") {
				advice = append(advice, "  its probe          "+text.Clean(problem.Err.Error()))
			}
		}
	}
	if target.Probe == nil {
		attach := fmt.Sprintf("vramscope attach %d --dry-run", pid)
		advice = append(advice, "  "+attach+"   says whether it can get one",
			fmt.Sprintf("  %-*s   lists all; FLUSH is what a flush of each would free", len(attach), "vramscope once"))
	}
	return advice
}

// notThere says why a snapshot has no row of a pid.
func notThere(snap *snapshot.Snapshot, src *sources.Set, pid int) error {
	if src.Table != nil {
		id, err := src.Table.Identify(pid)
		if err != nil {
			return command.Refused(err, "there is no process %d in this /proc", pid)
		}
		if !src.Table.Alive(id) {
			return command.Refused(nil, "PID %d has ended", pid)
		}
	}
	if err := src.Unusable(snap); err != nil {
		return err
	}
	if len(src.Options.Only) > 0 {
		return command.Refused(nil, "PID %d is not on GPU %s", pid, text.Clean(strings.Join(src.Options.Only, ", ")))
	}
	return command.Refused(nil, "PID %d is on no GPU", pid)
}

func flushFailure(err error, target *snapshot.Process, src *sources.Set, asksServer bool) error {
	var refusal *process.Refusal
	var answer *probe.Error
	switch {
	case errors.As(err, &refusal) && asksServer:
		return command.Refused(err, "%s", text.Clean(refusal.Reason))
	case errors.As(err, &refusal):
		return command.Refused(err, "%s", text.Clean(refusal.Reason)).Then(probeAdvice(target, src)...)
	case errors.As(err, &answer) && !errors.Is(err, probe.ErrBroken):
		return command.Refused(err, "its probe answers %s: %s", text.Clean(string(answer.Code)), text.Clean(answer.Message))
	case errors.Is(err, probe.ErrNoProbe):
		return command.Refused(err, "%s", text.Clean(err.Error()))
	default:
		return command.Failed(err)
	}
}

// logRefusal logs why a command did nothing, if there is a log, and returns why.
func logRefusal(log *action.Log, table *process.Table, name string, pid int, why error) error {
	if log == nil {
		return why
	}
	_ = log.Refuse(entryOf(table, name, name, pid), &process.Refusal{Reason: strings.TrimPrefix(why.Error(), "refused: ")}) // the command is refused, whether that is logged or not
	return why
}

// entryOf begins the audit log's entry for a command on a process.
func entryOf(table *process.Table, name, command string, pid int) action.Entry {
	entry := action.NewEntry(name, process.Identity{PID: pid}, action.Command(command))
	if info, err := table.Look(pid); err == nil {
		entry.StartTime = info.Identity.StartTime
		entry.Runs(info.User, info.Command)
	}
	return entry
}

func canAsk(p *command.Program) bool {
	return command.IsTerminal(p.Stdin) && command.IsTerminal(p.Stderr)
}

// cannotAsk returns the failure to ask without a terminal; dry explains --dry-run.
func cannotAsk(name string, pid int, dry string) *command.Failure {
	return command.Usage("there is no terminal to ask on").Then(
		fmt.Sprintf("  vramscope %s %d --dry-run   %s", name, pid, dry), fmt.Sprintf("  vramscope %s %d --yes       does it without asking", name, pid))
}

func confirm(p *command.Program, question string) error {
	if _, err := io.WriteString(p.Stderr, question+" [y/N] "); err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	lines := bounded.Lines(p.Stdin, 4<<10)
	if !lines.Scan() && lines.Err() != nil {
		return fmt.Errorf("read the answer: %w", lines.Err())
	}
	switch strings.ToLower(strings.TrimSpace(lines.Text())) {
	case "y", "yes":
		return nil
	default:
		return command.Refused(nil, "you did not say yes; nothing was done")
	}
}
