package cli

import (
	"cmp"
	"context"
	"errors"
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

// choiceFlag adds a flag that takes one of a few words, and completes them. The
// default is the value of to, or else the first word.
func choiceFlag(cmd *cobra.Command, to *string, flag, shorthand string, words ...string) {
	*to = cmp.Or(*to, words[0])
	value := &choice{to: to, words: words, holder: strings.ToUpper(flag)}
	cmd.Flags().VarP(value, flag, shorthand, orList(words))
	complete := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the flag is registered two lines above
	}
}

type choice struct {
	to     *string
	words  []string
	holder string
}

func (c *choice) Set(value string) error {
	if !slices.Contains(c.words, value) {
		return fmt.Errorf("%q is not %s", text.Clean(value), orList(c.words))
	}
	*c.to = value
	return nil
}

// String implements pflag.Value: it is the default in help.
func (c *choice) String() string { return *c.to }

func (c *choice) Type() string { return c.holder }

// orList is "table, json or csv".
func orList(words []string) string {
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

// Type implements pflag.Value: nameValues has a better name.
func (c *checked) Type() string { return "string" }

// aMoment is the value of a flag that is a time of a recording.
func aMoment(to *string) *checked {
	return &checked{to, func(s string) error { _, err := quantity.ParseMoment(s, time.Time{}); return err }}
}

// aSpan is one that is a length of time, from a minute on.
func aSpan(to *string) *checked {
	return &checked{to, func(s string) error { _, err := parseSpan(s); return err }}
}

// aPeriod is one that is "A..B".
func aPeriod(to *string) *checked {
	return &checked{to, func(s string) error { _, err := endsOf(s, time.Time{}); return err }}
}

// nameValues names the values of a command's flags in help. FILE and PATH are
// completed with files, DIR with directories, others with nothing.
func nameValues(cmd *cobra.Command, names map[string]string) {
	for flag, name := range names {
		cmd.Flags().Lookup(flag).Value = &holder{cmd.Flags().Lookup(flag).Value, name}
		var err error
		switch name {
		case "FILE", "PATH":
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

// flagError turns pflag's errors into usage errors.
func flagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		reason := errors.Unwrap(invalid)
		if bad := (*strconv.NumError)(nil); errors.As(reason, &bad) {
			return usage("--%s: %q is not a whole number from 0", invalid.GetFlag().Name, invalid.GetValue())
		}
		return usage("--%s: %v", invalid.GetFlag().Name, reason)
	}
	// "vramscope flsh 12 --dry-run" is a wrong command, not a wrong flag.
	if words := cmd.Flags().Args(); !cmd.HasParent() && len(words) > 0 {
		return noCommand(cmd, words)
	}
	f := usage("%s", err.Error())
	f.advice = []string{"  " + cmd.CommandPath() + " --help   lists the flags"}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
		if near := text.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			f.message += fmt.Sprintf("; did you mean --%s?", near)
		}
	}
	return f
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	f := usage("%s takes no argument: %q", cmd.Name(), text.Clean(args[0]))
	f.advice = []string{"  " + cmd.CommandPath() + " --help   says what it takes"}
	return f
}

// oneRecording refuses more than one argument.
func oneRecording(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage("%s takes one FILE or DIR, not %d", cmd.Name(), len(args))
	}
	return nil
}

// onePID refuses all but one argument; advice says how to find PIDs.
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

// withPID runs a command on the PID that is its argument.
func withPID(run func(ctx context.Context, pid int) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		pid, err := strconv.Atoi(args[0])
		if err != nil || pid <= 0 {
			return usage("%q is not a PID", text.Clean(args[0]))
		}
		return run(cmd.Context(), pid)
	}
}
