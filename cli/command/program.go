package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"vramscope/cli/config"
	"vramscope/daemon/socket"
	"vramscope/internal/text"
	"vramscope/schema"
)

// Program is one run of the command line.
type Program struct {
	Stdin, Stdout, Stderr *os.File
	NoStdout              bool // standard output was closed at the start: Stdout is /dev/null
	Getenv                func(string) string
	Now                   func() time.Time
	ProbeDirectories      []string       // where to look for probes' sockets; nil: the usual places
	DaemonPlaces          []socket.Place // where to look for daemons' sockets; nil: the usual places
	DaemonDirectory       string         // where this user's own daemon has its socket; "": the usual place
	Recordings            string         // where recordings are kept; "": the usual place
	state                 string         // root's STATE_DIRECTORY, for a daemon; "": BoxState
	Arguments             []string
	Flags                 GlobalFlags
	Unwritten             error // why a Write failed
}

// GlobalFlags has the values of the global flags.
type GlobalFlags struct {
	Demo   bool
	Seed   uint64
	Config string
	given  map[string]string // by an option's key, the value of its flag
	all    *pflag.FlagSet
}

// Settings returns the settings of this run: the configuration file's, overridden by flags.
func (p *Program) Settings() (config.Settings, error) {
	s := config.Defaults()
	if p.Flags.all.Changed("seed") && !p.Flags.Demo {
		return s, Usage("--seed is for --demo: a real box has none")
	}
	if err := s.Load(p.Flags.Config); err != nil {
		f := Usage("%v", err)
		if refused, ok := errors.AsType[*config.Error](err); ok {
			f.Next = refused.Hints
		}
		return s, f
	}
	for _, o := range config.Options(&s) {
		if raw, given := p.Flags.given[o.Key]; given {
			if err := o.Set(raw); err != nil {
				return s, Usage("--%s: %v", o.Flag, err)
			}
		}
	}
	if _, given := p.Flags.given["nvml_library"]; given && p.Flags.Demo {
		return s, Usage("--demo reads no driver: leave out --nvml-library")
	}
	return s, nil
}

// AddGlobalFlags adds the global flags to a command and those below it.
func (p *Program) AddGlobalFlags(flags *pflag.FlagSet) {
	p.Flags.all = flags
	flags.BoolVar(&p.Flags.Demo, "demo", false, "a simulated box, marked as such")
	flags.Uint64Var(&p.Flags.Seed, "seed", 0, "seed of --demo: the same seed, the same course")
	p.Flags.given = make(map[string]string)
	for _, o := range config.Options(&config.Settings{}) {
		if o.Flag == "" {
			continue
		}
		flags.Func(o.Flag, o.Usage, func(value string) error {
			if before, twice := p.Flags.given[o.Key]; twice && o.Kind == config.List {
				value = before + "," + value
			}
			p.Flags.given[o.Key] = value
			return o.Set(value) // only a check, so that pflag's error names the flag
		})
		flag := flags.Lookup(o.Flag)
		flag.Value = &holder{flag.Value, cmp.Or(o.Holder, "bool")}
		if o.Kind == config.Truth {
			flag.NoOptDefVal = "true"
		}
	}
	flags.StringVar(&p.Flags.Config, "config", "", "configuration file (vramscope config --path: the default)")
	flags.Lookup("config").Value = &holder{flags.Lookup("config").Value, "FILE"}
	flags.Lookup("seed").Value = &holder{flags.Lookup("seed").Value, "NUMBER"}
}

// UntilSignal returns a context that ends at Ctrl-C or SIGTERM. A second signal is not caught.
func UntilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

func IsTerminal(f *os.File) bool { return f != nil && term.IsTerminal(int(f.Fd())) }

// OutputWidth returns the width of the terminal on standard output; without a terminal 0, for no limit.
func (p *Program) OutputWidth() int { return Width(p.Stdout) }

// Width returns a terminal's width, 80 if it is unknown; 0 for any other file.
func Width(f *os.File) int {
	if !IsTerminal(f) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

// HasScreen reports whether the output is a terminal that can move its cursor.
func (p *Program) HasScreen() bool {
	kind := p.Getenv("TERM")
	return IsTerminal(p.Stdout) && kind != "" && kind != "dumb"
}

// ConfigPath returns the path of the configuration file of this run.
func (p *Program) ConfigPath() string {
	if p.Flags.Config != "" {
		return p.Flags.Config
	}
	return config.Path()
}

func (p *Program) ASCII(s *config.Settings) bool { return s.ASCII || !text.UTF8(p.Getenv) }

// Print writes to standard output. A closed pipe ends the program by SIGPIPE.
func (p *Program) Print(text []byte) error {
	if p.NoStdout {
		return errors.New("standard output is closed: nothing was written")
	}
	if _, err := p.Stdout.Write(text); err != nil {
		return fmt.Errorf("write standard output: %w", err)
	}
	return nil
}

// PrintAs writes a result as a JSON document or as text.
func (p *Program) PrintAs(format string, document any, text string) error {
	if format != "json" {
		return p.Print([]byte(text))
	}
	encoded, err := schema.Encode(document)
	if err != nil {
		return err
	}
	return p.Print(encoded)
}

// Write implements io.Writer. It keeps its error in Unwritten, because cobra ignores it.
func (p *Program) Write(text []byte) (int, error) {
	if p.Unwritten == nil {
		p.Unwritten = p.Print(text)
	}
	if p.Unwritten != nil {
		return 0, p.Unwritten
	}
	return len(text), nil
}

// Warn writes a line to standard error, and ignores a failure.
func (p *Program) Warn(format string, args ...any) {
	_, _ = fmt.Fprintf(p.Stderr, "vramscope: %s\n", text.Clean(fmt.Sprintf(format, args...)))
}

// Takes is the annotation that lists the global flags of a command and its subcommands. Without it
// they take all global flags.
const Takes = "takes"

// WithoutScreen is the annotation of a command that draws no screen.
var WithoutScreen = map[string]string{Takes: "ascii config demo gpu interval nvml-library read-only seed"}

// notTaken visits the global flags that cmd does not take.
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

// HideGlobalFlags hides the global flags that cmd does not take from help and completion.
func (p *Program) HideGlobalFlags(cmd *cobra.Command) {
	p.notTaken(cmd, func(flag *pflag.Flag) { flag.Hidden = true })
}

// CheckGlobalFlags refuses global flags that a command does not take, before it runs.
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
