package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/daemon/socket"
	"vramscope/internal/startup"
	"vramscope/internal/text"
	"vramscope/probe"
	"vramscope/probe/preload"
	"vramscope/sampler/snapshot"
)

// Exit codes for a command that could not be started, as in a shell.
const (
	exitNotRunnable = 126
	exitNotFound    = 127
)

func Run(p *command.Program) *cobra.Command {
	verbose, snapshots, traces := false, "", ""
	var preloading Preloading
	var needs Needs
	cmd := &cobra.Command{
		Use:                   "run [flags] -- CMD…",
		DisableFlagsInUseLine: true, // cobra would write [flags] behind CMD
		Annotations:           map[string]string{command.Takes: "config gpu nvml-library"},
		Short:                 "start a command with a probe in it",
		Long: `Becomes CMD, with a probe in CMD and every program that it starts: as soon as
one of them uses a GPU, vramscope shows what its memory is and can flush what is
cached.

CMD runs as it would by itself. There is no process in between: the terminal,
signals and the exit status are CMD's own. Only its environment changes:

Python programs (3.8 or newer) find the probe through PYTHONPATH; an existing
sitecustomize still runs. Nothing else happens in them until they import
PyTorch, CuPy, JAX, TensorFlow or RMM. With its flags -I, -E and -S Python
ignores PYTHONPATH or sitecustomize: it has no probe then.

If CMD is not Python, LD_PRELOAD loads a library in front of libcuda, in CMD and
in what it starts, after what is preloaded already. In a program that does not
use CUDA it does nothing. With --preload it goes into Python as well, with
--no-preload into no program. Programs that are statically linked, setuid, built
with a sanitizer or against musl run unchanged, without a probe: --verbose and
vramscope doctor say why.

With --rescue, which implies --preload, an allocation that the driver refuses
for lack of memory waits up to two seconds while a daemon whose guard acts frees
what less important processes cache, and your own that are as important, and is
then tried once more (docs/preload.md). Without such a daemon it fails at once,
as by itself, and a line on standard error says so when CMD starts.

With --need it first claims a lease of so much memory from the daemon, on the
GPU with the most room, and sets CUDA_VISIBLE_DEVICES to that GPU: never to one
that is not visible already. NxSIZE is SIZE on each of N GPUs. SIZE is all that
CMD will use there, CUDA contexts (some hundred MiB each) included. --wait waits
for its turn and says how far it is; Ctrl-C leaves the queue. The lease ends
with the last process that CMD has started (docs/sharing.md). With --cap, an
allocation beyond it fails in PyTorch and JAX, and in nothing else.

With --snapshot-on-oom PyTorch records which lines allocate, and where an
allocation fails, the probe writes its snapshot into DIR: oom-PID-1.pickle, up
to three a process, for https://pytorch.org/memory_viz and snapshot diff.

With --record-memory it records what is allocated and freed, without lines, and
the probe writes that into DIR when a program ends, as memory-PID.pickle: for
vramscope what-if, which asks a running one by its PID.

Where the probe's files cannot be written, a line on standard error says so, and
CMD is started without a probe.

The exit code is CMD's; 3 if there is no room for --need;
127 if CMD was not found, 126 if it cannot be run.`,
		Example: `  vramscope run -- python3 train.py --epochs 3
  vramscope run -- torchrun --nproc-per-node 8 train.py
  vramscope run -- ./simulation --steps 1000
  vramscope run --rescue -- python3 train.py
  vramscope run --need 20GiB --wait -- python3 train.py
  vramscope run --need 2x40GiB --wait=30m --for 2h -- torchrun train.py`,
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault), // any program
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return command.Usage("run needs a command").Then("  vramscope run -- python3 train.py")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case preloading.Wanted && preloading.Unwanted:
				return command.Usage("--preload and --no-preload contradict each other")
			case preloading.Rescue && preloading.Unwanted:
				return command.Usage("--rescue and --no-preload contradict each other")
			}
			preloading.Wanted = preloading.Wanted || preloading.Rescue
			if err := errors.Join(written("snapshot-on-oom", snapshots), written("record-memory", traces)); err != nil {
				return err
			}
			if needs.Need == "" {
				for _, name := range []string{"wait", "for", "cap", "gpu", "config", "nvml-library"} {
					if cmd.Flags().Changed(name) {
						return command.Usage("--%s goes with --need", name)
					}
				}
				return become(p, args, preloading, verbose)
			}
			most, err := needs.capped(args[0])
			if err != nil {
				return err
			}
			if _, err := Find(args[0]); err != nil { // before the claim waits
				return notStarted(args[0], err)
			}
			if err := needs.withLease(p, args, most, verbose); err != nil {
				return err
			}
			return become(p, args, preloading, verbose)
		},
	}
	// Flags after the command belong to the command, with or without --.
	cmd.Flags().SetInterspersed(false)
	needs.Add(cmd)
	cmd.Flags().StringVar(&needs.cap, "cap", "", "PyTorch and JAX reserve no more on a GPU: SIZE, or what --need says, less 512MiB")
	cmd.Flags().Lookup("cap").NoOptDefVal = capAtNeed
	cmd.Flags().BoolVar(&verbose, "verbose", false, "say what is done")
	cmd.Flags().BoolVar(&preloading.Wanted, "preload", false, "the native probe in Python programs as well")
	cmd.Flags().BoolVar(&preloading.Unwanted, "no-preload", false, "no native probe")
	cmd.Flags().BoolVar(&preloading.Rescue, "rescue", false, "an allocation that would fail first asks the guard for memory")
	cmd.Flags().StringVar(&snapshots, "snapshot-on-oom", "", "where PyTorch's snapshot goes if an allocation fails")
	cmd.Flags().StringVar(&traces, "record-memory", "", "where PyTorch's memory history goes when a program ends")
	command.NameValues(cmd, map[string]string{"cap": "SIZE", "snapshot-on-oom": "DIR", "record-memory": "DIR"})
	return cmd
}

