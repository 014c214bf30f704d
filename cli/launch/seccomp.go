package launch

import (
	"fmt"
	"strconv"

	"vramscope/internal/process"
)

// SeccompFilters is the environment variable by which probes learn how many seccomp filters the
// command was started under. A probe does not start where the program has added
// one: it might kill the program for a system call of the probe's.
const SeccompFilters = "VRAMSCOPE_SECCOMP_FILTERS"

// WithSeccompFilters is an environment with this program's own count. Where that
// is unknown, one that was set further out stays.
func WithSeccompFilters(environ []string) []string {
	count, err := process.SeccompFilters("/proc/self/status")
	if err != nil {
		return environ
	}
	_, environ = split(environ, SeccompFilters)
	return append(environ, SeccompFilters+"="+strconv.Itoa(count))
}

// ExportSeccompFilters is the line of shell that does as WithSeccompFilters does.
func ExportSeccompFilters() string {
	count, err := process.SeccompFilters("/proc/self/status")
	if err != nil {
		return ""
	}
	return fmt.Sprintf("export %s=%d\n", SeccompFilters, count)
}
