package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"vramscope/internal/text"
	"vramscope/probe/preload"
)

// preloading is whether a command gets the native probe.
type preloading struct {
	wanted, unwanted bool // --preload, --no-preload
}

// decide says whether a library goes into LD_PRELOAD, and if not, why. Shells
// and other starters get it: what uses the GPU is what they start. Python
// programs have their own probe, which knows more.
func (f preloading) decide(path string, s *started) (yes bool, why string) {
	switch {
	case f.unwanted:
		return false, "--no-preload"
	case s.python && !f.wanted:
		return false, "Python has a probe of its own"
	}
	if interpreter := shebang(path); len(interpreter) > 0 {
		path = interpreter[0]
	}
	why = preload.Obstacle(path)
	return why == "", why
}

// installPreload puts the library where this user's programs find it.
func (p *program) installPreload() (string, error) {
	cache, err := p.probeCache()
	if err != nil {
		return "", err
	}
	path, err := preload.Install(cache)
	if errors.Is(err, preload.ErrNoLibrary) {
		return "", &failure{code: exitFailure, err: err, message: err.Error()}
	}
	if err != nil {
		return "", &failure{code: exitFailure, err: err, message: text.Clean(err.Error()),
			advice: []string{"  XDG_CACHE_HOME=DIR vramscope …   puts the probe's files into another directory"}}
	}
	return path, nil
}

// withPreload puts the library into a command's environment where it is to go
// there, and says what comes of it. Only a probe that was asked for is a
// reason not to start the command.
func (p *program) withPreload(environ []string, path string, s *started, f preloading, verbose bool) ([]string, error) {
	yes, why := f.decide(path, s)
	library := ""
	if yes {
		var err error
		if library, err = p.installPreload(); err != nil && f.wanted {
			return nil, err
		} else if err != nil {
			yes, why = false, err.Error()
		}
	}
	switch {
	case yes && verbose:
		_, _ = fmt.Fprintf(p.stderr, "vramscope: %s is preloaded; it serves as soon as a GPU is used\n", text.Clean(library)) // if nobody reads it, the command is started all the same
	case !yes && (verbose || f.wanted):
		_, _ = fmt.Fprintf(p.stderr, "vramscope: no native probe in %s: %s\n", text.Clean(s.name), text.Clean(why)) // likewise
	}
	if !yes {
		return environ, nil
	}
	return preloaded(environ, library), nil
}

// preloaded is an environment with a library behind whatever else is
// preloaded: those come first as they would without it. A program among the
// command's children that was built with AddressSanitizer checks that nothing
// was loaded before its own library, and would end; that check it is told to
// leave out.
func preloaded(environ []string, library string) []string {
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

// others are the entries of LD_PRELOAD that are not this library, of whatever
// version: below another vramscope run it is there already.
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

// preloadExports are the lines of shell that do as preloaded does. The library
// is put into a directory for every user, or with the probe's other files.
func (p *program) preloadExports(directory string, shared bool) (string, error) {
	install := func() (string, error) { return preload.InstallShared(directory) }
	if !shared {
		install = p.installPreload
	}
	library, err := install()
	if failed := (*failure)(nil); err != nil && !errors.As(err, &failed) {
		err = &failure{code: exitFailure, err: err, message: text.Clean(err.Error())}
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("export LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}%s\n", shellQuote(library)) +
		"export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0\n", nil
}

// withoutPreload is an environment without this library; false where it was
// not in it.
func withoutPreload(environ []string) ([]string, bool) {
	found := false
	changed := make([]string, 0, len(environ))
	for _, v := range environ {
		value, ok := strings.CutPrefix(v, "LD_PRELOAD=")
		kept := others(value)
		if !ok || !strings.Contains(value, preload.FileName) {
			changed = append(changed, v)
			continue
		}
		found = true
		if len(kept) > 0 {
			changed = append(changed, "LD_PRELOAD="+strings.Join(kept, ":"))
		}
	}
	return changed, found
}

// pathOf is a program of a process, as this process can open it.
func pathOf(pid int) string { return fmt.Sprintf("/proc/%d/exe", pid) }

// nativeObstacle says why a process could not have been given the native
// probe; "" where there is no such reason, or it cannot be looked at.
func nativeObstacle(pid int) string {
	path := pathOf(pid)
	if target, err := os.Readlink(path); err != nil || isPython(target) {
		return ""
	}
	return preload.Obstacle(path)
}
