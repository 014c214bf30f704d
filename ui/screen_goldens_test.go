package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/exp/golden"

	"vramscope/exporter"
	"vramscope/fleet"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/cell"
)

// TestScreens draws whole screens over size × glyphs × state, as text. -update accepts the present screens.
func TestScreens(t *testing.T) {
	sizes := [][2]int{{30, 3}, {40, 8}, {60, 11}, {80, 24}, {120, 40}, {200, 50}}
	states := boxes()
	for _, name := range []string{"drawn", "day-one", "sixteen", "driver", "past"} {
		for _, size := range sizes {
			for set, g := range map[string]cell.Glyphs{"unicode": cell.UnicodeGlyphs(), "ascii": cell.ASCIIGlyphs()} {
				if set == "ascii" && size[0] != 80 && size[0] != 60 {
					continue
				}
				t.Run(fmt.Sprintf("%s-%dx%d-%s", name, size[0], size[1], set), func(t *testing.T) {
					lk := drawnLook(t)
					lk.Glyphs = g
					compareScreen(t, states[name](size[0], size[1]), lk)
				})
			}
		}
	}
	t.Run("drawn-300x80-unicode", func(t *testing.T) { compareScreen(t, states["drawn"](300, 80), drawnLook(t)) })
}

// TestThemedScreens draws one screen over theme × kind of terminal, with its escape sequences.
func TestThemedScreens(t *testing.T) {
	for _, c := range []struct {
		theme   string
		dark    bool
		profile colorprofile.Profile
	}{
		{"dark", true, colorprofile.TrueColor}, {"light", false, colorprofile.TrueColor},
		{"high-contrast", true, colorprofile.TrueColor}, {"high-contrast", false, colorprofile.TrueColor},
		{"colorblind", true, colorprofile.TrueColor}, {"terminal", true, colorprofile.TrueColor},
		{"vramscope", true, colorprofile.ANSI256}, {"vramscope", true, colorprofile.ANSI}, {"vramscope", true, colorprofile.ASCII},
	} {
		for _, size := range [][2]int{{80, 24}, {40, 8}} {
			ground := map[bool]string{true: "dark", false: "light"}[c.dark]
			t.Run(fmt.Sprintf("%s-%s-%s-%dx%d", c.theme, ground, c.profile, size[0], size[1]), func(t *testing.T) {
				compareScreen(t, boxes()["drawn"](size[0], size[1]), lookOf(t, c.theme, c.dark, c.profile, cell.UnicodeGlyphs()))
			})
		}
	}
}

func compareScreen(t *testing.T, st *state, lk *cell.Appearance) {
	t.Helper()
	lines := frame(st, lk)
	checkFrame(t, t.Name(), lines, st.width, st.height)
	golden.RequireEqual(t, strings.Join(lines, "\n")+"\n")
}

// engine fakes a Prometheus that has scraped the exporter of one box, whose used memory has grown for an hour.
type engine struct {
	box    *snapshot.Snapshot
	mu     sync.Mutex
	closed bool
}

func (e *engine) set(closed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = closed
}

func (e *engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		http.Error(w, "", http.StatusServiceUnavailable)
		return
	}
	x := exporter.New(exporter.Options{Version: "1.2.3", ProcessLabels: metric.ProcessLabels(), Processes: 16, Now: func() time.Time { return e.box.Time }})
	x.Observe(e.box, nil, nil)
	scraped := httptest.NewRecorder()
	x.Handler().ServeHTTP(scraped, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	past := strings.HasSuffix(r.URL.Path, "/query_range")
	result := []map[string]any{}
	for _, m := range seriesLine.FindAllStringSubmatch(scraped.Body.String(), -1) {
		name, value := m[1], m[3]
		labels := map[string]string{"__name__": name, "instance": "h100-03:9841"}
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			labels[l[1]] = l[2]
		}
		if !past {
			result = append(result, map[string]any{"metric": labels, "value": sample(e.box.Time, value)})
		} else if name == "vramscope_gpu_memory_used_bytes" {
			values := [][]any{sample(e.box.Time.Add(-time.Hour), "1e9"), sample(e.box.Time, value)}
			result = append(result, map[string]any{"metric": labels, "values": values})
		}
	}
	kind := map[bool]string{false: "vector", true: "matrix"}[past]
	_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": kind, "result": result}})
}

// A line of the exporter, and a label of a line. No value has a quote.
var (
	seriesLine = regexp.MustCompile(`(?m)^(\w+)(?:\{(.*)\})? (\S+)$`)
	label      = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

func sample(at time.Time, value string) []any { return []any{float64(at.UnixMilli()) / 1000, value} }

// TestOpenedBoxGoldens: a box of a fleet is drawn while its engine answers, and after the engine has stopped.
func TestOpenedBoxGoldens(t *testing.T) {
	e := &engine{box: snapshottest.DrawnBox()}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	source, _, err := fleet.NewPrometheus(server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	box, err := fleet.Open(t.Context(), source, "h100-03:9841", 10*time.Millisecond, func() time.Time { return e.box.Time })
	if err != nil {
		t.Fatal(err)
	}
	var passed time.Duration
	m := newTestModel(t, box.Latest(), func(o *Options) {
		o.Source, o.Sampling, o.History, o.Theme = box, nil, box, "mono"
		o.Now = func() time.Time { return box.Now().Add(passed) }
		o.ReadOnly, o.Escaped = true, func() {}
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { box.Run(ctx) })
	defer func() { cancel(); running.Wait() }()
	show := func(name string, enough func() bool) {
		t.Helper()
		for end := time.Now().Add(journeyTimeout); !enough(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("never: %s", name)
			}
		}
		m.tick(box.Latest())
		t.Run(name, func(t *testing.T) { golden.RequireEqual(t, m.screen()+"\n") })
		passed = 30 * time.Second
	}
	show("open", func() bool { oldest, newest := box.Span(); return newest.Sub(oldest) == time.Hour })
	e.set(true)
	show("engine-gone", func() bool {
		alerts := box.Latest().Alerts
		return len(alerts) > 0 && strings.HasPrefix(alerts[0].Message, "no newer figures")
	})
}
