package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/fleet"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// hostile is the output of an exporter that sets labels of other boxes, and labels with harmful text,
// as honor_labels allows.
const hostile = `vramscope_host_info{host="h\n\x1b[2J",simulated="false",instance="-oProxyCommand=touch /tmp/x"} 1
vramscope_gpu_memory_used_bytes{gpu="0",uuid="GPU-bad\"|.*",instance="-oProxyCommand=touch /tmp/x"} 9e9
vramscope_gpu_memory_total_bytes{gpu="0",uuid="GPU-bad\"|.*",instance="-oProxyCommand=touch /tmp/x"} 1e10
vramscope_gpu_info{gpu="0",uuid="GPU-bad\"|.*",name="evil \x1b]0;x\x07",instance="-oProxyCommand=touch /tmp/x"} 1
vramscope_gpu_memory_free_bytes{gpu="0",uuid="GPU-bad\"|.*",instance="-oProxyCommand=touch /tmp/x"} NaN
`

// withClock returns a box with one GPU whose last sample is of the time that at returns.
func withClock(uuid string, at func() float64) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "%s %f\n", metric.ExportTable[metric.LastSample].Name, at())
		for _, figure := range []string{"used", "total"} {
			_, _ = fmt.Fprintf(w, "vramscope_gpu_memory_%s_bytes{gpu=\"0\",uuid=%q} 8e9\n", figure, uuid)
		}
	}
}

// aheadUntil returns how far the jobs must be ahead so that a GPU will be full in about the time left.
func aheadUntil(t *testing.T, number, index int, left time.Duration) time.Duration {
	t.Helper()
	for ahead := time.Duration(0); ahead < leakTime; ahead += 5 * time.Second {
		if g, _ := gpuAt(number, index, time.Now().Add(ahead)); g.FullIn != nil && (g.FullIn.Median-left).Abs() < 10*time.Second {
			return ahead
		}
	}
	t.Fatal("the leak never fills its GPU")
	return 0
}

// fleetOf serves simulated boxes, other projects' exporters, and boxes with faults.
func fleetOf(t *testing.T) (server string, paths []string) {
	t.Helper()
	f := &simulated{boxes: 100, gpus: 8, now: time.Now, ahead: aheadUntil(t, 3, 3, 5*time.Minute), modes: map[int]mode{5: modeDown}}
	mux := http.NewServeMux()
	mux.Handle("/", f)
	mux.HandleFunc("/twin/metrics", func(w http.ResponseWriter, r *http.Request) { r.URL.Path = "/box-0001/metrics"; f.ServeHTTP(w, r) })
	mux.HandleFunc("/hostile/metrics", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, strings.ReplaceAll(strings.ReplaceAll(hostile, `\x1b`, "\x1b"), `\x07`, "\x07"))
	})
	mux.HandleFunc("/ahead/metrics", withClock("GPU-ahead", func() float64 { return float64(time.Now().UnixMilli())/1000 + 3600 }))
	mux.HandleFunc("/stopped/metrics", withClock("GPU-stopped", func() float64 { return 1e9 }))
	mux.HandleFunc("/seldom/metrics", func(w http.ResponseWriter, _ *http.Request) { // this box samples once a minute
		_, _ = fmt.Fprintf(w, "%s 60\n%s %d\n", metric.ExportTable[metric.SampleInterval].Name, metric.ExportTable[metric.LastSample].Name, time.Now().Unix()-90)
	})
	for _, name := range []string{"dcgm-exporter", "dcgm-exporter-hostname", "nvidia_gpu_exporter"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "fleet", "testdata", name+".prom"))
		if err != nil {
			t.Fatal(err)
		}
		mux.HandleFunc("/"+name+"/metrics", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) })
		paths = append(paths, name)
	}
	s := httptest.NewServer(mux)
	s.Config.ErrorLog = nil
	t.Cleanup(s.Close)
	for _, n := range []int{0, 1, 2, 3, 4, 5, 6, 7} {
		paths = append(paths, boxName(n))
	}
	return strings.TrimPrefix(s.URL, "http://"), append(paths, "twin", "hostile", "ahead", "stopped", "seldom")
}

