package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vramscope/cli/config"
	"vramscope/internal/text"
)

// optionValue is an option's flag. It checks its value, so that pflag's message names the flag.
type optionValue struct {
	option config.Option
	raw    *string // nil where it is not given
}

// Set implements pflag.Value. Lists given twice are joined.
func (v *optionValue) Set(value string) error {
	if v.option.Kind == config.List && v.raw != nil {
		value = *v.raw + "," + value
	}
	var scratch config.Settings
	if err := scratch.Set(v.option.Key, value); err != nil {
		return err
	}
	v.raw = &value
	return nil
}

// String implements pflag.Value: help shows no default.
func (v *optionValue) String() string { return "" }

// Type implements pflag.Value: it is what stands for the value in help.
func (v *optionValue) Type() string {
	if v.option.Kind == config.Truth {
		return "bool"
	}
	return v.option.Holder
}

// ChoiceFlag adds a flag that takes one of a few words, and completes them. The
// default is the value of to, or else the first word.
func ChoiceFlag(cmd *cobra.Command, to *string, flag, shorthand string, words ...string) {
	*to = cmp.Or(*to, words[0])
	value := &Choice{To: to, Words: words, Holder: strings.ToUpper(flag)}
	cmd.Flags().VarP(value, flag, shorthand, OrList(words))
	complete := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the flag is registered two lines above
	}
}

// Choice is the value of a flag that takes one of a few words.
type Choice struct {
	To     *string
	Words  []string
	Holder string
}

// Set implements pflag.Value.
func (c *Choice) Set(value string) error {
	if !slices.Contains(c.Words, value) {
		return fmt.Errorf("%q is not %s", text.Clean(value), OrList(c.Words))
	}
	*c.To = value
	return nil
}

// String implements pflag.Value: it is the default in help.
func (c *Choice) String() string { return *c.To }

// Type implements pflag.Value: it is what stands for the value in help.
func (c *Choice) Type() string { return c.Holder }

// OrList is "table, json or csv".
func OrList(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// holder gives a flag's value a name in help.
type holder struct {
	pflag.Value
	name string
}

func (h *holder) Type() string { return h.name }

// checked is a flag's value that is refused before anything is opened or read.
type checked struct {
	to    *string
	check func(string) error
}

// Checked is a flag's value that check may refuse.
func Checked(to *string, check func(string) error) pflag.Value { return &checked{to, check} }

// Set implements pflag.Value. An empty value is none.
func (c *checked) Set(value string) error {
	if value != "" {
		if err := c.check(value); err != nil {
			return err
		}
	}
	*c.to = value
	return nil
}

// String implements pflag.Value: it is the default in help.
func (c *checked) String() string { return *c.to }

// Type implements pflag.Value: NameValues has a better name.
func (c *checked) Type() string { return "string" }

// NameValues names the values of a command's flags in help. FILE and PATH are
// completed with files, DIR with directories, others with nothing.
func NameValues(cmd *cobra.Command, names map[string]string) {
	for flag, name := range names {
		named := cmd.Flag(flag)
		named.Value = &holder{named.Value, name}
		var err error
		switch name {
		case "FILE", "PATH", "NAMES": // of files, or completed by the command
		case "DIR":
			err = cmd.MarkFlagDirname(flag)
		default:
			err = cmd.RegisterFlagCompletionFunc(flag, cobra.NoFileCompletions)
		}
		if err != nil {
			panic(err) // the flag is there: it was looked up above
		}
	}
}

// NoArguments refuses arguments.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	f := Usage("%s takes no argument: %q", cmd.Name(), text.Clean(args[0]))
	f.Next = []string{"  " + cmd.CommandPath() + " --help   says what it takes"}
	return f
}

// AtMostOne refuses more than one argument, of a kind.
func AtMostOne(kind string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return Usage("%s takes one %s, not %d", strings.TrimPrefix(cmd.CommandPath(), "vramscope "), kind, len(args))
		}
		return nil
	}
}

// PID is the process that the first argument names; 0 without arguments.
func PID(args []string) (int, error) {
	if len(args) == 0 {
		return 0, nil
	}
	pid, err := strconv.Atoi(args[0])
	if err != nil || pid <= 0 {
		return 0, Usage("%q is not a PID", text.Clean(args[0]))
	}
	return pid, nil
}

// OnePID refuses all but one argument; advice says how to find PIDs.
func OnePID(advice string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return &Failure{Code: ExitUsage, Message: cmd.Name() + " needs the PID of a process", Next: []string{advice}}
		case len(args) > 1:
			return Usage("%s takes one PID, not %d: one process at a time", cmd.Name(), len(args))
		}
		return nil
	}
}

// WithPID runs a command on the PID that is its argument.
func WithPID(run func(ctx context.Context, pid int) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		pid, err := PID(args)
		if err != nil {
			return err
		}
		return run(cmd.Context(), pid)
	}
}
