//go:build linux

// Command fakegpu runs a command on a box of simulated NVIDIA GPUs. scripts/fake-gpu builds and starts it.
//
//	fakegpu ── guard ──┬── idle processes, so that the pids are in /proc
//	   │               └── state file, rewritten as they end and, with --live, every second
//	   └─ becomes CMD (exec) ── dlopen("libnvidia-ml.so.1", "libcuda.so.1") ── the fakes ── read the state file
//
// Because fakegpu becomes the command, terminal, signals and exit status are
// the command's own. The guard, which is not the command's child, watches the
// command through a pidfd, then ends the idle processes and removes the state.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"vramscope/internal/fakedriver"
)

// The exit statuses have the same meaning as a shell's and vramscope's.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitNotRunnable = 126
	exitNotFound    = 127
)

const usage = `Run a command on a box with simulated NVIDIA GPUs.

  scripts/fake-gpu [--gpus N] [--processes M] [--live] -- CMD…
  scripts/fake-gpu --mig | --mixed [--live] -- CMD…
  scripts/fake-gpu --state FILE -- CMD…
  scripts/fake-gpu --cudart -- python3 train.py

Any program that uses libnvidia-ml.so.1 sees them: vramscope, nvtop, nvidia-ml-py.
One that uses libcuda.so.1 allocates on them: its memory is in all their lists.

  --gpus N         H100s in the box (8)
  --processes M    processes on each; real ones, which do nothing (4)
  --live           memory, utilisation and power move every second
  --mig            two GPUs, the first of them cut into MIG instances
  --mixed          the box of the drawings: MIG, a lost GPU, an idle holder, a foreign pid
  --state FILE     use this state file if it is there, else write the box to it;
                   edit it while CMD runs (the format: go doc ./internal/fakedriver)
  --cudart         a CUDA runtime, too, and empty stand-ins for cuBLAS, cuDNN, …, for a
                   PyTorch, JAX or TensorFlow that was installed without the nvidia-* wheels
                   (pip install --no-deps torch): its memory is real, its kernels do nothing;
                   and /dev/nvidiactl, which JAX looks for, seen by CMD alone. XLA must not time
                   kernels that do nothing: XLA_FLAGS=--xla_gpu_autotune_level=0
  --driver NAME    current, r470 (memory v1, process lists v2) or v1 (first versions only)
`

func main() {
	if len(os.Args) > 2 && os.Args[0] == guardName {
		os.Exit(guard(os.Args[1], os.Args[2:]))
	}
	status, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "fake-gpu:", err)
	}
	os.Exit(status)
}

// box holds the flags that describe the box.
type box struct {
	GPUs, Processes  int
	MIG, Mixed, Live bool
	CUDART           bool
	State            string
}

func (b box) state() fakedriver.State {
	state := fakedriver.Box(b.GPUs, b.Processes)
	switch {
	case b.MIG:
		state = fakedriver.MIG()
	case b.Mixed:
		state = fakedriver.Mixed()
	}
	if b.CUDART {
		state.Driver = fakedriver.RuntimeDriver()
	}
	return state
}

// run returns only on an error, or after printing the usage.
func run(arguments []string) (int, error) {
	var wanted box
	var driver string
	flags := flag.NewFlagSet("fake-gpu", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&wanted.GPUs, "gpus", 8, "")
	flags.IntVar(&wanted.Processes, "processes", 4, "")
	flags.BoolVar(&wanted.MIG, "mig", false, "")
	flags.BoolVar(&wanted.Mixed, "mixed", false, "")
	flags.BoolVar(&wanted.Live, "live", false, "")
	flags.BoolVar(&wanted.CUDART, "cudart", false, "")
	flags.StringVar(&wanted.State, "state", "", "")
	flags.StringVar(&driver, "driver", string(fakedriver.Current), "")
	err := flags.Parse(arguments)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Print(usage)
		return 0, nil
	}
	if err == nil {
		err = check(wanted, flags)
	}
	if err != nil {
		return exitUsage, fmt.Errorf("%w\n\n%s", err, usage)
	}

	library, err := fakedriver.Compile(fakedriver.Variant(driver))
	if err != nil {
		return exitFailure, err
	}
	var more []string
	devices := ""
	if wanted.CUDART {
		if more, err = runtimeDirectories(flags.Args()); err != nil {
			return exitFailure, err
		}
		if devices, err = fakedriver.CompileDevices(); err != nil {
			return exitFailure, err
		}
	}
	path, err := prepare(wanted)
	if err != nil {
		return exitFailure, err
	}
	return become(devices, flags.Args(), append(os.Environ(), fakedriver.Environment(library, path, more...)...))
}

func check(wanted box, flags *flag.FlagSet) error {
	set := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { set[f.Name] = true })
	switch driver := flags.Lookup("driver").Value.String(); fakedriver.Variant(driver) {
	case fakedriver.Current, fakedriver.R470, fakedriver.V1Only:
	default:
		return fmt.Errorf("--driver %s: there is current, r470 and v1", driver)
	}
	switch {
	case flags.NArg() == 0:
		return errors.New("no command to run")
	case wanted.GPUs < 0 || wanted.GPUs > 64:
		return errors.New("--gpus: from 0 to 64")
	case wanted.Processes < 0 || wanted.Processes > 256:
		return errors.New("--processes: from 0 to 256")
	case wanted.MIG && wanted.Mixed:
		return errors.New("--mig and --mixed are two different boxes")
	case (wanted.MIG || wanted.Mixed) && (set["gpus"] || set["processes"]):
		return errors.New("--gpus and --processes do not go with --mig or --mixed")
	}
	if _, err := os.Stat(wanted.State); wanted.State != "" && err == nil &&
		(set["gpus"] || set["processes"] || wanted.MIG || wanted.Mixed || wanted.Live) {
		return fmt.Errorf("--state %s is there and says what the box is: no other box, and no --live, with it", wanted.State)
	}
	return nil
}

// prepare returns the path of the state file: the user's own if it exists, or a new
// one, which a guard makes.
func prepare(wanted box) (string, error) {
	if wanted.State != "" {
		path, err := filepath.Abs(wanted.State)
		if err != nil {
			return "", err
		}
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		wanted.State = path
	}
	return startGuard(wanted)
}

// become replaces this process by the command, through the program at devices unless
// that is "".
func become(devices string, command, environment []string) (int, error) {
	path, err := exec.LookPath(command[0])
	if err == nil {
		program, arguments := path, command
		if devices != "" {
			program, arguments = devices, append([]string{devices, path}, command...)
		}
		err = syscall.Exec(program, arguments, environment)
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return exitNotFound, fmt.Errorf("%s: command not found", command[0])
	}
	var search *exec.Error
	if errors.As(err, &search) {
		err = search.Err // the error without the name, which the message has already
	}
	return exitNotRunnable, fmt.Errorf("%s: %w", command[0], err)
}
