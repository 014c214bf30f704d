package launch

import (
	"fmt"
	"path/filepath"
	"strings"

	"vramscope/internal/install"
	"vramscope/probe/agent"
)

// Cache is the directory below which the probes' files are kept.
func Cache(getenv func(string) string) (string, error) {
	base, err := install.Own(install.Bases(getenv, "XDG_CACHE_HOME", ".cache"))
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "vramscope"), nil
}

// InstallAgent puts the Python probe below the cache. It returns PYTHONPATH's directory.
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

// WithPythonPath puts a directory at the front of PYTHONPATH. Below another
// vramscope run it is there already. An empty entry is the working directory.
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