// look asks until enough accepts the answer.
func look(t *testing.T, source fleet.Source, q fleet.Query, enough func(*fleet.Picture) bool) *fleet.Picture {
	t.Helper()
	var last *fleet.Picture
	var err error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if last, err = source.Look(t.Context(), q); err == nil && enough(last) {
			fleet.Order(last.Lines, q.Sort)
			return last
		}
	}
	if last != nil {
		for i := range last.Lines {
			l := &last.Lines[i]
			t.Logf("%q %d %s %s %s %v", l.Name(), l.GPU.Index, l.StateWord(), l.Why, l.Alert, l.GPU.Memory.Used)
		}
		t.Logf("%q", last.Problems)
	}
	t.Fatalf("never enough: %v", err)
	return nil
}

func find(pic *fleet.Picture, name string, index int) *fleet.Line {
	i := slices.IndexFunc(pic.Lines, func(l fleet.Line) bool { return l.Name() == name && (l.GPU.Index == index) })
	if i < 0 {
		return nil
	}
	return &pic.Lines[i]
}

func says(pic *fleet.Picture, words string) bool {
	return slices.ContainsFunc(pic.Problems, func(p string) bool { return strings.Contains(p, words) })
}

// TestAFleetInARealPrometheus checks lines, sums, filters, one box and its past, other projects'
// exporters, duplicates, hostile labels and clocks that differ.
func TestAFleetInARealPrometheus(t *testing.T) {
	t.Parallel()
	server, paths := fleetOf(t)
	url, stop, start := engine(t, server, paths, time.Second, "")
	source, _, err := fleet.NewPrometheus(url, "")
	if err != nil {
		t.Fatal(err)
	}
	all := fleet.Query{Lines: 500, Unit: fleet.GPUs}
	pic := look(t, source, all, func(p *fleet.Picture) bool {
		return find(p, "box-0003", 3) != nil && find(p, "node-1", 2) != nil && find(p, "node-2", 1) != nil && find(p, "nvidia_gpu_exporter", 0) != nil &&
			find(p, "box-0005", -1) != nil && find(p, "stopped", -1) != nil && find(p, "box-0007", 6) != nil && says(p, "clock of ahead") && len(p.Lines) > 60
	})
	if l := &pic.Lines[0]; l.Name() != "box-0003" || l.GPU.Index != 3 || l.Alert != snapshot.AlertFullIn || l.GPU.FullIn == nil || l.GPU.FullIn.Median < 3*time.Minute || l.Program != "dlrm.py" || l.User == "" {
		t.Errorf("the worst is %+v", l)
	}
	if l := find(pic, "box-0005", -1); l.State != fleet.Down {
		t.Errorf("a box that is down: %+v", l)
	}
	stands := slices.DeleteFunc(slices.Clone(pic.Lines), func(l fleet.Line) bool { return l.Box != "stopped:9841" })
	if l := find(pic, "stopped", -1); l.State != fleet.Stopped || !strings.Contains(l.Why, "old") || len(stands) != 1 {
		t.Errorf("a box that stands still: %+v", l)
	}
	if find(pic, "seldom", -1) != nil || says(pic, "clock of seldom") {
		t.Errorf("a box that samples once a minute: %q", pic.Problems)
	}
	if l := find(pic, "box-0007", 6); l.GPU.State != snapshot.GPULost || l.GPU.Memory.Used.Known() {
		t.Errorf("a lost GPU: %+v", l)
	}
	t.Run("others' exporters", func(t *testing.T) { others(t, pic) })
	t.Run("twice", func(t *testing.T) {
		n := 0
		for _, l := range pic.Lines {
			if g, _ := gpuAt(1, 0, time.Now()); l.GPU.UUID == g.UUID {
				n++
			}
		}
		if n != 1 {
			t.Errorf("a GPU that two exporters report has %d lines", n)
		}
	})
	t.Run("hostile", func(t *testing.T) {
		i := slices.IndexFunc(pic.Lines, func(l fleet.Line) bool { return strings.HasPrefix(l.Box, "-o") })
		if i < 0 {
			t.Fatal("it has no line")
		}
		if _, err := fleet.Destination(pic.Lines[i].Name()); err == nil {
			t.Errorf("ssh would get %q", pic.Lines[i].Name())
		}
		if pic.Lines[i].GPU.Memory.Free.Known() {
			t.Error("NaN is a figure")
		}
	})
	t.Run("a box with another exporter", func(t *testing.T) { foreignBox(t, source) })
	t.Run("totals", func(t *testing.T) { totals(t, source) })
	t.Run("filters", func(t *testing.T) { filters(t, source) })
	t.Run("one box", func(t *testing.T) { oneBox(t, source) })
	t.Run("boxes", func(t *testing.T) {
		pic := look(t, source, fleet.Query{Lines: 100, Fit: 5}, func(*fleet.Picture) bool { return true })
		l := find(pic, "box-0003", -1)
		if pic.Unit != fleet.Boxes || l == nil || l.GPUs != 8 || l.Alert != snapshot.AlertFullIn || l.GPU.Memory.Total.Or(0) != 8*totalMemory {
			t.Errorf("unit %d, %+v", pic.Unit, l)
		}
		if l := find(pic, "stopped", -1); l == nil || l.State != fleet.Stopped || l.GPU.Memory.Used.Known() {
			t.Errorf("a box that stands still: %+v", l)
		}
		if l := find(pic, "box-0007", -1); l == nil || l.Alert != snapshot.AlertLost {
			t.Errorf("a box with a lost GPU: %+v", l)
		}
	})
	t.Run("restarted", func(t *testing.T) { restarted(t, source, stop, start) })
}

