package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"vramscope/internal/text"
	"vramscope/probe/agent"
)

// env prints what puts a probe into programs that somebody else starts.
func (p *program) env() *cobra.Command {
	directory, native := "", false
	cmd := &cobra.Command{
		Use:         "env",
		Annotations: map[string]string{looksAtNoBox: ""},
		Short:       "exports that put a probe into a job started elsewhere",
		Long: `Installs the Python probe and prints the export that lets Python programs find
it, as vramscope run does for one command. For jobs that something else starts:
a batch script, a container image, a service.

The files go into this user's cache directory. With --directory they go where
every user can read them, as a container image needs it.

With --preload it also exports the native probe: LD_PRELOAD loads its library in
front of libcuda in every program started from there on, after what is preloaded
already. "unset LD_PRELOAD", or removing the entry that ends in libvramscope.so,
undoes that. ASAN_OPTIONS makes programs built with AddressSanitizer accept it.`,
		Example: `  eval "$(vramscope env)"                            in an sbatch script, before srun
  RUN vramscope env --directory /opt/vramscope       in a Dockerfile, and then
  ENV PYTHONPATH=/opt/vramscope`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.printEnvironment(directory, native) },
	}
	cmd.Flags().BoolVar(&native, "preload", false, "the native probe as well")
	cmd.Flags().StringVar(&directory, "directory", "", "install the files here, for every user")
	nameValues(cmd, map[string]string{"directory": "DIR"})
	return cmd
}

func (p *program) printEnvironment(directory string, native bool) error {
	shared := directory != ""
	if err := p.noGlobalFlags("env"); err != nil {
		return err
	}
	if directory == "" {
		installed, err := p.installAgent()
		if err != nil {
			return err
		}
		directory = installed
	} else {
		absolute, err := filepath.Abs(directory)
		if err == nil && strings.Contains(absolute, ":") {
			return usage("--directory: %q has a colon in it, which PYTHONPATH cannot hold", text.Clean(absolute))
		}
		if err == nil {
			directory = absolute
			err = agent.InstallShared(directory)
		}
		if err != nil {
			return &failure{code: exitFailure, err: err, message: text.Clean(err.Error())}
		}
	}
	s := fmt.Appendf(nil, "export PYTHONPATH=%s${PYTHONPATH:+:$PYTHONPATH}\n", shellQuote(directory))
	if native {
		exports, err := p.preloadExports(directory, shared)
		if err != nil {
			return err
		}
		s = append(s, exports...)
	}
	return p.print(s)
}

// shellQuote quotes a word for sh.
func shellQuote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
