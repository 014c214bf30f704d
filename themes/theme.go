package themes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/colorprofile"
)

// Names lists the themes in the order in which a key walks through them.
func Names() []string {
	return []string{"vramscope", "dark", "light", "high-contrast", "colorblind", "terminal", "mono"}
}

// Default is the theme of whoever has not asked for one.
const Default = "vramscope"

// New resolves a theme for a terminal with so many colours. Themes that come
// in two halves follow dark, the terminal's ground; "dark" and "light" say it
// themselves. Where the terminal has 16 colours every theme is "terminal",
// where it has none (NO_COLOR) every one is "mono".
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
	styles.Name = name
	if styles.Ahead != (Style{}) {
		styles.joinAreas(p)
	}
	return styles, nil
}
