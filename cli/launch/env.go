package launch

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/internal/text"
	"vramscope/probe/agent"
	"vramscope/probe/preload"
)

// Env prints the exports that put a probe into programs started elsewhere.
func Env(p *command.Program) *cobra.Command {
	directory, native := "", false
	cmd := &cobra.Command{
		Use:         "env",
		Annotations: map[string]string{command.Takes: ""},
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
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return printEnvironment(p, directory, native) },
	}
	cmd.Flags().BoolVar(&native, "preload", false, "the native probe as well")
	cmd.Flags().StringVar(&directory, "directory", "", "install the files here, for every user")
	command.NameValues(cmd, map[string]string{"directory": "DIR"})
	return cmd
}

func printEnvironment(p *command.Program, directory string, native bool) error {
	shared := directory != ""
	if directory == "" {
		installed, err := installProbe(p, InstallAgent)
		if err != nil {
			return err
		}
		directory = installed
	} else {
		absolute, err := filepath.Abs(directory)
		if bad := CheckPythonPath(absolute); err == nil && bad != nil {
			return command.Usage("--directory: %s", text.Clean(bad.Error()))
		}
		if err == nil {
			directory = absolute
			err = agent.InstallShared(directory)
		}
		if err != nil {
			return command.Failed(err)
		}
	}
	s := fmt.Appendf(nil, "export PYTHONPATH=%s${PYTHONPATH:+:$PYTHONPATH}\n", shellQuote(directory))
	s = append(s, ExportSeccompFilters()...)
	if native {
		exports, err := preloadExports(p, directory, shared)
		if err != nil {
			return err
		}
		s = append(s, exports...)
	}
	return p.Print(s)
}

// preloadExports are the lines of shell that do as launch.WithPreload does. The
// library is put into a directory for every user, or with the probe's other files.
func preloadExports(p *command.Program, directory string, shared bool) (string, error) {
	var library string
	var err error
	if !shared {
		library, err = installProbe(p, preload.Install)
	} else if library, err = preload.InstallShared(directory); err != nil {
		err = command.Failed(err)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("export LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}%s\n", shellQuote(library)) +
		"export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0\n", nil
}

func shellQuote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
