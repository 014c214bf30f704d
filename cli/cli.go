package cli

import (
	"errors"
	"os"
	"time"

	"vramscope/cli/config"
	"vramscope/daemon/socket"
	"vramscope/internal/startup"

	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// Main runs the command line and returns the exit code.
func Main() int {
	p := &program{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, now: time.Now, noStdout: startup.StdoutClosed()}
	return p.run(os.Args[1:])
}

// program is one run of the command line.
type program struct {
	stdin, stdout, stderr *os.File
	noStdout              bool // there is none: what stands in its place takes everything
	getenv                func(string) string
	now                   func() time.Time
	probeDirectories      []string       // where probes' sockets are searched; nil: the usual ones
	daemonPlaces          []socket.Place // where daemons' sockets are searched; nil: the usual ones
	daemonDirectory       string         // of this user's own; "": the usual one
	recordings            string         // where recordings are kept; "": the usual place
	state                 string         // of root's daemon, by its unit; "": boxState
	arguments             []string
	flags                 globalFlags
}

// globalFlags are what every command takes besides the options.
type globalFlags struct {
	demo   bool
	seed   uint64
	config string
	given  []*optionValue
	all    *pflag.FlagSet
}

func (p *program) run(args []string) int {
	p.arguments = args
	root := p.root()
	root.SetArgs(args)
	out := &output{print: p.print}
	root.SetOut(out)
	root.SetErr(p.stderr)
	err := root.Execute()
	if err == nil {
		err = out.err
	}
	if err != nil {
		return report(p.stderr, err)
	}
	return exitOK
}

// settings are this run's: the configuration file's, overridden by flags.
func (p *program) settings() (config.Settings, error) {
	s := config.Defaults()
	if p.flags.all.Changed("seed") && !p.flags.demo {
		return s, usage("--seed is for --demo: a real box has none")
	}
	if err := s.Load(p.flags.config); err != nil {
		f := usage("%v", err)
		if refused, ok := errors.AsType[*config.Error](err); ok {
			f.advice = refused.Hints
		}
		return s, f
	}
	for _, g := range p.flags.given {
		if g.raw == nil {
			continue
		}
		if err := s.Set(g.option.Key, *g.raw); err != nil {
			return s, usage("--%s: %v", g.option.Flag, err)
		}
		if g.option.Key == "nvml_library" && p.flags.demo {
			return s, usage("--demo reads no driver: leave out --nvml-library")
		}
	}
	return s, nil
}

// addGlobalFlags gives a command, and those below it, the global flags.
func (p *program) addGlobalFlags(flags *pflag.FlagSet) {
	p.flags.all = flags
	flags.BoolVar(&p.flags.demo, "demo", false, "a simulated box, marked as such")
	flags.Uint64Var(&p.flags.seed, "seed", 0, "seed of --demo: the same seed, the same course")
	for _, o := range config.Options(&config.Settings{}) {
		if o.Flag == "" {
			continue
		}
		value := &optionValue{option: o}
		flag := flags.VarPF(value, o.Flag, "", o.Usage)
		if o.Kind == config.Truth {
			flag.NoOptDefVal = "true"
		}
		p.flags.given = append(p.flags.given, value)
	}
	flags.StringVar(&p.flags.config, "config", "", "configuration file (vramscope config --path: the default)")
	flags.Lookup("config").Value = &holder{flags.Lookup("config").Value, "FILE"}
	flags.Lookup("seed").Value = &holder{flags.Lookup("seed").Value, "NUMBER"}
}

func isTerminal(f *os.File) bool { return f != nil && term.IsTerminal(int(f.Fd())) }

// outputWidth is the terminal's width, 80 if it is unknown; without a terminal 0, no limit.
func (p *program) outputWidth() int {
	if !isTerminal(p.stdout) {
		return 0
	}
	width, _, err := term.GetSize(int(p.stdout.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}
