package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/launch"
	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/probe/cuda"
)

type probeFlags struct {
	pattern string
	size    string
	seed    uint64
	length  time.Duration // 0: until a signal
}

func Probe(p *command.Program) *cobra.Command {
	f := probeFlags{pattern: string(cuda.Sawtooth)}
	cmd := &cobra.Command{
		Use:         "probe",
		Annotations: map[string]string{command.Takes: "config gpu nvml-library"},
		Short:       "a small CUDA process with a pool, to try vramscope on",
		Long: `Allocates memory on one GPU in a pattern, and answers as any process with a
probe does: what is allocated, cached and fragmented, and a flush. It is the
quickest way to see vramscope at work on a box without PyTorch, and a load for
testing.

  steady      nine tenths of the size are allocated
  sawtooth    up, and back to a third, every 12 seconds; what is freed is cached
  leak        up, until the size is reached (after 5m, or --for)
  staircase   the same in eight steps
  fragment    every other block freed: cached, until a flush finds it fragmented

It never reserves more than --size (its CUDA context, some hundred MiB, comes on
top), and never the GPU's last 512 MiB. It frees everything when it ends: after
--for, or on a signal (Ctrl-C).`,
		Example: `  vramscope probe --pattern sawtooth --size 4GiB
  vramscope probe --pattern leak --size 20GiB --gpu 3 --for 10m`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runProbe(cmd.Context(), p, f) },
	}
	flags := cmd.Flags()
	var patterns []string
	for _, pattern := range cuda.Patterns() {
		patterns = append(patterns, string(pattern))
	}
	command.ChoiceFlag(cmd, &f.pattern, "pattern", "", patterns...)
	flags.StringVar(&f.size, "size", "1GiB", "the most it takes, 128MiB or more")
	flags.Uint64Var(&f.seed, "seed", 0, "the same seed, the same pattern")
	flags.Var(command.Duration(&f.length, time.Second, 30*24*time.Hour), "for", "end after this long (default: on a signal)")
	command.NameValues(cmd, map[string]string{"size": "SIZE", "seed": "NUMBER", "for": "DURATION"})
	return cmd
}

// usualGrowth is how long leak and staircase grow without --for.
const usualGrowth = 5 * time.Minute

func (f *probeFlags) options() (o cuda.Options, err error) {
	if o.Pattern, err = cuda.ParsePattern(f.pattern); err != nil {
		return o, command.Usage("--pattern: %v", err)
	}
	if o.Size, err = quantity.ParseBytes(f.size); err != nil {
		return o, command.Usage("--size: %v", err)
	}
	if o.Size < cuda.SmallestSize {
		return o, command.Usage("--size: %s is too small for a pattern: %s at least", o.Size, cuda.SmallestSize)
	}
	o.Seed, o.Length = f.seed, cmp.Or(f.length, usualGrowth)
	return o, nil
}

func runProbe(ctx context.Context, p *command.Program, f probeFlags) error {
	s, err := p.Settings()
	if err != nil {
		return err
	}
	o, err := f.options()
	if err != nil {
		return err
	}
	if err := becomePreloaded(p); err != nil {
		return err
	}
	box, err := boxOf(p, &s)
	if err != nil {
		return err
	}
	o.Choose = box.choose

	// The first signal starts the cleanup. The driver can hang, so the second one is not caught.
	signal.Ignore(syscall.SIGPIPE) // of a monitor that closes its connection
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGABRT,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGVTALRM,
		syscall.SIGXCPU, syscall.SIGXFSZ, syscall.SIGIO, syscall.SIGSYS, syscall.SIGTRAP)
	context.AfterFunc(ctx, stop)
	defer stop()
	process, err := cuda.Start(o)
	if err != nil {
		return probeFailure(err, box)
	}
	began := p.Now()
	socket, err := socketOf(ctx)
	if err == nil {
		say(p, "probe %d on %s: %s up to %s, socket %s; vramscope shows it, vramscope flush %d frees its cache\n",
			os.Getpid(), box.describe(process.Device()), o.Pattern, o.Size, socket, os.Getpid())
		err = play(ctx, process, f.length)
		// The library removes the socket at C's exit, which Go programs do not call.
		if failed := os.Remove(socket); !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	if err = errors.Join(err, process.Close()); err == nil {
		say(p, "probe %d ended after %s; all freed\n", os.Getpid(), p.Now().Sub(began).Round(time.Second))
	}
	if err != nil {
		return command.Failed(err)
	}
	return nil
}

// becomePreloaded starts this program again with the native probe, unless the probe is preloaded already.
func becomePreloaded(p *command.Program) error {
	const again = "VRAMSCOPE_PROBE_AGAIN"
	environ, err := launch.WithNativeProbe(p, os.Environ())
	if err != nil || environ == nil {
		return err
	}
	if p.Getenv(again) != "" { // the loader has dropped LD_PRELOAD
		return command.Fail("the loader preloads no probe: vramscope is setuid here, or has capabilities")
	}
	return fmt.Errorf("start again with the native probe: %w", syscall.Exec("/proc/self/exe", os.Args, append(environ, again+"=1")))
}

// socketOf returns the path of the native probe's socket. The probe makes it on a thread of its
// own, which starts at the first CUDA call.
func socketOf(ctx context.Context) (string, error) {
	path, err := probe.OwnPlace()
	if err != nil {
		return "", err
	}
	limit := time.After(5 * time.Second)
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	for {
		if conn, err := net.Dial("unix", path); err == nil {
			return path, conn.Close()
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return path, nil // play ends at once
		case <-limit:
			return "", fmt.Errorf("the native probe does not serve at %s", path)
		}
	}
}

// play plays the pattern until the context or the length ends.
func play(ctx context.Context, process *cuda.Process, length time.Duration) error {
	if length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, length)
		defer cancel()
	}
	return process.Run(ctx)
}

// say writes a line to standard output, and ignores a failure: it can be closed by now.
func say(p *command.Program, format string, args ...any) {
	_, _ = fmt.Fprintf(p.Stdout, format, args...)
}
