package command

import (
	"errors"
	"os"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"vramscope/cli/config"
	"vramscope/daemon/socket"
	"vramscope/internal/text"
)

// Program is one run of the command line.
type Program struct {
	Stdin, Stdout, Stderr *os.File
	NoStdout              bool // there is none: what stands in its place takes everything
	Getenv                func(string) string
	Now                   func() time.Time
	ProbeDirectories      []string       // where probes' sockets are searched; nil: the usual ones
	DaemonPlaces          []socket.Place // where daemons' sockets are searched; nil: the usual ones
	DaemonDirectory       string         // of this user's own; "": the usual one
	Recordings            string         // where recordings are kept; "": the usual place
	state                 string         // of root's daemon, by its unit; "": BoxState
	Arguments             []string
	Flags                 GlobalFlags
	Unwritten             error // why the last Write failed
}

// GlobalFlags are what every command takes besides the options.
type GlobalFlags struct {
	Demo   bool
	Seed   uint64
	Config string
	given  []*optionValue
	all    *pflag.FlagSet
}

// Settings are this run's: the configuration file's, overridden by flags.
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
	for _, g := range p.Flags.given {
		if g.raw == nil {
			continue
		}
		if err := s.Set(g.option.Key, *g.raw); err != nil {
			return s, Usage("--%s: %v", g.option.Flag, err)
		}
		if g.option.Key == "nvml_library" && p.Flags.Demo {
			return s, Usage("--demo reads no driver: leave out --nvml-library")
		}
	}
	return s, nil
}

// AddGlobalFlags gives a command, and those below it, the global flags.
func (p *Program) AddGlobalFlags(flags *pflag.FlagSet) {
	p.Flags.all = flags
	flags.BoolVar(&p.Flags.Demo, "demo", false, "a simulated box, marked as such")
	flags.Uint64Var(&p.Flags.Seed, "seed", 0, "seed of --demo: the same seed, the same course")
	for _, o := range config.Options(&config.Settings{}) {
		if o.Flag == "" {
			continue
		}
		value := &optionValue{option: o}
		flag := flags.VarPF(value, o.Flag, "", o.Usage)
		if o.Kind == config.Truth {
			flag.NoOptDefVal = "true"
		}
		p.Flags.given = append(p.Flags.given, value)
	}
	flags.StringVar(&p.Flags.Config, "config", "", "configuration file (vramscope config --path: the default)")
	flags.Lookup("config").Value = &holder{flags.Lookup("config").Value, "FILE"}
	flags.Lookup("seed").Value = &holder{flags.Lookup("seed").Value, "NUMBER"}
}

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool { return f != nil && term.IsTerminal(int(f.Fd())) }

// OutputWidth is the terminal's width; without a terminal 0, no limit.
func (p *Program) OutputWidth() int { return Width(p.Stdout) }

// Width is a terminal's width, 80 if it is unknown; 0 of another file.
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

// ConfigPath is the file that this run reads.
func (p *Program) ConfigPath() string {
	if p.Flags.Config != "" {
		return p.Flags.Config
	}
	return config.Path()
}

// ASCII reports whether the output can show only ASCII.
func (p *Program) ASCII(s *config.Settings) bool { return s.ASCII || !text.UTF8(p.Getenv) }
