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
// preloaded: those come first as they would without it. A child built with
// AddressSanitizer checks that nothing was loaded before its own library, and
// would end: ASAN_OPTIONS turns that check off.
func WithPreload(environ []string, library string) []string {
	const list, sanitizer, unchecked = "LD_PRELOAD=", "ASAN_OPTIONS=", "verify_asan_link_order=0"
	changed := make([]string, 0, len(environ)+2)
	value, options := "", unchecked
	for _, v := range environ {
		switch {
		case strings.HasPrefix(v, list):
			value = v[len(list):]
		case strings.HasPrefix(v, sanitizer) && v != sanitizer:
			options = v[len(sanitizer):]
			if !strings.Contains(options, "verify_asan_link_order") {
				options += ":" + unchecked
			}
		default:
			changed = append(changed, v)
		}
	}
	return append(changed, list+strings.Join(append(others(value), library), ":"), sanitizer+options)
}

// WithoutPreload is an environment without the native probe; false where it was
// not in it.
func WithoutPreload(environ []string) ([]string, bool) {
	found := false
	changed := make([]string, 0, len(environ))
	for _, v := range environ {
		value, ok := strings.CutPrefix(v, "LD_PRELOAD=")
		if !ok || !strings.Contains(value, preload.FileName) {
			changed = append(changed, v)
			continue
		}
		found = true
		if kept := others(value); len(kept) > 0 {
			changed = append(changed, "LD_PRELOAD="+strings.Join(kept, ":"))
		}
	}
	return changed, found
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

// NativeObstacle says why a running process could not have been given the
// native probe; "" where there is no reason, or it cannot be read.
func NativeObstacle(pid int) string {
	path := fmt.Sprintf("/proc/%d/exe", pid)
	if target, err := os.Readlink(path); err != nil || isPython(target) {
		return ""
	}
	return preload.Obstacle(path)
}
