package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Takes is the annotation with the flags of all commands that a command, and those
// below it, take. Without it they take all.
const Takes = "takes"

// WithoutScreen is the annotation of a command that draws no screen.
var WithoutScreen = map[string]string{Takes: "ascii config demo gpu interval nvml-library read-only seed"}

// notTaken visits the flags of all commands that cmd does not take.
func (p *Program) notTaken(cmd *cobra.Command, visit func(*pflag.Flag)) {
	for ; cmd != nil; cmd = cmd.Parent() {
		names, ok := cmd.Annotations[Takes]
		if !ok {
			continue
		}
		taken := strings.Fields(names)
		p.Flags.all.VisitAll(func(flag *pflag.Flag) {
			if !slices.Contains(taken, flag.Name) {
				visit(flag)
			}
		})
		return
	}
}

// HideGlobalFlags leaves those that cmd does not take out of its help and its completion.
func (p *Program) HideGlobalFlags(cmd *cobra.Command) {
	p.notTaken(cmd, func(flag *pflag.Flag) { flag.Hidden = true })
}

// CheckGlobalFlags refuses those that a command does not take, before it runs.
func (p *Program) CheckGlobalFlags(cmd *cobra.Command, args []string) (err error) {
	if cmd.Name() == cobra.ShellCompRequestCmd { // its arguments are the command to complete
		if completed, _, err := cmd.Root().Find(args); err == nil {
			p.HideGlobalFlags(completed)
		}
		return nil
	}
	p.notTaken(cmd, func(flag *pflag.Flag) {
		if flag.Changed {
			err = Usage("--%s does not apply to %s: leave it out", flag.Name, cmd.CommandPath())
		}
	})
	return err
}
