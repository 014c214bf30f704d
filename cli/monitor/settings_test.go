package monitor

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/ui"
)

// TestSetupIsWritten: the next run starts with what the setup has set.
func TestSetupIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte("# mine\n[daemon]\nrecord = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &command.Program{Getenv: os.Getenv}
	p.AddGlobalFlags(pflag.NewFlagSet("", pflag.ContinueOnError))
	p.Flags.Config = path
	want := ui.Settings{Theme: "mono", Interval: 2 * time.Second, Sort: "PID", Reversed: true, Lines: true, Window: 30 * time.Minute, Mouse: true, Columns: []string{"PID", "USED"}}
	if _, err := saveSettings(p, want); err != nil {
		t.Fatal(err)
	}
	s, err := p.Settings()
	if err != nil {
		t.Fatal(err)
	}
	got := ui.Settings{Theme: s.Theme, Interval: s.Interval, Sort: s.Sort, Reversed: s.Reversed, Lines: s.GraphStyle == config.Lines, Window: s.GraphWindow, Mouse: s.Mouse, Bell: s.Bell, Columns: s.Columns}
	if !reflect.DeepEqual(got, want) || !s.Record {
		t.Errorf("the file sets %+v, want %+v", s, want)
	}
}
