package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vramscope/cli/config"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
)

// ChoiceFlag adds a flag that takes one of the words, and completes them. The
// default is the value of to, or else the first word.
func ChoiceFlag(cmd *cobra.Command, to *string, flag, shorthand string, words ...string) {
	*to = cmp.Or(*to, words[0])
	cmd.Flags().VarP(Choice(to, strings.ToUpper(flag), words...), flag, shorthand, OrList(words))
	Complete(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func Complete(cmd *cobra.Command, flag string, with cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, with); err != nil {
		panic(err) // there is no such flag, or it is completed already
	}
}

// OrList returns "table, json or csv".
func OrList(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// holder names a flag's value in help.
type holder struct {
	pflag.Value
	name string
}

func (h *holder) Type() string { return h.name }

// checked is a flag's value that is checked before anything is opened or read.
type checked struct {
	to       *string
	required bool // an empty value is checked, too
	check    func(string) error
}

// Checked returns the value of a flag, which check may refuse. An empty value is not checked.
func Checked(to *string, check func(string) error) pflag.Value {
	return &checked{to: to, check: check}
}

// Choice returns the value of a flag that takes one of the words.
func Choice(to *string, name string, words ...string) pflag.Value {
	return &holder{&checked{to: to, required: true, check: func(value string) error {
		if !slices.Contains(words, value) {
			return fmt.Errorf("%q is not %s", text.Clean(value), OrList(words))
		}
		return nil
	}}, name}
}

func (c *checked) Set(value string) error {
	if value != "" || c.required {
		if err := c.check(value); err != nil {
			return err
		}
	}
	*c.to = value
	return nil
}

// String implements pflag.Value; help shows it as the default.
func (c *checked) String() string { return *c.to }

// Type implements pflag.Value. NameValues and Choice give help a better name.
func (c *checked) Type() string { return "string" }

// ParseSpan parses a length of time, from a minute to config.Longest.
func ParseSpan(s string) (time.Duration, error) {
	return config.Duration(s, time.Minute, config.Longest)
}

// Duration returns the value of a flag that is a time from minimum to maximum.
func Duration(to *time.Duration, minimum, maximum time.Duration) pflag.Value {
	return Checked(new(string), func(s string) (err error) { *to, err = config.Duration(s, minimum, maximum); return err })
}

// Moment returns the value of a flag that is a point in time.
func Moment(to *string) pflag.Value {
	return Checked(to, func(s string) error { _, err := quantity.ParseMoment(s, time.Time{}); return err })
}

// Span returns the value of a flag that ParseSpan parses.
func Span(to *string) pflag.Value {
	return Checked(to, func(s string) error { _, err := ParseSpan(s); return err })
}

// FromTo adds the flags --from and --to, which are points in time.
func FromTo(cmd *cobra.Command, from, to *string) {
	cmd.Flags().Var(Moment(from), "from", "from this time on")
	cmd.Flags().Var(Moment(to), "to", "up to this time")
	NameValues(cmd, map[string]string{"from": "TIME", "to": "TIME"})
}

// NameValues names the values of a command's flags in help. FILE and PATH are
// completed with files, DIR with directories, others with nothing.
func NameValues(cmd *cobra.Command, names map[string]string) {
	for flag, name := range names {
		named := cmd.Flag(flag)
		named.Value = &holder{named.Value, name}
		switch name {
		case "FILE", "PATH": // cobra's default
		case "DIR":
			Complete(cmd, flag, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
		default:
			Complete(cmd, flag, cobra.NoFileCompletions)
		}
	}
}

func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Usage("%s takes no argument: %q", cmd.Name(), text.Clean(args[0])).Then("  " + cmd.CommandPath() + " --help   says what it takes")
}

// AtMostOne refuses more than one argument; kind names the argument in the message.
func AtMostOne(kind string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return Usage("%s takes one %s, not %d", strings.TrimPrefix(cmd.CommandPath(), "vramscope "), kind, len(args))
		}
		return nil
	}
}

// PID returns the process that the first argument names; 0 without arguments.
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

// OnePID requires exactly one argument; advice says how to find PIDs.
func OnePID(advice string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return Usage("%s needs the PID of a process", cmd.Name()).Then(advice)
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
