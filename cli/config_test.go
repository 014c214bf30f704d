package cli

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"vramscope/cli/command"
	"vramscope/cli/config"
	columns "vramscope/ui/table"
)

func TestDefaultConfigurationFile(t *testing.T) {
	golden.RequireEqual(t, config.DefaultFile())
}

func TestRefusedConfigurationIsAUsageError(t *testing.T) {
	p := &command.Program{Getenv: os.Getenv}
	root(p)
	p.Flags.Config = filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(p.Flags.Config, []byte("them = \"dark\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var f *command.Failure
	if _, err := p.Settings(); !errors.As(err, &f) || f.Code != command.ExitUsage || len(f.Next) != 1 {
		t.Errorf("it says %v", err)
	}
}

// TestColumnsOfTheConfiguration: the file accepts the names of all the monitor's columns, and sorts
// by those that can be sorted.
func TestColumnsOfTheConfiguration(t *testing.T) {
	var names []string
	for _, c := range columns.Columns() {
		names = append(names, c.Name)
		s := config.Defaults()
		set := func(key, text string) error {
			options := config.Options(&s)
			return options[slices.IndexFunc(options, func(o config.Option) bool { return o.Key == key })].Set(text)
		}
		if err := set("sort", c.Name); (err != nil) != slices.Contains([]string{"BAR", "TREND", "LAST 10m"}, c.Name) { // drawings have no order
			t.Errorf("sort = %q: %v", c.Name, err)
		}
		if err := set("columns", c.Name); err != nil {
			t.Errorf("columns = [%q]: %v", c.Name, err)
		}
	}
	options := config.Options(&config.Settings{})
	at := slices.IndexFunc(options, func(o config.Option) bool { return o.Key == "columns" })
	if comment := strings.ReplaceAll(options[at].Comment, "\n", " "); !strings.Contains(comment, strings.Join(names, ", ")) {
		t.Errorf("the columns are %v, the comment says\n%s", names, comment)
	}
}
