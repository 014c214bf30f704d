package cli

import (
	"strconv"

	"github.com/spf13/cobra"

	"vramscope/internal/text"
)

// noArguments refuses arguments in the words of the other errors.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	f := usage("%s takes no argument: %q", cmd.Name(), text.Clean(args[0]))
	f.advice = []string{"  " + cmd.CommandPath() + " --help   says what it takes"}
	return f
}

// onePID refuses all but one argument; advice says where PIDs are to be had.
func onePID(advice string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return &failure{code: exitUsage, message: cmd.Name() + " needs the PID of a process", advice: []string{advice}}
		case len(args) > 1:
			return usage("%s takes one PID, not %d: one process at a time", cmd.Name(), len(args))
		}
		return nil
	}
}

// parsePID reads a PID.
func parsePID(s string) (int, error) {
	pid, err := strconv.Atoi(s)
	if err != nil || pid <= 0 {
		return 0, usage("%q is not a PID", text.Clean(s))
	}
	return pid, nil
}