// written makes the directory of a flag, and names it in the environment for the probe.
func written(flag, directory string) error {
	if directory == "" {
		return nil
	}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return command.Usage("--%s: %v", flag, command.WithoutPath(err))
	}
	const writable = 2 // W_OK of access(2)
	if err := syscall.Access(directory, writable); err != nil {
		return command.Usage("--%s: %s: %v", flag, text.Clean(directory), err)
	}
	path, err := filepath.Abs(directory)
	return errors.Join(err, os.Setenv("VRAMSCOPE_"+strings.ToUpper(strings.ReplaceAll(flag, "-", "_")), path))
}

// become replaces this process by the command.
func become(p *command.Program, argv []string, preloading Preloading, verbose bool) error {
	path, err := Find(argv[0])
	if err != nil {
		return notStarted(argv[0], err)
	}
	environ := withProbes(p, Inspect(path, argv), preloading, verbose)
	startup.AsInherited()
	err = execute(path, argv, environ)
	if errors.Is(err, syscall.E2BIG) {
		// The kernel limits arguments and environment together.
		p.Warn("no probe: the command's arguments and its environment have no room for it")
		err = execute(path, argv, os.Environ())
	}
	return notStarted(argv[0], err)
}

// Find returns a command's file, as execvp(3) finds it. For a name without a slash the error is EACCES
// if PATH has a file of that name, but none that is executable, and ENOENT if PATH has none.
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil || errors.Is(err, exec.ErrDot) { // PATH can contain the working directory
		return path, nil
	}
	if !errors.Is(err, exec.ErrNotFound) || strings.Contains(name, "/") {
		return "", err
	}
	for _, directory := range filepath.SplitList(os.Getenv("PATH")) {
		if info, err := os.Stat(filepath.Join(directory, name)); err == nil && info.Mode().IsRegular() {
			return "", syscall.EACCES
		}
	}
	return "", syscall.ENOENT
}

func execute(path string, argv, environ []string) error {
	err := syscall.Exec(path, argv, environ)
	if errors.Is(err, syscall.ENOEXEC) {
		// A script without an interpreter line is run by a shell, as in execvp(3).
		return syscall.Exec("/bin/sh", append([]string{"/bin/sh", path}, argv[1:]...), environ)
	}
	return err
}

func notStarted(name string, err error) error {
	code, reason := exitNotRunnable, err
	if failed, ok := errors.AsType[*exec.Error](err); ok {
		reason = failed.Err
	}
	if errors.Is(err, syscall.ENOENT) {
		code, reason = exitNotFound, errors.New("not found")
	}
	return &command.Failure{Code: code, Err: err, Message: text.Clean(fmt.Sprintf("run %s: %v", name, reason))}
}

