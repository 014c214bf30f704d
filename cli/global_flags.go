package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// takes is the annotation with the flags of all commands that a command, and those
// below it, take. Without it they take all.
const takes = "takes"

// withoutScreen is the annotation of a command that draws no screen.
var withoutScreen = map[string]string{takes: "ascii config demo gpu interval nvml-library read-only seed"}

// notTaken visits the flags of all commands that cmd does not take.
func (p *program) notTaken(cmd *cobra.Command, visit func(*pflag.Flag)) {
	for ; cmd != nil; cmd = cmd.Parent() {
		names, ok := cmd.Annotations[takes]
		if !ok {
			continue
		}
		taken := strings.Fields(names)
		p.flags.all.VisitAll(func(flag *pflag.Flag) {
			if !slices.Contains(taken, flag.Name) {
				visit(flag)
			}
		})
		return
	}
}

// hideGlobalFlags leaves those that cmd does not take out of its help and its completion.
func (p *program) hideGlobalFlags(cmd *cobra.Command) {
	p.notTaken(cmd, func(flag *pflag.Flag) { flag.Hidden = true })
}

// checkGlobalFlags refuses those that a command does not take, before it runs.
func (p *program) checkGlobalFlags(cmd *cobra.Command, args []string) (err error) {
	if cmd.Name() == cobra.ShellCompRequestCmd { // its arguments are the command to complete
		if completed, _, err := cmd.Root().Find(args); err == nil {
			p.hideGlobalFlags(completed)
		}
		return nil
	}
	p.notTaken(cmd, func(flag *pflag.Flag) {
		if flag.Changed {
			err = usage("--%s does not apply to %s: leave it out", flag.Name, cmd.CommandPath())
		}
	})
	return err
}
