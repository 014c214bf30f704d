package terminal

import (
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"

	"vramscope/internal/text"
)

// Traits are what the environment says about a terminal before the terminal is asked.
type Traits struct {
	Dumb    bool // cannot move its cursor
	Console bool // the Linux console: its fonts lack ▓ and ▄, and older ones print the sequence that sets a title
	ASCII   bool // the ASCII glyphs are the safe choice
	Profile colorprofile.Profile
}

// TraitsOf reads the traits from an environment as os.Environ returns it.
func TraitsOf(environ []string) Traits {
	env := uv.Environ(environ)
	name := env.Getenv("TERM")
	t := Traits{
		Dumb:    name == "" || name == "dumb",
		Console: name == "linux",
		Profile: colorsOf(env),
	}
	t.ASCII = t.Dumb || t.Console || !text.UTF8(env.Getenv)
	return t
}

// colorsOf decides how many colours to use. colorprofile.Detect would also run `tmux info`, which takes longer than the
// first frame.
func colorsOf(env uv.Environ) colorprofile.Profile {
	// https://no-color.org: "when present and not an empty string (regardless of its value)". colorprofile takes
	// NO_COLOR=yes for unset.
	if env.Getenv("NO_COLOR") != "" {
		return colorprofile.ASCII
	}
	// https://bixense.com/clicolors/
	if env.Getenv("CLICOLOR") == "0" && env.Getenv("CLICOLOR_FORCE") == "" {
		return colorprofile.ASCII
	}
	return colorprofile.Env(env)
}