// installProbe puts a probe's files where this user's programs find them.
func installProbe(p *command.Program, install func(cache string) (string, error)) (string, error) {
	cache, err := Cache(p.Getenv)
	path := ""
	if err == nil {
		path, err = install(cache)
	}
	if err == nil {
		return path, nil
	}
	f := command.Failed(err)
	if !errors.Is(err, preload.ErrNoLibrary) {
		f = f.Then("  XDG_CACHE_HOME=DIR vramscope …   puts the probe's files into another directory")
	}
	return "", f
}

// withProbes returns the command's environment. If the Python probe cannot be installed, it has no probe.
func withProbes(p *command.Program, c Command, preloading Preloading, verbose bool) []string {
	directory, err := installProbe(p, InstallAgent)
	if err != nil {
		p.Warn("no probe: %v; XDG_CACHE_HOME=DIR puts its files into another directory", err)
		return os.Environ()
	}
	if c.Refusal != "" {
		p.Warn("no probe: %s", c.Refusal)
	} else if verbose && c.python {
		p.Warn("the probe is in %s; it serves as soon as a GPU is used", directory)
	} else if verbose {
		p.Warn("%s is not Python; a Python program that it starts has the probe", c.Name)
	}
	environ := WithSeccompFilters(WithPythonPath(os.Environ(), directory))
	yes, why := preloading.Decide(&c)
	library := ""
	if yes {
		if library, err = installProbe(p, preload.Install); err != nil {
			yes, why = false, err.Error()
		}
	}
	if !yes {
		if verbose || preloading.Wanted {
			p.Warn("no native probe in %s: %s", c.Name, why)
		}
		return environ
	}
	if verbose {
		p.Warn("%s is preloaded; it serves as soon as a GPU is used", library)
	}
	if preloading.Rescue {
		_, environ = split(environ, "VRAMSCOPE_RESCUE")
		environ = append(environ, "VRAMSCOPE_RESCUE=1") // the native probe asks before an allocation fails
		if who, err := rescuer(p); err != nil {
			p.Warn("no rescue: %v", err)
		} else if verbose {
			p.Warn("rescue: %s makes room for allocations that fail", who)
		}
	}
	return WithPreload(environ, library)
}

// rescuerTime is how long the start of a command waits for daemons.
const rescuerTime = time.Second

// rescuer returns the daemon that makes room for allocations that fail, or why there is none.
func rescuer(p *command.Program) (who string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), rescuerTime)
	defer cancel()
	err = errors.New("no daemon answers; vramscope daemon --guard=act starts one")
	for _, place := range p.Daemons() {
		client, dialed := socket.Dial(ctx, []socket.Place{place})
		switch {
		case errors.Is(dialed, os.ErrPermission):
			err = fmt.Errorf("%s does not admit you; share in its [daemon] does", daemonOf(place))
		case dialed != nil && !socket.Absent(dialed):
			err = dialed
		}
		if dialed != nil {
			continue
		}
		who = fmt.Sprintf("%s (PID %d)", daemonOf(place), client.Status().PID)
		g, asked := client.Guard(ctx)
		_ = client.Close() // it has answered
		if asked = acts(g, asked); asked == nil {
			return who, nil
		}
		err = fmt.Errorf("%s: %w", who, asked)
	}
	return "", err
}

func daemonOf(place socket.Place) string {
	if place.Owner == 0 {
		return "root's daemon"
	}
	return "your daemon"
}

// acts returns nil if a guard makes room, else why it does not. asked is the error of asking the daemon.
func acts(g *snapshot.Guard, asked error) error {
	refusal, refused := errors.AsType[*probe.Error](asked)
	switch {
	case refused:
		return errors.New(text.Clean(refusal.Message))
	case asked != nil:
		return asked
	case g.Mode != snapshot.GuardAct:
		return fmt.Errorf(`its guard does not act: its mode is %s; mode = "act" in [guard] has it act`, g.Mode)
	case !g.Paused.IsZero():
		return fmt.Errorf("its guard is paused until %s", g.Paused.Format(time.TimeOnly))
	}
	return nil
}
