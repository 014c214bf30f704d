package command

import (
	"os"
	"testing"

	"vramscope/internal/needs"
)

// TestRootsStateIsInOnePlace: root's daemon keeps its state in STATE_DIRECTORY, or else in BoxState. A
// directory of root's in XDG_STATE_HOME takes the audit log. Other commands ignore STATE_DIRECTORY.
func TestRootsStateIsInOnePlace(t *testing.T) {
	if os.Geteuid() != 0 {
		needs.Missing(t, "it is about root")
	}
	own := t.TempDir()
	for _, c := range []struct{ named, given, log, recordings string }{
		{"", "", "/var/lib/vramscope", "/var/lib/vramscope"},
		{"", "/srv/gpu", "/srv/gpu", "/srv/gpu"},
		{"", "/srv/gpu:/srv/other", "/srv/gpu", "/srv/gpu"},
		{"", "relative", "/var/lib/vramscope", "/var/lib/vramscope"},
		{own + "/", "", own + "/vramscope", "/var/lib/vramscope"},
		{own, "/srv/gpu", own + "/vramscope", "/srv/gpu"},
		{"relative", "", "/var/lib/vramscope", "/var/lib/vramscope"},
	} {
		t.Setenv("XDG_STATE_HOME", c.named)
		t.Setenv("STATE_DIRECTORY", c.given)
		p := &Program{Getenv: os.Getenv}
		if got := p.LogDirectory(); c.given != "" && c.named == "" && got != BoxState { // commands ignore STATE_DIRECTORY
			t.Errorf("%+v: a command takes the log from %s", c, got)
		}
		p.TakeState()
		if log, recordings := p.LogDirectory(), p.RecordingsOf(false); log != c.log || recordings != c.recordings {
			t.Errorf("%+v: the log in %s, recordings in %s", c, log, recordings)
		}
	}
}
