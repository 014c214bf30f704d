package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vramscope/cli/actions"
	"vramscope/cli/boxes"
	"vramscope/cli/command"
	"vramscope/cli/doctor"
	"vramscope/cli/guarding"
	"vramscope/cli/launch"
	"vramscope/cli/leases"
	"vramscope/cli/monitor"
	"vramscope/cli/past"
	"vramscope/cli/present"
	"vramscope/cli/service"
	"vramscope/cli/trial"
	"vramscope/internal/startup"
	"vramscope/internal/text"
	"vramscope/themes"
)

// root returns the live monitor, with the commands below it. It does not use fang for help, which would
// ask the terminal for its colours first, and wait.
func root(p *command.Program) *cobra.Command {
	version := false
	root := &cobra.Command{
		Use:   "vramscope",
		Short: "a microscope for GPU memory",
		Long: `vramscope is a microscope for GPU memory that runs in a terminal: for every
process not only how much GPU memory it uses, but what that memory is and
where it is heading.

Without a command it is the live monitor. If its output is not a terminal it
prints one table, as vramscope once does, and ends.`,
		Example: `  vramscope                         the live monitor; ? shows its keys
  vramscope --demo                  the same, on a simulated box
  vramscope demo rescue             memory freed in time, on simulated boxes
  vramscope demo lease              a server sleeps, a training gets its memory
  vramscope demo fleet              many boxes, simulated
  vramscope --gpu 0,2               only these GPUs
  vramscope run -- python3 job.py   start a program with a probe in it
  vramscope attach 3011876          put a probe into a running Python process
  vramscope once --format json      one snapshot for a script
  vramscope daemon --record         without a screen: record, answer monitors
  vramscope doctor                  what works on this box, and what does not`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if version {
				return nil
			}
			return noCommand(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "vramscope", command.VersionLine())
				return err
			}
			return monitor.Run(cmd.Context(), p)
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		p.HideGlobalFlags(cmd)
		_, _ = fmt.Fprint(cmd.OutOrStdout(), cmp.Or(cmd.Long, cmd.Short), "\n\n", usageOf(cmd)) // run reports a failed write to standard output
	})
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStderr(), usageOf(cmd))
		return err
	})
	p.AddGlobalFlags(root.PersistentFlags())
	command.Complete(root, "theme", cobra.FixedCompletions(themes.Names(), cobra.ShellCompDirectiveNoFileComp))
	command.Complete(root, "interval", cobra.FixedCompletions([]string{"500ms", "1s", "2s", "5s"}, cobra.ShellCompDirectiveNoFileComp))
	root.PersistentPreRunE = p.CheckGlobalFlags
	root.Flags().BoolP("help", "h", false, "help for a command")
	root.Flags().BoolVarP(&version, "version", "v", false, "the version")
	root.AddCommand(commands(p)...)
	helpBelow(root)
	root.SetHelpCommand(&cobra.Command{
		Use: "help [COMMAND]", Short: "help for a command", Hidden: true, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, _, err := cmd.Root().Find(args)
			if err != nil || about == cmd.Root() {
				if refused := noCommand(cmd.Root(), args); refused != nil {
					return refused
				}
			}
			return about.Help()
		},
	})
	return root
}

// helpBelow adds --help to the commands below cmd, and offers no files where nothing is completed.
func helpBelow(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		below.Flags().BoolP("help", "h", false, "help for "+below.Name())
		if below.ValidArgs == nil && below.ValidArgsFunction == nil {
			below.ValidArgsFunction = cobra.NoFileCompletions
		}
		helpBelow(below)
	}
}

