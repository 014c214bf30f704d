package ui

import (
	"strings"

	"github.com/charmbracelet/colorprofile"

	"vramscope/internal/text"
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
	t.ascii = t.dumb || t.console || !text.UTF8(env.lookup)
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
