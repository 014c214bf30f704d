package cli

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"vramscope/headroom"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/schema"
)

const gib = quantity.GiB

func bytesOf(b quantity.Bytes) snapshot.Bytes { return quantity.From(b, quantity.Driver) }

// remembers is a history in which every row has had the same peak.
type remembers struct {
	snapshot.History
	peak quantity.Bytes // of what was allocated
}

func (r remembers) Span() (oldest, newest time.Time) { return time.Time{}, time.Time{} }

func (r remembers) Series(snapshot.SeriesKey, time.Time, time.Time, int) []snapshot.Point {
	return []snapshot.Point{{Max: int64(r.peak), Known: true}}
}

// room is a box with a GPU of 79 GiB, of which so much is free, and a process with
// a probe, of which a flush frees so much.
func room(free, returns quantity.Bytes) *snapshot.Snapshot {
	snap := &snapshot.Snapshot{Host: snapshot.Host{Name: "h100-03", User: "alice"}, Driver: snapshot.Driver{State: snapshot.DriverOK}}
	snap.GPUs = []snapshot.GPU{{
		Index: 0, UUID: "GPU-0", Name: "NVIDIA H100 80GB HBM3", State: snapshot.GPUOK,
		Memory: snapshot.Memory{Total: bytesOf(80 * gib), Used: bytesOf(79*gib - free), Free: bytesOf(free), Reserved: bytesOf(gib)},
	}}
	snap.Rows = []snapshot.Process{{
		ID:   snapshot.RowID{Process: process.Identity{PID: 100, StartTime: 1, Namespace: 1}, GPUUUID: "GPU-0"},
		User: "bob", Used: bytesOf(30 * gib), Allocated: bytesOf(5 * gib), Cached: bytesOf(returns), Returnable: bytesOf(returns),
		Probe: &snapshot.Probe{State: snapshot.ProbeLive},
	}}
	return snap
}

func TestHeadroomNow(t *testing.T) {
	for _, c := range []struct {
		name          string
		free, returns quantity.Bytes
		change        func(*snapshot.Snapshot)
		want          headroom.Verdict
		short         quantity.Bytes
		why           string
	}{
		{"just enough", 20 * gib, 0, nil, headroom.Yes, 0, ""},
		{"a byte short", 20*gib - 1, 0, nil, headroom.No, 1, "1B short"},
		{"after a flush", 15 * gib, 5 * gib, nil, headroom.AfterFlush, 5 * gib, "flush 100 (bob, 5.00G)"},
		{"not even then", 15 * gib, 4 * gib, nil, headroom.No, 5 * gib, "5.00G short, also after a flush of 100 (bob, 4.00G)"},
		{"a probe that is silent", 15 * gib, 9 * gib, func(s *snapshot.Snapshot) { s.Rows[0].Probe.State = snapshot.ProbeSilent }, headroom.No, 5 * gib, "5.00G short"},
		{"a probe that claims too much", 15 * gib, 9 * gib, func(s *snapshot.Snapshot) { s.Rows[0].Probe.Mismatch = true }, headroom.No, 5 * gib, "5.00G short"},
		{"another container's", 15 * gib, 9 * gib, func(s *snapshot.Snapshot) { s.Rows[0].ID.Process.StartTime = 0 }, headroom.No, 5 * gib, "5.00G short"},
		{"caches, by its word", 15 * gib, 4 * gib, func(s *snapshot.Snapshot) {
			s.Rows[0].Evictable = []snapshot.Evictable{{Name: "kv", Bytes: bytesOf(3 * gib)}, {Name: "loader"}}
		}, headroom.No, 5 * gib, "5.00G short, also after a flush of 100 (bob, 4.00G, and by its word 3.00G with --level selective)"},
		{"a pool", 15 * gib, 9 * gib, func(s *snapshot.Snapshot) {
			s.Rows[0].Allocators = []snapshot.Allocator{{Kind: "cuda_pool", Basis: "post_flush", Cached: bytesOf(gib)}}
		}, headroom.AfterFlush, 5 * gib, "flush 100 (bob, about 9.00G)"},
		{"lost", 40 * gib, 0, func(s *snapshot.Snapshot) { s.GPUs[0].State = snapshot.GPULost }, headroom.Unknown, 0, "lost"},
		{"unknown", 40 * gib, 0, func(s *snapshot.Snapshot) { s.GPUs[0].Memory = snapshot.Memory{Total: bytesOf(80 * gib)} }, headroom.Unknown, 0, "the driver does not report what is free"},
		{"free is unknown, used is not", 40 * gib, 0, func(s *snapshot.Snapshot) { s.GPUs[0].Memory.Free = snapshot.Bytes{} }, headroom.Yes, 0, ""},
		{"MIG without instances", 40 * gib, 0, func(s *snapshot.Snapshot) { s.GPUs[0].MIG = true }, headroom.No, 20 * gib, "it is cut for MIG, and has no instance"},
		{"a hostile name", 15 * gib, 9 * gib, func(s *snapshot.Snapshot) { s.Rows[0].User = "\x1b[2Jbob" }, headroom.AfterFlush, 5 * gib, "flush 100 (?[2Jbob, 9.00G)"},
	} {
		snap := room(c.free, c.returns)
		if c.change != nil {
			c.change(snap)
		}
		r := headroom.Judge(snap, remembers{peak: 50 * gib}, headroom.Question{Need: 20 * gib, Count: 1})
		h := &r.Places[0]
		if r.Answer != c.want || h.Verdict != c.want || h.Short != c.short || headroomWhy(h) != c.why {
			t.Errorf("%s: %s, %s, %v short, %q; want %s, %v, %q", c.name, r.Answer, h.Verdict, h.Short, headroomWhy(h), c.want, c.short, c.why)
		}
		if h.Low != nil {
			t.Errorf("%s: there is a low point without --for: %+v", c.name, h.Low)
		}
	}
}

