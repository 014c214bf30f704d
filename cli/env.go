package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"vramscope/probe/agent"
)

// env prints what puts a probe into programs that somebody else starts.
func (p *program) env() *cobra.Command {
	directory, native := "", false
	cmd := &cobra.Command{
		Use:         "env",
		Annotations: map[string]string{looksAtNoBox: ""},
		Short:       "exports that put a probe into a job started elsewhere",
		Long: `Writes the Python probe's files and prints the line of shell that has Python
programs find them, as vramscope run does for a command. For jobs that something
else starts: in a batch script, an image, a service.

The files are for this user alone, in the cache directory. With --directory they
are put where every user can read them, as an image of a container needs it.

With --preload there is the native probe, too: LD_PRELOAD has its library come in
front of libcuda in every program that is started from there on, behind what is
preloaded already; "unset LD_PRELOAD", or taking the entry that ends in
libvramscope.so out of it, ends that. ASAN_OPTIONS has programs built with
AddressSanitizer accept it.`,
		Example: `  eval "$(vramscope env)"                            in an sbatch script, before srun
  RUN vramscope env --directory /opt/vramscope       in a Dockerfile, and then
  ENV PYTHONPATH=/opt/vramscope`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.printEnvironment(directory, native) },
	}
	cmd.Flags().BoolVar(&native, "preload", false, "the native probe as well")
	cmd.Flags().StringVar(&directory, "directory", "", "put the files here, for every user")
	cmd.Flags().Lookup("directory").Value = &holder{cmd.Flags().Lookup("directory").Value, "DIR"}
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
			return usage("--directory: %q has a colon in it, which PYTHONPATH cannot hold", cleanText(absolute))
		}
		if err == nil {
			directory = absolute
			err = agent.InstallShared(directory)
		}
		if err != nil {
			return &failure{code: exitFailure, err: err, message: cleanText(err.Error())}
		}
	}
	text := fmt.Appendf(nil, "export PYTHONPATH=%s${PYTHONPATH:+:$PYTHONPATH}\n", shellQuote(directory))
	if native {
		exports, err := p.preloadExports(directory, shared)
		if err != nil {
			return err
		}
		text = append(text, exports...)
	}
	return p.print(text)
}

// shellQuote quotes a word for sh.
func shellQuote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
