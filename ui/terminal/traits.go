package terminal

import (
	"slices"
	"strings"

	"github.com/charmbracelet/colorprofile"

	"vramscope/internal/text"
)

// environment is what os.Environ returns.
type environment []string

// lookup returns the last value of a variable, "" where it is not set.
func (e environment) lookup(name string) string {
	for _, variable := range slices.Backward(e) {
		if key, value, ok := strings.Cut(variable, "="); ok && key == name {
			return value
		}
	}
	return ""
}

// Traits are what the environment says about a terminal before it is asked.
type Traits struct {
	Dumb    bool // cannot move its cursor
	Console bool // the Linux console: its fonts lack ▓ and ▄, and older ones print the sequence that sets a title
	ASCII   bool // the ASCII glyphs are the safe choice
	Profile colorprofile.Profile
}

// TraitsOf reads the traits from an environment as os.Environ returns it.
func TraitsOf(environ []string) Traits {
	env := environment(environ)
	name := env.lookup("TERM")
	t := Traits{
		Dumb:    name == "" || name == "dumb",
		Console: name == "linux",
		Profile: colorsOf(env),
	}
	t.ASCII = t.Dumb || t.Console || !text.UTF8(env.lookup)
	return t
}

// colorsOf decides how many colours to use. colorprofile.Detect would also run `tmux info`,
// which takes longer than the whole first frame.
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
