package ui

import (
	"slices"
	"strings"
	"testing"

	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/keys"
)

// TestNoKeyIsSilent: bound or not, a key changes the screen or says why not, unless it moves or ends something.
func TestNoKeyIsSilent(t *testing.T) {
	empty := snapshottest.DrawnBox()
	empty.Rows, empty.Ended, empty.Alerts = nil, nil, nil
	demo := snapshottest.DrawnBox()
	demo.Simulated = true
	for name, c := range map[string]struct {
		box    *snapshot.Snapshot
		change func(*Options)
		before []string
	}{
		"a box":       {snapshottest.DrawnBox(), nil, nil},
		"a demo":      {demo, nil, nil},
		"read-only":   {snapshottest.DrawnBox(), func(o *Options) { o.ReadOnly = true }, nil},
		"no process":  {empty, nil, nil},
		"a detail":    {snapshottest.DrawnBox(), nil, []string{"j", "enter"}},
		"a GPU page":  {snapshottest.DrawnBox(), nil, []string{"5", "i"}},
		"no driver":   {snapshottest.NoDriver(), nil, nil},
		"a recording": {snapshottest.DrawnBox(), func(o *Options) { o.Replay = true; o.History = snapshottest.History(snapshottest.DrawnBox()) }, nil},
	} {
		for i := range keys.New(keys.AllAbilities, false).All {
			for _, key := range keys.New(keys.AllAbilities, false).All[i].Keys() {
				quiet := []string{"esc", "up", "down", "k", "j", "pgup", "pgdown", "home", "end", "g", "G", "left", "right", "ctrl+l", "ctrl+z", "ctrl+c", "q", "f10", "ctrl+b", "ctrl+f", "w"}
				if slices.Contains(quiet, key) {
					continue
				}
				m := newTestModel(t, c.box, c.change)
				m.press(c.before...)
				before := m.screen()
				m.send(keyNamed(key))
				if m.screen() == before && !m.digits.open {
					t.Errorf("%s: %s does nothing and does not say why:\n%s", name, key, m.screen())
				}
			}
		}
	}
}

func TestKeysThatDoNothingSayWhy(t *testing.T) {
	demo := snapshottest.DrawnBox()
	demo.Simulated = true
	for key, want := range map[string]string{
		"a": "a demo: its processes are simulated, no probe can be attached", "A": "no guard runs", "b": "b has no function: ? lists the keys",
		"e": "a demo: its processes are simulated, they have no environment", "v": "v is for the detail: Enter shows it", "f7": "f7 has no function", ".": "this is the present",
		"U": "nothing is tagged", "L": "this is the present",
	} {
		m := newTestModel(t, demo, func(o *Options) { o.History = snapshottest.History(demo) })
		m.press(key)
		m.shows(want)
	}
	page := newTestModel(t, demo, nil)
	page.press("3", "i", "F")
	page.shows("F is for the list: Esc goes back to it")
	m := newTestModel(t, demo, nil)
	m.press("j", "enter", "/")
	m.shows("/ is for the list: Esc goes back to it")
	if strings.Contains(m.screen(), "find") {
		t.Error("the detail finds")
	}
}
