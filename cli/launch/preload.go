package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"vramscope/probe/preload"
)

// Preloading is whether a command gets the native probe.
type Preloading struct {
	Wanted, Unwanted bool // --preload, --no-preload
	Rescue           bool // --rescue
}

// Decide says whether a library goes into LD_PRELOAD, and if not, why. Shells
// and other starters get it: what uses the GPU is what they start. Python
// programs have their own probe, which knows more.
func (f Preloading) Decide(c *Command) (yes bool, why string) {
	switch {
	case f.Unwanted:
		return false, "--no-preload"
	case c.python && !f.Wanted:
		return false, "Python has its own probe"
	}
	path := c.path
	if interpreter := shebang(path); len(interpreter) > 0 {
		path = interpreter[0]
	}
	why = preload.Obstacle(path)
	return why == "", why
}

// WithPreload is an environment with a library behind whatever else is
// preloaded. A child built with AddressSanitizer checks that nothing was loaded
// before its own library, and would end: ASAN_OPTIONS turns that check off.
func WithPreload(environ []string, library string) []string {
	list, environ := split(environ, "LD_PRELOAD")
	options, environ := split(environ, "ASAN_OPTIONS")
	if !strings.Contains(options, "verify_asan_link_order") {
		options = strings.TrimPrefix(options+":verify_asan_link_order=0", ":")
	}
	return append(environ, "LD_PRELOAD="+strings.Join(append(others(list), library), ":"), "ASAN_OPTIONS="+options)
}

// WithRescue is an environment in which the native probe asks the daemon for memory
// before an allocation fails.
func WithRescue(environ []string) []string {
	_, environ = split(environ, "VRAMSCOPE_RESCUE")
	return append(environ, "VRAMSCOPE_RESCUE=1")
}

// WithoutPreload is an environment without the native probe, and whether it was there.
func WithoutPreload(environ []string) ([]string, bool) {
	list, rest := split(environ, "LD_PRELOAD")
	if !strings.Contains(list, preload.FileName) {
		return environ, false
	}
	if kept := others(list); len(kept) > 0 {
		rest = append(rest, "LD_PRELOAD="+strings.Join(kept, ":"))
	}
	return rest, true
}

// split is a variable's value and a copy of the environment without it.
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

// others are the entries of LD_PRELOAD that are not the native probe, of
// whatever version: below another vramscope run it is there already.
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

// NativeObstacle says why a running process cannot have the native probe; "" if it can.
func NativeObstacle(pid int) string {
	path := fmt.Sprintf("/proc/%d/exe", pid)
	if target, err := os.Readlink(path); err != nil || isPython(target) {
		return ""
	}
	return preload.Obstacle(path)
}