func totals(t *testing.T, source fleet.Source) {
	sums, err := source.Totals(t.Context(), fleet.Query{Lines: 10})
	// 7 boxes of 8 GPUs, of which one GPU is lost; four GPUs of dcgm-exporter, one of nvidia_gpu_exporter, the hostile one, and
	// two with clocks of their own.
	if want := 7*8 - 1 + 4 + 1 + 1 + 2; err != nil || sums.GPUs.Or(0) != want {
		t.Errorf("%d GPUs, want %d: %v", sums.GPUs.Or(0), want, err)
	}
	if sums.Down.Or(0) != 1 || !sums.Memory.Used.Known() || !sums.Parts.Returnable.Known() || len(sums.Problems) > 0 {
		t.Errorf("%+v", sums)
	}
}

func filters(t *testing.T, source fleet.Source) {
	for words, right := range map[string]func(*fleet.Line) bool{
		"host=node":                func(l *fleet.Line) bool { return strings.HasPrefix(l.Name(), "node-") },
		"user=alice":               func(l *fleet.Line) bool { return l.User == "alice" },
		"alice box-0":              func(l *fleet.Line) bool { return l.User == "alice" && strings.HasPrefix(l.Name(), "box-0") },
		"user=zoe":                 nil,
		"box - 0 0 o x 00":         func(l *fleet.Line) bool { return strings.HasPrefix(l.Name(), "box-0") },
		"host=.* user=.+":          nil,
		"[ ( * \\ \" ' `":          nil,
		"(?i) $ ^ | ü \u200b \x01": nil,
		"state=lost":               func(l *fleet.Line) bool { return l.GPU.State == snapshot.GPULost },
		"state=down":               func(l *fleet.Line) bool { return l.State == fleet.Down || l.State == fleet.Stopped },
		`host=")or(up{x"`:          nil,
	} {
		f, err := fleet.ParseFilter(words)
		if err != nil {
			t.Fatal(err)
		}
		pic, err := source.Look(t.Context(), fleet.Query{Lines: 500, Unit: fleet.GPUs, Filter: f})
		if err != nil {
			t.Errorf("%s: %v", words, err)
			continue
		}
		matched := slices.DeleteFunc(slices.Clone(pic.Lines), func(l fleet.Line) bool {
			return right != nil && right(&l) || l.State != fleet.OK && strings.Contains(words, "box-0")
		})
		if none := right == nil; len(matched) > 0 || none != (len(pic.Lines) == 0) || len(pic.Problems) > 0 && none {
			t.Errorf("%s: %d lines, among them %+v; %q", words, len(pic.Lines), matched, pic.Problems)
		}
		if sums, err := source.Totals(t.Context(), fleet.Query{Lines: 10, Filter: f}); err != nil || len(sums.Problems) > 0 || words == "alice box-0" && (sums.GPUs.Or(0) < 2 || sums.GPUs.Or(0) > 20) {
			t.Errorf("%s: %+v, %v", words, sums, err)
		}
	}
	for words, want := range map[string]int{"user=zoe": 0, "host=box-0007": 8, "host=box-0007 box": 8, "host=box-0005": 0} { // one GPU of 0007 is lost, and 0005 is down
		f, _ := fleet.ParseFilter(words)
		room, err := source.Room(t.Context(), fleet.RoomQuery{Need: 1, Count: 1, Boxes: 9, Filter: f})
		if err != nil || room.Matched != want || room.Judged != max(want-1, 0) || slices.Contains(room.Problems, "1 box does not answer") != (words == "host=box-0005") {
			t.Errorf("room, %s: %+v, %v", words, room, err)
		}
	}
	nearest(t, source)
	f, _ := fleet.ParseFilter("host=box-0")
	if sums, err := source.Totals(t.Context(), fleet.Query{Lines: 10, Filter: f}); err != nil || sums.Boxes.Or(0) != 9 || sums.Down.Or(0) != 1 {
		t.Errorf("box-0000 to box-0007, of which one is down, and the twin of one: %+v, %v", sums, err)
	}
}

