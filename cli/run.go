package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"vramscope/internal/text"
	"vramscope/probe/agent"
)

// The exit codes of a command that could not be started, as a shell, env and
// nohup have them.
const (
	exitNotRunnable = 126
	exitNotFound    = 127
)

// run starts a command with a probe in the Python programs that come of it.
func (p *program) runCommand() *cobra.Command {
	verbose := false
	var preloading preloading
	cmd := &cobra.Command{
		Use: "run [flags] -- CMD…",
		// Flags behind CMD are CMD's own.
		DisableFlagsInUseLine: true,
		Annotations:           map[string]string{looksAtNoBox: ""},
		Short:                 "start a command with a probe in it",
		Long: `Becomes CMD, with a probe in CMD and every program that it starts: as soon as
one of them uses a GPU, vramscope shows what its memory is and can flush what is
cached.

CMD runs as it would by itself. There is no process in between: the terminal,
signals and the exit status are CMD's own. Only its environment changes:

Python programs (3.8 or newer) find the probe through PYTHONPATH; an existing
sitecustomize still runs. Nothing else happens in them until they import
PyTorch, CuPy, JAX, TensorFlow or RMM. With its flags -I, -E and -S Python
ignores PYTHONPATH or sitecustomize; then a warning says so, and CMD is started
without a probe.

If CMD is not Python, LD_PRELOAD loads a library in front of libcuda, in CMD and
in what it starts, after what is preloaded already. In a program that does not
use CUDA it does nothing. With --preload it goes into Python as well, with
--no-preload into no program. Programs that are statically linked, setuid, built
with a sanitizer or against musl run unchanged, without a probe: --verbose and
vramscope doctor say why.

The exit code is CMD's; 127 if CMD was not found, 126 if it cannot be run, 1 if
the probe's files could not be written.`,
		Example: `  vramscope run -- python3 train.py --epochs 3
  vramscope run -- torchrun --nproc-per-node 8 train.py
  vramscope run -- ./simulation --steps 1000`,
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault), // any program
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				f := usage("run needs a command")
				f.advice = []string{"  vramscope run -- python3 train.py"}
				return f
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if preloading.wanted && preloading.unwanted {
				return usage("--preload and --no-preload contradict each other")
			}
			return p.become(args, preloading, verbose)
		},
	}
	// What follows the command is the command's, with -- and without.
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().BoolVar(&verbose, "verbose", false, "say what is done")
	cmd.Flags().BoolVar(&preloading.wanted, "preload", false, "the native probe in Python programs as well")
	cmd.Flags().BoolVar(&preloading.unwanted, "no-preload", false, "no native probe")
	return cmd
}

// become replaces this process by the command.
func (p *program) become(command []string, f preloading, verbose bool) error {
	if err := p.noGlobalFlags("run"); err != nil {
		return err
	}
	path, err := exec.LookPath(command[0])
	// Where PATH itself says so, a program of the working directory is meant.
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return notStarted(command[0], err)
	}
	directory, err := p.installAgent()
	if err != nil {
		return err
	}
	how := inspect(path, command)
	if why := how.refusal(); why != "" {
		_, _ = fmt.Fprintf(p.stderr, "vramscope: no probe: %s\n", why) // if nobody reads it, the command is started all the same
	} else if verbose {
		_, _ = fmt.Fprintf(p.stderr, "vramscope: %s\n", how.describe(directory)) // likewise
	}
	environ, err := p.withPreload(withPythonPath(os.Environ(), directory), path, &how, f, verbose)
	if err != nil {
		return err
	}
	ignoreAsBefore()
	err = syscall.Exec(path, command, environ)
	if errors.Is(err, syscall.ENOEXEC) {
		// A script without a first line that says what it is for: a shell's,
		// as execvp has it.
		err = syscall.Exec("/bin/sh", append([]string{"/bin/sh", path}, command[1:]...), environ)
	}
	return notStarted(command[0], err)
}

// notStarted is the failure of a command that did not start.
func notStarted(name string, err error) error {
	code := exitNotRunnable
	reason := err
	if failed := (*exec.Error)(nil); errors.As(err, &failed) {
		reason = failed.Err
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, syscall.ENOENT) {
		code = exitNotFound
		reason = errors.New("not found")
	}
	return &failure{code: code, err: err, message: text.Clean(fmt.Sprintf("run %s: %v", name, reason))}
}

// noGlobalFlags refuses the flags that are about looking at a box, but for
// those that the command takes.
func (p *program) noGlobalFlags(command string, taken ...string) error {
	given := ""
	if p.flags.demo {
		given = "demo"
	}
	for _, g := range p.flags.given {
		if g.value.raw != nil && !slices.Contains(taken, g.option.flag) {
			given = g.option.flag
		}
	}
	for _, name := range []string{"seed", "config"} {
		if p.flags.all.Changed(name) && !slices.Contains(taken, name) {
			given = name
		}
	}
	if given == "" {
		return nil
	}
	return usage("--%s does not apply to vramscope %s: leave it out", given, command)
}

// probeCache is the directory below which the probes' files are kept.
func (p *program) probeCache() (string, error) {
	cache := p.getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(cache) {
		home := p.getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", &failure{code: exitFailure, message: "there is no place for the probe's files: neither HOME nor XDG_CACHE_HOME is set",
				advice: []string{"  XDG_CACHE_HOME=/tmp/mine vramscope run -- …   puts them there"}}
		}
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "vramscope"), nil
}

// installAgent puts the Python probe where this user's programs find it.
func (p *program) installAgent() (string, error) {
	cache, err := p.probeCache()
	if err != nil {
		return "", err
	}
	directory, err := agent.Install(cache)
	if err == nil && strings.Contains(directory, ":") {
		err = fmt.Errorf("%s has a colon in it, which PYTHONPATH cannot hold", directory)
	}
	if err != nil {
		return "", &failure{code: exitFailure, err: err, message: text.Clean(err.Error()),
			advice: []string{"  XDG_CACHE_HOME=DIR vramscope …   puts the probe's files into another directory"}}
	}
	return directory, nil
}

// withPythonPath puts a directory at the front of PYTHONPATH.
func withPythonPath(environ []string, directory string) []string {
	const name = "PYTHONPATH="
	changed := make([]string, 0, len(environ)+1)
	value := directory
	for _, v := range environ {
		if !strings.HasPrefix(v, name) {
			changed = append(changed, v)
			continue
		}
		value = directory
		for _, entry := range strings.Split(v[len(name):], ":") {
			// An empty entry is the working directory: it stays one. Ours is
			// there already below another vramscope run.
			if v != name && entry != directory {
				value += ":" + entry
			}
		}
	}
	return append(changed, name+value)
}
