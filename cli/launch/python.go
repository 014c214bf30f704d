package launch

import (
	"cmp"
	"fmt"
	"iter"
	"path/filepath"
	"strings"

	"vramscope/internal/install"
	"vramscope/probe/agent"
)

// Caches are the directories below which the probes' files can be kept, the best first.
func Caches(getenv func(string) string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for base := range install.Bases(getenv, "XDG_CACHE_HOME", ".cache") {
			if !yield(filepath.Join(base, "vramscope")) {
				return
			}
		}
	}
}

// Cache is the first of them in which put succeeds, by what that returns; else the
// first one's error.
func Cache(getenv func(string) string, put func(cache string) (string, error)) (string, error) {
	var failed error
	for cache := range Caches(getenv) {
		path, err := put(cache)
		if err == nil {
			return path, nil
		}
		failed = cmp.Or(failed, err)
	}
	return "", cmp.Or(failed, install.ErrNoHome)
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
