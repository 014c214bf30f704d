package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"vramscope/fleet"
	"vramscope/internal/bounded"
	"vramscope/internal/quantity"
)

// has holds the figures of a user or a job, computed from the simulated boxes themselves.
type has struct {
	used, allocated quantity.Bytes
	gpus, idle      int
	boxes           map[int]bool
}

// TestSharesAreTheUsersOwn compares the users and jobs that the fleet shows with those computed from
// the boxes, whose time stands still. It does so with the recorded series and without rules.
func TestSharesAreTheUsersOwn(t *testing.T) {
	t.Parallel()
	at := time.Now()
	f := &simulated{boxes: 6, gpus: 8, now: func() time.Time { return at }, modes: map[int]mode{}}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	users, jobs := map[string]*has{}, map[string]*has{}
	var paths []string
	for n := range f.boxes {
		paths = append(paths, boxName(n))
		snap := boxAt(n, f.gpus, at, 0)
		for i := range snap.Rows {
			p := &snap.Rows[i]
			for key, all := range map[string]map[string]*has{p.User: users, p.User + " " + p.Job.ID: jobs} {
				h := all[key]
				if h == nil {
					h = &has{boxes: map[int]bool{}}
					all[key] = h
				}
				h.used, h.allocated, h.gpus, h.boxes[n] = h.used+p.Used.Or(0), h.allocated+p.Allocated.Or(0), h.gpus+1, true // a GPU has one process
				if snap.GPU(p.ID.GPUUUID).Utilization.Or(1) == 0 {
					h.idle++
				}
			}
		}
	}
	for _, c := range []struct{ rules, queries string }{{shippedRules, fleet.Recorded}, {"", fleet.Raw}} {
		t.Run(c.queries, func(t *testing.T) {
			t.Parallel()
			url, _, _ := engine(t, strings.TrimPrefix(s.URL, "http://"), paths, time.Second, c.rules)
			evaluated(t, url, c.rules != "")
			all, _ := fleet.ParseFilter("host=box")
			for _, asked := range []struct {
				unit   fleet.Unit
				filter fleet.Filter
				want   map[string]*has
			}{{fleet.Users, nil, users}, {fleet.Jobs, nil, jobs}, {fleet.Users, all, users}, {fleet.Jobs, all, jobs}} {
				unit, want := asked.unit, asked.want
				source, _, err := fleet.NewPrometheus(url, "")
				if err != nil {
					t.Fatal(err)
				}
				pic := look(t, source, fleet.Query{Lines: 100, Unit: unit, Filter: asked.filter}, func(p *fleet.Picture) bool { return p.Queries == c.queries && len(p.Lines) == len(want) })
				for i := range pic.Lines {
					l := &pic.Lines[i]
					key := l.User
					if unit == fleet.Jobs {
						key += " " + l.Job
					}
					got := fmt.Sprint(l.GPU.Memory.Used.Or(0), l.GPU.Parts.Allocated.Or(0), l.GPUs, l.Idle.Or(-1), l.Boxes.Or(0), l.GPU.Memory.Total.Or(0))
					h := want[key]
					if h == nil || got != fmt.Sprint(h.used, h.allocated, h.gpus, h.idle, len(h.boxes), totalMemory*quantity.Bytes(h.gpus)) {
						t.Errorf("%s: %s, want %+v", key, got, h)
					}
				}
				if len(pic.Problems) > 0 {
					t.Errorf("%s: %q", unit.Word(), pic.Problems)
				}
			}
			source, _, err := fleet.NewPrometheus(url, "")
			if err != nil {
				t.Fatal(err)
			}
			alices, _ := fleet.ParseFilter("user=alice host=box")
			if sums, err := source.Totals(t.Context(), fleet.Query{Filter: alices}); err != nil || !sums.Own || sums.Memory.Used.Or(0) != users["alice"].used || sums.GPUs.Or(0) != users["alice"].gpus || len(sums.Problems) > 0 {
				t.Errorf("alice's sums: %+v, %v; want %+v", sums, err, users["alice"])
			}
			word, _ := fleet.ParseFilter("alice")
			if pic, err := source.Look(t.Context(), fleet.Query{Lines: 9, Unit: fleet.Users, Filter: word}); err != nil || len(pic.Lines) != 1 || pic.Lines[0].GPU.Memory.Used.Or(0) != users["alice"].used {
				t.Errorf("a word that is a user: %+v, %v", pic, err)
			}
		})
	}
}

// evaluated waits until an engine has evaluated its rules for all six boxes, and then for two seconds more.
func evaluated(t *testing.T, url string, rules bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); rules; time.Sleep(100 * time.Millisecond) {
		resp, err := http.Get(url + "/api/v1/query?query=count(instance:vramscope_memory_used:share)")
		if err == nil {
			body, _ := bounded.First(resp.Body, 1<<16)
			_ = resp.Body.Close()
			if rules = !strings.Contains(string(body), `"6"]`); !rules {
				time.Sleep(2 * time.Second)
			}
		}
		if time.Now().After(end) {
			t.Fatalf("the rules are not evaluated: %v", err)
		}
	}
}