func oneBox(t *testing.T, source fleet.Source) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	box, err := fleet.Open(ctx, source, "box-0003:9841", 200*time.Millisecond, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	go box.Run(ctx)
	snap := box.Latest()
	if !snap.Simulated || snap.Host.Name != "box-0003" || len(snap.GPUs) != 8 || !snap.ProbeSeen || len(snap.Alerts) == 0 {
		t.Errorf("box-0003 is %+v", snap)
	}
	want, rows := gpuAt(3, 3, time.Now())
	g := snap.GPU(want.UUID)
	if g == nil || g.Index != 3 || g.FullIn == nil || !g.Temperature.Known() || g.Memory.Total.Or(0) != totalMemory {
		t.Fatalf("GPU 3 is %+v", g)
	}
	row := snap.Rows[slices.IndexFunc(snap.Rows, func(p snapshot.Process) bool { return p.ID.GPUUUID == want.UUID })]
	if row.User != rows[0].User || row.ProgramName() != "dlrm.py" || row.Runtime != "PyTorch" || row.GPU != 3 || !row.Allocated.Known() {
		t.Errorf("its process is %+v", row)
	}
	key := snapshot.SeriesKey{Metric: metric.Used, GPUUUID: want.UUID}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		now := box.Latest().Time
		known := 0
		for _, p := range box.Series(key, now.Add(-10*time.Second), now, 10) {
			if p.Known {
				known++
			}
		}
		if known >= 2 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it has no past")
		}
	}
	if _, ok := box.At(snap.Time.Add(-time.Second)); !ok {
		t.Error("no moment of its past")
	}
	for name, silent := range map[string]bool{"stopped:9841": true, "ahead:9841": false} {
		snap, err := source.Box(ctx, name, time.Time{})
		if err != nil || silent != slices.ContainsFunc(snap.Alerts, func(a snapshot.Alert) bool { return strings.HasPrefix(a.Message, "no newer figures") }) {
			t.Errorf("%s: %+v, %v", name, snap, err)
		}
	}
	if _, err := fleet.Open(ctx, source, "absent:1", time.Second, time.Now); err == nil {
		t.Error("a box that is not there opens")
	}
}

// nearest asks for room that no box has, and checks that the boxes that come nearest are named. A GPU
// that will soon be full has room now, but not for a request that lasts longer.
func nearest(t *testing.T, source fleet.Source) {
	f, _ := fleet.ParseFilter("host=box-0003")
	room := func(need quantity.Bytes, count int, horizons ...time.Duration) fleet.Room {
		r, err := source.Room(t.Context(), fleet.RoomQuery{Need: need, Count: count, Boxes: 9, Filter: f, Length: time.Duration(len(horizons)) * time.Minute, Horizons: horizons})
		if err != nil || r.Judged != 8 {
			t.Fatalf("%+v, %v", r, err)
		}
		return r
	}
	box, err := source.Box(t.Context(), "box-0003:9841", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	least := capacity
	for i := range box.GPUs {
		least = min(least, box.GPUs[i].Memory.Free.Or(0)+box.GPUs[i].Parts.Returnable.Or(0))
	}
	r := room(capacity+1, 8)
	if len(r.Nearest) != 1 || r.Nearest[0].GPUs != 0 || r.Nearest[0].Name != "box-0003" || max(r.Nearest[0].Short+least, capacity+1)-min(r.Nearest[0].Short+least, capacity+1) > quantity.GiB {
		t.Errorf("%+v; the least is %s", r, least)
	}
	if r := room(1, 9); len(r.Nearest) != 0 || r.Largest != 8 {
		t.Errorf("of 9 GPUs: %+v", r)
	}
	if now, later := room(2*quantity.GiB, 1), room(2*quantity.GiB, 1, 10*time.Minute); now.Now[0].GPUs != later.Now[0].GPUs+1 { // GPU 3 is full in 5 minutes
		t.Errorf("now %+v, for a while %+v", now, later)
	}
}