// The answer for several GPUs follows from the verdict of each.
func TestHeadroomOnSeveral(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 11))
	for range 2000 {
		snap := snapshottest.DrawnBox()
		q := headroom.Question{Need: quantity.Bytes(random.Int64N(int64(80 * gib))), Count: 1 + random.IntN(5)}
		r := headroom.Judge(snap, remembers{}, q)
		if len(r.Places) != 10 { // seven GPUs, and three instances of GPU 5
			t.Fatalf("%d places", len(r.Places))
		}
		yes, flush := len(r.On(headroom.Yes)), len(r.On(headroom.AfterFlush))
		want := headroom.No
		switch {
		case yes >= q.Count:
			want = headroom.Yes
		case yes+flush >= q.Count:
			want = headroom.AfterFlush
		}
		if r.Answer != want {
			t.Fatalf("%v on %d: %d fit, %d after a flush: %s, want %s", q.Need, q.Count, yes, flush, r.Answer, want)
		}
		for i := range r.Places {
			h := &r.Places[i]
			free, back := h.Free.Or(0), h.Returnable.Or(0)
			switch h.Verdict {
			case headroom.Yes:
				if free < q.Need || h.Short != 0 {
					t.Fatalf("%+v headroom.Yes with %v free", h, free)
				}
			case headroom.AfterFlush:
				if free >= q.Need || free+back < q.Need || len(h.Flushable) == 0 {
					t.Fatalf("%+v fits after a flush with %v free", h, free)
				}
			case headroom.No:
				if free+back >= q.Need || h.Short != q.Need-free {
					t.Fatalf("%+v does not fit with %v free", h, free)
				}
			}
		}
		if text := headroomText(&r, glyphsFor(true), 0); !strings.Contains(text, headroomSentence(&r)) || strings.ContainsFunc(text, func(c rune) bool { return c > 0x7e }) {
			t.Fatalf("the text is %q", text)
		}
	}
}

func TestHeadroomNamesNoMoreProcessesThanNeeded(t *testing.T) {
	snap := room(10*gib, 6*gib)
	for pid := 101; pid < 106; pid++ {
		other := snap.Rows[0]
		other.ID.Process.PID = pid
		other.Returnable = bytesOf(quantity.Bytes(pid-100) * gib)
		snap.Rows = append(snap.Rows, other)
	}
	for need, want := range map[quantity.Bytes]string{
		16 * gib: "flush 100 (bob, 6.00G)",
		17 * gib: "flush 100 (bob, 6.00G), 105 (bob, 5.00G)",
		30 * gib: "flush 100 (bob, 6.00G), 105 (bob, 5.00G), 104 (bob, 4.00G) and 3 more",
	} {
		r := headroom.Judge(snap, remembers{}, headroom.Question{Need: need, Count: 1})
		if got := headroomWhy(&r.Places[0]); got != want {
			t.Errorf("%v: %q, want %q", need, got, want)
		}
	}
}

func TestHeadroomJSON(t *testing.T) {
	snap := snapshottest.DrawnBox()
	r := headroom.Judge(snap, remembers{}, headroom.Question{Need: 20 * gib, Count: 2})
	content, err := schema.Encode(headroomDocument(&r))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Schema   string
		Headroom struct {
			Need   int64 `json:"need_bytes"`
			For    *float64
			Answer string
			Places []struct {
				GPU      int
				Instance *int `json:"gpu_instance"`
				UUID     string
				Verdict  string
				Free     *int64 `json:"free_bytes"`
				Short    *int64 `json:"short_bytes"`
				Low      *struct{}
			}
		}
	}
	if err := json.Unmarshal(content, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != schema.Version || doc.Headroom.Need != 20<<30 || doc.Headroom.For != nil || doc.Headroom.Answer != string(r.Answer) || len(doc.Headroom.Places) != 10 {
		t.Fatalf("%s", content)
	}
	for i, p := range doc.Headroom.Places {
		h := &r.Places[i]
		if p.UUID != h.UUID() || p.Verdict != string(h.Verdict) || (p.Instance != nil) != (h.Instance != nil) || p.Low != nil ||
			(p.Short == nil) != (h.Verdict == headroom.Unknown) || (p.Free == nil) != !h.Free.Known() {
			t.Errorf("place %s: %+v", h.Label, p)
		}
	}
}

// TestHeadroomDocumentationNamesEveryField: docs/headroom.md cannot forget one.
func TestHeadroomDocumentationNamesEveryField(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "docs", "headroom.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range fieldsOf(reflect.TypeFor[schema.HeadroomDocument](), nil) {
		if !strings.Contains(string(content), "`"+field+"`") {
			t.Errorf("docs/headroom.md does not document %q", field)
		}
	}
}
