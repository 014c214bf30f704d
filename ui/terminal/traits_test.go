package terminal

import (
	"testing"

	"github.com/charmbracelet/colorprofile"
)

func TestTraits(t *testing.T) {
	for name, tc := range map[string]struct {
		env  []string
		want Traits
	}{
		"a modern terminal": {
			[]string{"TERM=xterm-256color", "COLORTERM=truecolor", "LANG=en_US.UTF-8"},
			Traits{Profile: colorprofile.TrueColor},
		},
		"tmux":                   {[]string{"TERM=tmux-256color", "LANG=C.utf8"}, Traits{Profile: colorprofile.ANSI256}},
		"16 colours":             {[]string{"TERM=xterm", "LANG=C.UTF-8"}, Traits{Profile: colorprofile.ANSI}},
		"no locale, as over SSH": {[]string{"TERM=xterm"}, Traits{Profile: colorprofile.ANSI}},
		"Latin-1":                {[]string{"TERM=xterm", "LANG=de_DE@euro"}, Traits{ASCII: true, Profile: colorprofile.ANSI}},
		"LC_ALL rules":           {[]string{"TERM=xterm", "LANG=C.UTF-8", "LC_ALL=C"}, Traits{ASCII: true, Profile: colorprofile.ANSI}},
		"the last one rules":     {[]string{"TERM=dumb", "TERM=xterm"}, Traits{Profile: colorprofile.ANSI}},
		"the Linux console":      {[]string{"TERM=linux", "LANG=C.UTF-8"}, Traits{Console: true, ASCII: true, Profile: colorprofile.ANSI}},
		"dumb":                   {[]string{"TERM=dumb", "LANG=C.UTF-8"}, Traits{Dumb: true, ASCII: true, Profile: colorprofile.NoTTY}},
		"no TERM":                {[]string{"LANG=C.UTF-8"}, Traits{Dumb: true, ASCII: true, Profile: colorprofile.NoTTY}},
		"NO_COLOR, any value":    {[]string{"TERM=xterm", "COLORTERM=truecolor", "NO_COLOR=no"}, Traits{Profile: colorprofile.ASCII}},
		"NO_COLOR, empty":        {[]string{"TERM=xterm", "NO_COLOR="}, Traits{Profile: colorprofile.ANSI}},
		"CLICOLOR=0":             {[]string{"TERM=xterm-256color", "CLICOLOR=0"}, Traits{Profile: colorprofile.ASCII}},
		"CLICOLOR=0, but forced": {[]string{"TERM=xterm-256color", "CLICOLOR=0", "CLICOLOR_FORCE=1"}, Traits{Profile: colorprofile.ANSI256}},
	} {
		if got := TraitsOf(tc.env); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}
