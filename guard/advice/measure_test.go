package advice

import (
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// settings returns all settings that advice names, with a figure if they have one.
func settings() (all []string) {
	collected, share, jax := collection(.5), fraction(.5), jaxFraction(.5)
	for _, m := range []*Measure{
		&expandable, &collected, &share, &jaxGrows, &jax, &tfGrows, &tfAsync,
		&checkpointing, &mixed, &saveOnCPU, &eightBit, &lazy, &higherLimit,
	} {
		all = append(all, m.Setting)
	}
	return all
}

// testdata/spelled.txt has the settings as the frameworks spell them. scripts/real-libraries compares it
// with the frameworks.
func TestSettingsAreSpelledAsTheFrameworksDo(t *testing.T) {
	content, err := os.ReadFile("testdata/spelled.txt")
	if err != nil {
		t.Fatal(err)
	}
	spelled := strings.Fields(string(content))
	for _, s := range settings() {
		if !slices.Contains(spelled, s) {
			t.Errorf("testdata/spelled.txt has no %q", s)
		}
	}
	if len(spelled) != len(settings()) {
		t.Errorf("%d settings are spelled, and there are %d", len(spelled), len(settings()))
	}
	// Apart from its figure, each setting that a story advises is one of these, unless it was replayed.
	figure := regexp.MustCompile(`[0-9]*\.?[0-9]+`)
	for _, c := range stories {
		b := newBox()
		c.set(b)
		for _, a := range b.advice() {
			if a.Setting != "" && b.Replayed == nil && !slices.ContainsFunc(spelled, func(s string) bool {
				return figure.ReplaceAllString(s, "N") == figure.ReplaceAllString(a.Setting, "N")
			}) {
				t.Errorf("%s advises %q, which is not among the settings", a.Rule, a.Setting)
			}
		}
	}
}

func TestSourcesAreAddresses(t *testing.T) {
	for _, c := range stories {
		b := newBox()
		c.set(b)
		for _, a := range b.advice() {
			if address, err := url.Parse(a.Source); err != nil || a.Source != "" && (address.Scheme != "https" || address.Host == "") {
				t.Errorf("%s: %q", a.Rule, a.Source)
			}
			if a.Setting != "" && a.Source == "" {
				t.Errorf("%s advises %s, and names no documentation", a.Rule, a.Setting)
			}
		}
	}
}