// commands returns the commands below root; for run and once only that one, and for --version alone
// none, because making all of them takes a fifth of a millisecond.
func commands(p *command.Program) []*cobra.Command {
	if len(p.Arguments) > 0 {
		switch p.Arguments[0] {
		case "run":
			return []*cobra.Command{launch.Run(p)}
		case "once":
			return []*cobra.Command{present.Once(p)}
		case "--version":
			if len(p.Arguments) == 1 {
				return nil
			}
		}
	}
	return []*cobra.Command{
		present.Once(p), present.Stream(p), present.Headroom(p), present.Advise(p), past.Why(p), actions.Flush(p), actions.Resume(p), actions.Attach(p), actions.Snapshot(p), actions.Record(p), actions.Holds(p), actions.WhatIf(p), actions.Summary(p), launch.Run(p), leases.Command(p), launch.Env(p), trial.Probe(p),
		service.Command(p), past.Replay(p), past.Export(p), past.Backtest(p), past.Report(p), guarding.Command(p), boxes.Command(p), trial.Demo(p), doctor.Command(p), configCommand(p),
		completionCommand(p), manCommand(p),
	}
}

// flagError turns pflag's errors into usage errors.
func flagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		reason := errors.Unwrap(invalid)
		if bad := (*strconv.NumError)(nil); errors.As(reason, &bad) {
			return command.Usage("--%s: %q is not a whole number from 0", invalid.GetFlag().Name, invalid.GetValue())
		}
		return command.Usage("--%s: %v", invalid.GetFlag().Name, reason)
	}
	// "vramscope flsh 12 --dry-run" is a wrong command, not a wrong flag.
	if words := cmd.Flags().Args(); !cmd.HasParent() && len(words) > 0 {
		return noCommand(cmd, words)
	}
	f := command.Usage("%s", err.Error()).Then("  " + cmd.CommandPath() + " --help   lists the flags")
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
		if near := text.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			f.Message += fmt.Sprintf("; did you mean --%s?", near)
		}
	}
	return f
}

// noCommand refuses an unknown command, and suggests a known one.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, command := range cmd.Root().Commands() {
		if command.IsAvailableCommand() {
			names = append(names, command.Name())
		}
	}
	f := command.Usage("there is no command %q", text.Clean(args[0]))
	if near := text.Nearest(args[0], names); near != "" {
		f.Message += "; did you mean " + near + "?"
	}
	return f.Then(text.Wrap("  commands: "+strings.Join(names, ", "), 78, "          ")...)
}

// exitCodes is the section about exit codes in help and in the man page.
const exitCodes = `  0  all went well
  1  something failed: the error says what
  2  the command line or the configuration file is not valid
  3  refused: nothing was done to the process (flush, attach, snapshot, holds);
     it does not fit (headroom, run --need, lease claim)
  4  it fits only after a flush (headroom)
  9  there is a driver library, but no driver or no GPU
 12  there is no driver library`

// usageOf returns the usage of a command. cobra's templates would keep each exported method in the
// program file: 3 MB.
func usageOf(cmd *cobra.Command) string {
	var b strings.Builder
	b.WriteString("Usage\n")
	if cmd.HasParent() {
		b.WriteString("  " + cmd.UseLine() + "\n")
	} else {
		b.WriteString("  vramscope [flags]\n  vramscope COMMAND [flags]\n\nCommands\n")
		for _, command := range cmd.Commands() {
			if command.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-12s%s\n", command.Name(), command.Short)
			}
		}
	}
	section := func(title, content string) {
		if content != "" {
			b.WriteString("\n" + title + "\n" + strings.TrimRight(content, " \n") + "\n")
		}
	}
	section("Examples", cmd.Example)
	section("Flags", cmd.LocalFlags().FlagUsagesWrapped(80))
	section("Flags of all commands", cmd.InheritedFlags().FlagUsagesWrapped(80))
	if !cmd.HasParent() {
		section("Exit codes", exitCodes)
	}
	return b.String()
}

// Main runs the command line and returns the exit code.
func Main() int {
	p := &command.Program{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Now: time.Now, NoStdout: startup.StdoutClosed()}
	return run(p, os.Args[1:])
}

func run(p *command.Program, args []string) int {
	p.Arguments = args
	root := root(p)
	root.SetArgs(args)
	root.SetOut(p)
	root.SetErr(p.Stderr)
	if err := cmp.Or(root.Execute(), p.Unwritten); err != nil {
		return command.Report(p.Stderr, err)
	}
	return command.ExitOK
}
