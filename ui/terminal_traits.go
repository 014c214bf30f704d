package ui

import (
	"strings"

	"github.com/charmbracelet/colorprofile"
)

// environment is how the program was started, as os.Environ gives it.
type environment []string

// lookup returns the last value of a variable, "" where it is not set.
func (e environment) lookup(name string) string {
	for i := len(e) - 1; i >= 0; i-- {
		if key, value, ok := strings.Cut(e[i], "="); ok && key == name {
			return value
		}
	}
	return ""
}

// traits is what the environment says of a terminal before it has been asked
// anything.
type traits struct {
	dumb    bool // cannot move its cursor
	console bool // the Linux console: its fonts lack ▓ and ▄, and it has no title
	ascii   bool // the ASCII glyphs are the safe choice
	profile colorprofile.Profile
}

func traitsOf(env environment) traits {
	name := env.lookup("TERM")
	t := traits{
		dumb:    name == "" || name == "dumb",
		console: name == "linux",
		profile: colorsOf(env),
	}
	t.ascii = t.dumb || t.console || !speaksUTF8(env)
	return t
}

// colorsOf decides how many colours to use. colorprofile.Detect would also
// run `tmux info`, which costs more than the whole first frame.
func colorsOf(env environment) colorprofile.Profile {
	// https://no-color.org: "when present and not an empty string (regardless
	// of its value)". colorprofile takes NO_COLOR=yes for unset.
	if env.lookup("NO_COLOR") != "" {
		return colorprofile.ASCII
	}
	// https://bixense.com/clicolors/
	if env.lookup("CLICOLOR") == "0" && env.lookup("CLICOLOR_FORCE") == "" {
		return colorprofile.ASCII
	}
	return colorprofile.Env(env)
}

// speaksUTF8 reports whether the locale's character set is UTF-8, by the
// rules of setlocale(3): LC_ALL, else LC_CTYPE, else LANG. A locale that is
// not set at all is "C", but over SSH and in containers it often only was not
// passed on; there the terminals of today are UTF-8, and a terminal that is
// asked can still say otherwise.
func speaksUTF8(env environment) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := env.lookup(name); value != "" {
			_, charset, named := strings.Cut(value, ".")
			if !named {
				// "C" and "POSIX" are ASCII by definition; "de_DE" is Latin-1.
				return strings.Contains(strings.ToLower(value), "utf")
			}
			charset, _, _ = strings.Cut(charset, "@")
			charset = strings.ToLower(strings.ReplaceAll(charset, "-", ""))
			return charset == "utf8"
		}
	}
	return true
}
