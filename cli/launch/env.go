package launch

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/internal/install"
	"vramscope/internal/process"
	"vramscope/internal/text"
	"vramscope/probe/agent"
	"vramscope/probe/preload"
)

// Cache returns the directory below which the probes' files are kept.
func Cache(getenv func(string) string) (string, error) {
	base, err := install.Own(install.Bases(getenv, "XDG_CACHE_HOME", ".cache"))
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "vramscope"), nil
}

// InstallAgent puts the Python probe below the cache. It returns the directory for PYTHONPATH.
func InstallAgent(cache string) (string, error) {
	directory, err := agent.Install(cache)
	if err == nil {
		err = CheckPythonPath(directory)
	}
	return directory, err
}

// CheckPythonPath refuses a directory that PYTHONPATH cannot hold.
func CheckPythonPath(directory string) error {
	if strings.Contains(directory, ":") {
		return fmt.Errorf("%s has a colon in it, which PYTHONPATH cannot hold", directory)
	}
	return nil
}

// WithPythonPath puts a directory at the front of PYTHONPATH, and removes it elsewhere. Empty entries
// stay: they mean the working directory.
func WithPythonPath(environ []string, directory string) []string {
	value, environ := split(environ, "PYTHONPATH")
	path := directory
	for entry := range strings.SplitSeq(value, ":") {
		if value != "" && entry != directory {
			path += ":" + entry
		}
	}
	return append(environ, "PYTHONPATH="+path)
}

// SeccompFilters is the environment variable with the number of seccomp filters at the command's
// start. If the program has added a filter since, a probe does not start: the filter could kill the
// program for one of the probe's system calls.
const SeccompFilters = "VRAMSCOPE_SECCOMP_FILTERS"

// WithSeccompFilters returns an environment with the number of this program's seccomp filters. If that
// is unknown, the number in environ stays.
func WithSeccompFilters(environ []string) []string {
	count, err := process.SeccompFilters("/proc/self/status")
	if err != nil {
		return environ
	}
	_, environ = split(environ, SeccompFilters)
	return append(environ, SeccompFilters+"="+strconv.Itoa(count))
}

// WithPreload returns an environment in which a library is preloaded after all others. AddressSanitizer
// ends a program that loads any library before its own: ASAN_OPTIONS turns that check off.
func WithPreload(environ []string, library string) []string {
	list, environ := split(environ, "LD_PRELOAD")
	options, environ := split(environ, "ASAN_OPTIONS")
	if !strings.Contains(options, "verify_asan_link_order") {
		options = strings.TrimPrefix(options+":verify_asan_link_order=0", ":")
	}
	return append(environ, "LD_PRELOAD="+strings.Join(append(others(list), library), ":"), "ASAN_OPTIONS="+options)
}

// WithNativeProbe installs the native probe and returns environ with it, nil if environ has it already.
func WithNativeProbe(p *command.Program, environ []string) ([]string, error) {
	if list, _ := split(environ, "LD_PRELOAD"); strings.Contains(list, preload.FileName) {
		return nil, nil
	}
	library, err := installProbe(p, preload.Install)
	if err != nil {
		return nil, err
	}
	return WithPreload(environ, library), nil
}

// split returns a variable's value and a copy of the environment without it.
func split(environ []string, name string) (value string, rest []string) {
	rest = make([]string, 0, len(environ)+2)
	for _, v := range environ {
		if found, ok := strings.CutPrefix(v, name+"="); ok {
			value = found
		} else {
			rest = append(rest, v)
		}
	}
	return value, rest
}

// others returns the entries of LD_PRELOAD except the native probe of any version, which an outer
// vramscope run can have added.
func others(value string) []string {
	entries := strings.FieldsFunc(value, func(r rune) bool { return r == ':' || r == ' ' })
	kept := entries[:0]
	for _, entry := range entries {
		if filepath.Base(entry) != preload.FileName {
			kept = append(kept, entry)
		}
	}
	return kept
}

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
	s := fmt.Appendf(nil, "export PYTHONPATH=%s${PYTHONPATH:+:$PYTHONPATH}\n", text.ShellQuote(directory))
	for _, variable := range WithSeccompFilters(nil) {
		s = fmt.Appendf(s, "export %s\n", variable)
	}
	if native {
		exports, err := preloadExports(p, directory, shared)
		if err != nil {
			return err
		}
		s = append(s, exports...)
	}
	return p.Print(s)
}

// preloadExports returns shell lines that preload the native probe. It installs the library into
// directory if that is shared, else into the cache.
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
	return fmt.Sprintf("export LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}%s\n", text.ShellQuote(library)) +
		"export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0\n", nil
}
