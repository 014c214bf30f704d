package themes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// Names lists the themes in the order in which the theme key steps through them.
func Names() []string {
	return []string{"vramscope", "dark", "light", "high-contrast", "colorblind", "terminal", "mono"}
}

// Default is the theme if the user chooses none.
const Default = "vramscope"

// New resolves a theme for a terminal's colour profile; name "" is Default. dark chooses the variant of
// all themes except "dark" and "light". On a terminal with 16 colours every theme except "mono" is
// "terminal". Without colours (NO_COLOR) every theme is "mono".
func New(name string, dark bool, profile colorprofile.Profile) (Styles, error) {
	if name == "" {
		name = Default
	}
	if !slices.Contains(Names(), name) {
		return Styles{}, fmt.Errorf("themes: no theme %q: there are %s", name, strings.Join(Names(), ", "))
	}
	switch name {
	case "dark":
		dark = true
	case "light":
		dark = false
	}
	p := newPalette(profile)
	styles := p.theme(name, dark)
	if styles.AllocatedName = styles.Allocated; styles.Allocated.Lipgloss().GetForeground() == ansi.Blue {
		styles.AllocatedName = styles.Text
	}
	if styles.Veil[0] != (Style{}) {
		styles.joinAreas(p)
	}
	return styles, nil
}
