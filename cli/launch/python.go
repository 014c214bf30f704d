package launch

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"vramscope/probe/agent"
)

// ErrNoCache says that the user has no directory for the probes' files.
var ErrNoCache = errors.New("there is no place for the probe's files: neither HOME nor XDG_CACHE_HOME is set")

// Cache is the directory below which the probes' files are kept.
func Cache(getenv func(string) string) (string, error) {
	cache := getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(cache) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", ErrNoCache
		}
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "vramscope"), nil
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
