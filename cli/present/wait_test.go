package present

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramscope/cli/command"
	"vramscope/cli/render"
	"vramscope/headroom"
	"vramscope/internal/quantity"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// Outside of a terminal an answer that changes back and forth is written once a minute.
func TestWaitingLinesAreFew(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	p := &command.Program{Stderr: file, Now: func() time.Time { return now }}
	w := &waiting{
		program: p, status: command.Status{Program: p},
		question: headroom.Question{Need: 20 * quantity.GiB, Count: 1}, limit: time.Hour, began: now, signs: render.SignsFor(false),
		sampling: sampler.New(sampler.Options{}),
	}
	for second := range 600 {
		free := 15 * quantity.GiB
		if second%2 == 1 {
			free = 5 * quantity.GiB
		}
		if w.enough(snapshottest.Room(free, 9*quantity.GiB), 0) {
			t.Fatal("it fits")
		}
		now = now.Add(time.Second)
	}
	if !w.enough(snapshottest.Room(25*quantity.GiB, 0), 0) {
		t.Error("it does not fit")
	}
	content, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	if len(lines) < 9 || len(lines) > 10 || lines[0] != "vramscope: waiting, 1h left: after a flush: 20.0G fits on GPU 0; GPU 0 is 5.00G short" {
		t.Errorf("%d lines:\n%s", len(lines), content)
	}
	gone := snapshottest.Room(25*quantity.GiB, 0)
	gone.Driver.State = snapshot.DriverGone
	if w.enough(gone, 0) {
		t.Error("a driver that went away ends the wait")
	}
	w.answered = false
	if !w.enough(gone, 0) {
		t.Error("a driver that was never there is waited for")
	}
}
