package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramscope/internal/guardlab/bed"
	"vramscope/internal/guardlab/story"
	"vramscope/internal/quantity"
)

func TestReplaceKeepsMarks(t *testing.T) {
	document := "before\n<!-- simulator -->\nold\n<!-- /simulator -->\nafter\n"
	got, err := replace(document, "new\n")
	if want := "before\n<!-- simulator -->\nnew\n<!-- /simulator -->\nafter\n"; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := replace("nothing", ""); err == nil {
		t.Error("marks that are not there are found")
	}
}

// The document has the tables that the command writes, for every story and policy.
func TestDocumentHasTheTables(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "guard.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "<!-- simulator -->")
	tables, _, closed := strings.Cut(rest, "<!-- /simulator -->")
	if !ok || !closed {
		t.Fatal("the document has no marks")
	}
	for _, s := range story.All() {
		if !strings.Contains(tables, s.Name) {
			t.Errorf("no %s", s.Name)
		}
	}
	for _, p := range bed.Policies() {
		if !strings.Contains(tables, "| "+p.Name+" |") {
			t.Errorf("no %s", p.Name)
		}
	}
}

func TestTablesHaveEveryStoryAndPolicy(t *testing.T) {
	m := measure(story.All(), bed.Policies(), seeds{100, 1}, usualCost, time.Minute)
	if got := strings.Count(m.details(), "\n"); got != 2+len(m.stories)*len(m.policies) {
		t.Errorf("%d lines of details", got)
	}
	all := m.policyTable() + m.storyTable() + m.quietTable()
	for _, s := range m.stories {
		if !strings.Contains(all, " "+s.Name+" |") {
			t.Errorf("no %s", s.Name)
		}
	}
}

// made returns the measurements of two seeds of one story, without a guard and with one.
func made(kind story.Kind, none, some score) *measured {
	return &measured{
		stories: []story.Story{{Name: "a", Kind: kind}}, policies: []bed.Policy{{Name: "none"}, {Name: "p"}}, seeds: seeds{0, 2},
		scores: [][][]score{{{none, none}, {some, some}}},
	}
}

func TestAimsAreJudged(t *testing.T) {
	base := score{hours: 1, important: 10, all: 10, work: 100 * time.Minute, others: 50 * time.Minute}
	good := score{hours: 1, important: 1, all: 3, work: 99 * time.Minute, others: 50 * time.Minute, flushes: 4, freed: quantity.GiB, busiest: .4}
	if got := made(story.Winnable, base, good).aims(); strings.Contains(got, "missed") || strings.Count(got, "held") != 4 {
		t.Errorf("all is held: %s", got)
	}
	bad := score{hours: 1, important: 2, all: 3, work: 97 * time.Minute, others: 40 * time.Minute, flushes: 90, busiest: 1.5}
	if got := made(story.Winnable, base, bad).aims(); strings.Count(got, "missed") != 3 || !strings.Contains(got, "1 -20.0 %") {
		t.Errorf("three are missed: %s", got)
	}
	if got := made(story.Unwinnable, base, bad).aims(); !strings.Contains(got, "a 90.0 an hour") {
		t.Errorf("it is not quiet: %s", got)
	}
	if share, low, high := made(story.Winnable, base, good).fewer(1); share != .9 || low != .9 || high != .9 {
		t.Errorf("%v (%v to %v) fewer", share, low, high)
	}
}

// There is a row for each policy and for each oracle whose name contains "give". The first row is
// for no guard.
func TestFloorsHaveThePlayers(t *testing.T) {
	got := floors(seeds{100, 1}, time.Minute, "give")
	if rows := strings.Count(got, "\n") - 2; rows != 7 || !strings.Contains(got, "| none |") || !strings.Contains(got, "| oracle: all give |") {
		t.Errorf("%d rows:\n%s", rows, got)
	}
}
