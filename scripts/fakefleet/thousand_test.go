package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/fleet"
	"vramscope/internal/needs"
	"vramscope/internal/quantity"
)

// shippedRules is the file of the rules that the documentation has users load.
const shippedRules = "../../contrib/prometheus/rules.yml"

// engine starts a real Prometheus that scrapes paths of a server, and returns when it has scraped each
// path once. stop stops it, and start starts it again.
func engine(t testing.TB, server string, paths []string, every time.Duration, rules string) (url string, stop, start func()) {
	t.Helper()
	program := needs.Tool(t, "prometheus")
	folder := t.TempDir()
	if err := writeConfiguration(folder, server, paths, every, rules); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "prometheus.yml")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	var cmd *exec.Cmd
	start = func() {
		cmd = exec.Command(program, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+address, "--log.level=error")
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	stop = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	start()
	t.Cleanup(func() { stop() })
	for end := time.Now().Add(90 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		resp, err := http.Get("http://" + address + "/api/v1/query?query=count(up)")
		if err == nil {
			body, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if strings.Contains(string(body), fmt.Sprintf(`"%d"]`, len(paths))) {
				return "http://" + address, stop, start
			}
		}
		if time.Now().After(end) {
			t.Fatalf("the engine does not scrape: %v", err)
		}
	}
}

// TestAThousandBoxes: all boxes are up, and the screen's queries are answered.
func TestAThousandBoxes(t *testing.T) {
	needs.Full(t)
	f := &simulated{boxes: 1000, gpus: 8, now: time.Now, modes: map[int]mode{}}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	var names []string
	for n := range f.boxes {
		names = append(names, boxName(n))
	}
	url, _, _ := engine(t, strings.TrimPrefix(s.URL, "http://"), names, 15*time.Second, shippedRules)
	source, _, err := fleet.NewPrometheus(url, "")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := source.Totals(t.Context(), fleet.Query{})
	if err != nil || sums.Boxes.Or(0) != 1000 || sums.Down.Or(-1) != 0 || sums.GPUs.Or(0) < 7900 || len(sums.Problems) > 0 {
		t.Errorf("%+v, %v", sums, err)
	}
	for range 3 {
		began := time.Now()
		pic, err := source.Look(t.Context(), fleet.Query{Lines: 55, Fit: 35})
		if err != nil || pic.Unit != fleet.Boxes || len(pic.Lines) < 55 || len(pic.Problems) > 0 {
			t.Fatalf("%+v, %v", pic, err)
		}
		t.Logf("%d lines of 1,000 boxes after %s", len(pic.Lines), time.Since(began).Round(time.Millisecond))
	}
	for words, boxes := range map[string]int{"host=5": 271, "box-0": 1000, "host=77": 19} { // 271 and 1000 are too many for a query to name each box (250), 19 are not
		f, _ := fleet.ParseFilter(words)
		q := fleet.Query{Lines: 55, Unit: fleet.GPUs, Filter: f}
		pic, err := source.Look(t.Context(), q)
		if err != nil || len(pic.Lines) < 55 || len(pic.Problems) > 0 || slices.ContainsFunc(pic.Lines, func(l fleet.Line) bool { return !strings.Contains(l.Name(), strings.TrimPrefix(words, "host=")) }) {
			t.Errorf("%s: %+v, %v", words, pic, err)
		}
		if sums, err := source.Totals(t.Context(), q); err != nil || sums.Boxes.Or(0) != boxes || sums.GPUs.Or(0) > 8*boxes || sums.GPUs.Or(0) < 7*boxes {
			t.Errorf("%s: %+v, %v", words, sums, err)
		}
	}
	room, err := source.Room(t.Context(), fleet.RoomQuery{Need: 20 * quantity.GiB, Count: 5, Boxes: 50})
	if err != nil || len(room.Now) == 0 || len(room.Now) > 50 || room.Judged < 7900 || room.Now[0].GPUs < 5 {
		t.Errorf("%+v, %v", room, err)
	}
}

// BenchmarkFirstLines measures the time from the start of the screen's client to its first lines about
// 1,000 boxes, with the recorded series and without rules (docs/fleet.md).
func BenchmarkFirstLines(b *testing.B) {
	f := &simulated{boxes: 1000, gpus: 8, now: time.Now, modes: map[int]mode{}}
	s := httptest.NewServer(f)
	b.Cleanup(s.Close)
	var names []string
	for n := range f.boxes {
		names = append(names, boxName(n))
	}
	for name, rules := range map[string]string{fleet.Recorded: shippedRules, fleet.Raw: ""} {
		url, stop, _ := engine(b, strings.TrimPrefix(s.URL, "http://"), names, 15*time.Second, rules)
		time.Sleep(20 * time.Second) // time for one more evaluation of the rules
		for _, unit := range []fleet.Unit{fleet.Boxes, fleet.GPUs, fleet.Users, fleet.Jobs} {
			b.Run(name+"/"+unit.Word(), func(b *testing.B) {
				var each []time.Duration
				for b.Loop() {
					began := time.Now()
					source, _, err := fleet.NewPrometheus(url, "")
					if err != nil {
						b.Fatal(err)
					}
					pic, err := source.Look(b.Context(), fleet.Query{Lines: 55, Fit: 35, Unit: unit})
					if err != nil || len(pic.Lines) < 10 || pic.Queries != name || len(pic.Problems) > 0 {
						b.Errorf("%+v, %v", pic, err)
					}
					each = append(each, time.Since(began))
				}
				slices.Sort(each)
				b.ReportMetric(float64(each[len(each)/2].Milliseconds()), "ms-median")
				b.ReportMetric(float64(each[len(each)-1].Milliseconds()), "ms-max")
			})
		}
		stop()
	}
}
