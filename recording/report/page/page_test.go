package page

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func known(n float64) snapshot.Float { return quantity.From(n, quantity.Computed) }

func size(n quantity.Bytes) snapshot.Bytes { return quantity.From(n*quantity.GiB, quantity.Driver) }

// small returns a report of two GPUs in which every name is the same.
func small(name string) *schema.Report {
	amount := &schema.ReportAmount{GiBHours: 40, Percent: known(50)}
	r := &schema.Report{
		Schema: schema.ReportVersion, Time: schema.Time(noon), Host: schema.Text(name), By: "gpu",
		Period: schema.ReportPeriod{From: schema.Time(noon), To: schema.Time(noon.Add(time.Hour)), Seconds: 3600, RecordedSeconds: 3000},
		Groups: []schema.ReportGroup{{Name: name, Processes: 1, GPUs: []int{0}, User: schema.Text(name), Job: schema.Text(name), WastedGiBHours: known(3)}},
		Comparison: &schema.ReportComparison{First: schema.ReportPeriod{From: schema.Time(noon), To: schema.Time(noon)},
			Lines: []schema.ReportCompared{{Name: "steps of " + name, Unit: "per_second", First: known(1)}}},
		Forecaster: schema.ReportForecaster{OtherAlerts: []schema.ReportAlertKind{{Kind: name, Count: 1}}},
	}
	for i, uuid := range []string{"GPU-a", "GPU-b"} {
		g := schema.ReportGPU{GPU: i, UUID: uuid, Name: schema.Text(name), CapacityBytes: size(80), Memory: schema.ReportMemory{Used: amount}}
		for m := range 50 {
			g.Timeline = append(g.Timeline, schema.ReportPoint{Time: schema.Time(noon.Add(time.Duration(m) * time.Minute)), RecordedSeconds: 60, UsedBytes: size(40), UsedMaxBytes: size(60), AllocatedBytes: size(20)})
		}
		r.GPUs = append(r.GPUs, g)
		for _, kind := range []string{"out_of_memory", "full_in", "flush", "gpu_lost"} {
			r.Events = append(r.Events, schema.ReportEvent{Time: schema.Time(noon.Add(time.Minute)), UUID: uuid, Kind: kind, Outcome: "hit", Process: schema.Text(name), Message: schema.Text(name)})
		}
	}
	return r
}

// Whatever name a process has, the page has the same elements as with harmless names, and no name
// becomes an attribute.
func TestHostileNamesAreText(t *testing.T) {
	elements := regexp.MustCompile(`<[a-zA-Z!/][^>]*>`)
	harmless := elements.FindAllString(Write(small("train")), -1)
	for _, name := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</style><script>`, `</title><svg onload=1>`,
		"\x1b[31mred\x1b[0m", "{{.CSS}}", "<!--", "javascript:alert(1)", "\u202egnp.exe", "a\x00b", strings.Repeat("<b>", 500),
	} {
		page := Write(small(name))
		got := elements.FindAllString(page, -1)
		if len(got) != len(harmless) {
			t.Errorf("%q: %d elements, want %d", name, len(got), len(harmless))
			continue
		}
		for i := range got {
			if got[i] != harmless[i] {
				t.Errorf("%q becomes %s, want %s", name, got[i], harmless[i])
			}
		}
		if strings.ContainsAny(page, "\x1b\x00\u202e") {
			t.Errorf("%q is written raw", name)
		}
	}
}

func TestThePageLoadsNothing(t *testing.T) {
	page := Write(small("train"))
	for _, never := range []string{"<script", "<link", "<img", "@import", "url(", "@font-face", "<iframe", " src=", " href=", "<base"} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %s", never)
		}
	}
	if rest := strings.NewReplacer("http://www.w3.org/2000/svg", "").Replace(page); strings.Contains(rest, "://") {
		t.Error("the page names an address")
	}
	for _, want := range []string{`default-src 'none'`, `width=device-width`, `prefers-color-scheme: dark`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
}

func TestSimulatedReportsAreLabelled(t *testing.T) {
	r := small("train")
	if strings.Contains(Write(r), "SIMULATED") {
		t.Error("a measured one is labelled")
	}
	r.Simulated = true
	if !strings.Contains(Write(r), ">SIMULATED<") {
		t.Error("a simulated one is not labelled")
	}
}

func TestChartsShowPartsGapsAndEvents(t *testing.T) {
	r := small("train")
	g := &r.GPUs[0]
	g.Timeline = append(g.Timeline[:10:10], g.Timeline[20:]...)
	drawn := drawGPU(g, &r.Period, r.Events)
	for class, want := range map[string]int{"part allocated": 2, "part unknown": 2, "part cached": 0, "peak": 2, "mark oom": 2, "mark flush": 2, "mark alert": 2, "mark lost": 2} {
		if n := strings.Count(drawn, `class="`+class); n != want {
			t.Errorf("%d of class %s, want %d", n, class, want)
		}
	}
	if strings.Contains(drawn, "style=") || strings.Contains(drawn, "92233720") {
		t.Errorf("what the style sheet does not know: %s", drawn)
	}
}

func TestChartsOfAnyShape(t *testing.T) {
	for name, change := range map[string]func(r *schema.Report){
		"nothing":     func(r *schema.Report) { r.GPUs[0].Timeline = nil },
		"one point":   func(r *schema.Report) { r.GPUs[0].Timeline = r.GPUs[0].Timeline[:1] },
		"no capacity": func(r *schema.Report) { r.GPUs[0].CapacityBytes = snapshot.Bytes{} },
		"no capacity, nothing used": func(r *schema.Report) {
			r.GPUs[0].CapacityBytes = snapshot.Bytes{}
			for i := range r.GPUs[0].Timeline {
				r.GPUs[0].Timeline[i] = schema.ReportPoint{Time: r.GPUs[0].Timeline[i].Time}
			}
		},
		"a minute":         func(r *schema.Report) { r.Period.To = schema.Time(noon.Add(time.Minute)) },
		"ten years":        func(r *schema.Report) { r.Period.To = schema.Time(noon.AddDate(10, 0, 0)) },
		"more than it has": func(r *schema.Report) { r.GPUs[0].CapacityBytes = size(1) },
	} {
		r := small("train")
		change(r)
		if drawn := drawGPU(&r.GPUs[0], &r.Period, r.Events); !strings.HasPrefix(drawn, "<svg") {
			t.Errorf("%s: %s", name, drawn)
		}
	}
}

func TestTicksAreRound(t *testing.T) {
	for length, want := range map[time.Duration]string{
		time.Hour: "12:15 12:30 12:45", 24 * time.Hour: "18:00 00:00 06:00", 3 * 24 * time.Hour: "21 00:00 21 12:00 22 00:00 22 12:00 23 00:00",
		30 * 24 * time.Hour: "Nov 27 Dec 4 Dec 11 Dec 18",
	} {
		var labels []string
		for _, tick := range timeTicks(noon, noon.Add(length)) {
			labels = append(labels, tick.label)
		}
		if got := strings.Join(labels, " "); got != want {
			t.Errorf("%s: %s, want %s", length, got, want)
		}
	}
}

// The style sheet has the main classes that the page uses.
func TestEveryClassHasAStyle(t *testing.T) {
	css, err := os.ReadFile("page.css")
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range append(parts[:], "oom", "alert", "flush", "lost", "peak", "grid", "axis", "canvas", "idle", "bar", "tile", "badge") {
		if !bytes.Contains(css, []byte("."+class)) {
			t.Errorf("no style for .%s", class)
		}
	}
}
