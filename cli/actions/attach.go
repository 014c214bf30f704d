package actions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vramscope/action"
	"vramscope/action/attach"
	"vramscope/cli/command"
	"vramscope/cli/sources"
	"vramscope/internal/process"
	"vramscope/internal/text"
)

type attachFlags struct{ dryRun, yes bool }

func Attach(p *command.Program) *cobra.Command {
	f := attachFlags{}
	cmd := &cobra.Command{
		Use:         "attach PID",
		Annotations: command.WithoutScreen,
		Short:       "put a probe into a running Python process",
		Long: `Puts the Python probe into one of your own processes, so that vramscope shows
what its GPU memory is and can flush what is cached. The process goes on; the
probe stays until it ends. A program started with vramscope run has the probe
from the beginning.

  Python 3.8-3.13   gdb stops it for some milliseconds and starts one thread
                    in it
  Python 3.14       Python itself runs the probe's code at its next safe point
                    (sys.remote_exec)

It asks first, unless --yes is given. If a probe cannot be attached, it lists
every reason. Each attempt is logged in $XDG_STATE_HOME/vramscope/audit.log
(root's: in /var/lib/vramscope), before and after.

The exit code is 0 if the probe answers, 1 if it does not, and 3 if nothing was
done: it cannot be attached, or you said no.`,
		Example: `  vramscope attach 3011876 --dry-run
  vramscope attach 3011876 --yes`,
		Args: command.OnePID("  vramscope once     lists them; --dry-run says whether one could get a probe"),
		RunE: command.WithPID(func(ctx context.Context, pid int) error { return runAttach(ctx, p, pid, f) }),
	}
	cmd.Flags().BoolVarP(&f.dryRun, "dry-run", "n", false, "say whether it could be done, and do nothing")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	return cmd
}

func runAttach(ctx context.Context, p *command.Program, pid int, f attachFlags) error {
	s, err := p.Settings()
	switch {
	case err != nil:
		return err
	case s.ReadOnly && !f.dryRun:
		return command.Usage("read-only is set, and attaching changes something: leave out --read-only, or read_only in the configuration")
	case p.Flags.Demo:
		return command.Usage("a simulated process can get no probe: leave out --demo")
	case !f.dryRun && !f.yes && !canAsk(p):
		return cannotAsk("attach", pid, "says whether it could be done")
	}
	table := process.NewTable("/proc")
	log := p.AuditLog(table)
	id, err := table.Identify(pid)
	if err != nil {
		err = command.Refused(err, "there is no process %d in this /proc", pid)
		if f.dryRun {
			return err
		}
		return logRefusal(log, table, "attach", pid, err)
	}
	a := sources.Attacher(table, log)
	plan := a.Examine(ctx, id)
	switch {
	case f.dryRun && !plan.Possible():
		return attachFailure(&plan, plan.Refusal())
	case f.dryRun:
		return p.Print([]byte(planText(p, table, &plan)))
	case plan.Possible() && !f.yes:
		if err := confirm(p, planText(p, table, &plan)+"Attach?"); err != nil {
			return err
		}
	}
	ctx, stop := command.UntilSignal(ctx) // a signal ends the wait for the probe
	defer stop()
	// Run examines the process again, because the process can have changed since.
	result, err := a.Run(ctx, attach.Request{Process: id, Origin: action.Command("attach")})
	if err != nil {
		return attachFailure(&plan, err)
	}
	var names []string
	for _, r := range result.Hello.Runtimes {
		names = append(names, strings.TrimSpace(text.Clean(r.Name)+" "+text.Clean(r.Version)))
	}
	return p.Print(fmt.Appendf(nil, "%s; its probe answered after %.1f s; %s\n",
		attach.Sentence(pid, result), result.Took.Seconds(), cmp.Or(strings.Join(names, ", "), "it uses no GPU so far")))
}

// planText describes the process, the method and the checks.
func planText(p *command.Program, table *process.Table, plan *attach.Plan) string {
	var b strings.Builder
	who, started := "?", ""
	name := ""
	if info, err := table.Look(plan.Process.PID); err == nil {
		who, name = cmp.Or(info.User, "?"), process.ShortCommand(info.Command, info.Name)
		started = ", started " + info.Started.Format("2006-01-02 15:04:05")
	}
	fmt.Fprintf(&b, "PID %d  %s  %s\n", plan.Process.PID, text.Clean(who), text.Cut(text.Clean(name), 100, "…"))
	fmt.Fprintf(&b, "%s (%s)%s\n\n", text.Clean(plan.Interpreter), plan.Version, started)
	if plan.Method == attach.RemoteExec {
		b.WriteString("This runs vramscope's code inside your process: Python itself runs it at its next\n" +
			"safe point (sys.remote_exec), and it starts one thread there. No standstill.\n")
	} else {
		b.WriteString("This runs vramscope's code inside your process: gdb stops it for a moment and\n" +
			"starts one thread there. Standstill usually under 0.1 s, 1 s with 1000 threads.\n")
	}
	fmt.Fprintf(&b, "It usually takes a second. The probe stays until the process ends.\nLogged in %s\n", text.Clean(p.LogDirectory()))
	for _, check := range plan.Checks {
		fmt.Fprintf(&b, "  ok  %s\n", text.Clean(check.Text))
	}
	if plan.Note != "" {
		fmt.Fprintf(&b, "  note  %s\n", text.Clean(plan.Note))
	}
	if plan.Instead != "" {
		fmt.Fprintf(&b, "No attaching next time:  %s\n", text.Clean(plan.Instead))
	}
	return b.String()
}

// attachFailure says why no probe was attached. Each of several reasons is on a line of its own.
func attachFailure(plan *attach.Plan, err error) error {
	var refusal *process.Refusal
	if !errors.As(err, &refusal) {
		return command.Failed(err)
	}
	if plan.HasProbe {
		return command.Refused(err, "PID %d: it has a probe already", plan.Process.PID) // other obstacles do not matter
	}
	var reasons []string
	for _, check := range plan.Checks {
		if !check.OK {
			reasons = append(reasons, text.Clean(check.Text))
		}
	}
	if len(reasons) < 2 {
		return command.Refused(err, "PID %d: %s", plan.Process.PID, text.Clean(refusal.Reason)).Then(insteadOf(plan)...)
	}
	f := command.Refused(err, "PID %d can get no probe", plan.Process.PID)
	for _, reason := range reasons {
		f = f.Then("  no  " + reason)
	}
	return f.Then(insteadOf(plan)...)
}

func insteadOf(plan *attach.Plan) []string {
	if plan.Instead == "" {
		return nil
	}
	return []string{"  instead: start it with  " + text.Clean(plan.Instead)}
}
