package headroom

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

func TestHeadroomNow(t *testing.T) {
	for _, c := range []struct {
		name          string
		free, returns quantity.Bytes
		change        func(*snapshot.Snapshot)
		want          Verdict
		short         quantity.Bytes
		why           string
	}{
		{"just enough", 20 * gib, 0, nil, Yes, 0, ""},
		{"a byte short", 20*gib - 1, 0, nil, No, 1, "1B short"},
		{"after a flush", 15 * gib, 5 * gib, nil, AfterFlush, 5 * gib, "flush 100 (bob, 5.00G)"},
		{"not even then", 15 * gib, 4 * gib, nil, No, 5 * gib, "5.00G short, also after a flush of 100 (bob, 4.00G)"},
		{"a probe that is silent", 15 * gib, 9 * gib, func(s *snapshot.Snapshot) { s.Rows[0].Probe.State = snapshot.ProbeSilent }, No, 5 * gib, "5.00G short"},
		{"a probe that claims too much", 15 * gib, 9 * gib, func(s *snapshot.Snapshot) { s.Rows[0].Probe.Mismatch = true }, No, 5 * gib, "5.00G short"},
		{"another container's", 15 * gib, 9 * gib, func(s *snapshot.Snapshot) { s.Rows[0].ID.Process.StartTime = 0 }, No, 5 * gib, "5.00G short"},
		{"caches, by its word", 15 * gib, 4 * gib, func(s *snapshot.Snapshot) {
			s.Rows[0].Evictable = []snapshot.Evictable{{Name: "kv", Bytes: bytesOf(3 * gib)}, {Name: "loader"}}
		}, No, 5 * gib, "5.00G short, also after a flush of 100 (bob, 4.00G, and by its word 3.00G with --level selective)"},
		{"a pool", 15 * gib, 9 * gib, func(s *snapshot.Snapshot) {
			s.Rows[0].Allocators = []snapshot.Allocator{{Kind: "cuda_pool", Basis: "post_flush", Cached: bytesOf(gib)}}
		}, AfterFlush, 5 * gib, "flush 100 (bob, about 9.00G)"},
		{"lost", 40 * gib, 0, func(s *snapshot.Snapshot) { s.GPUs[0].State = snapshot.GPULost }, Unknown, 0, "lost"},
		{"unknown", 40 * gib, 0, func(s *snapshot.Snapshot) { s.GPUs[0].Memory = snapshot.Memory{Total: bytesOf(80 * gib)} }, Unknown, 0, "the driver does not report what is free"},
		{"free is unknown, used is not", 40 * gib, 0, func(s *snapshot.Snapshot) { s.GPUs[0].Memory.Free = snapshot.Bytes{} }, Yes, 0, ""},
		{"MIG without instances", 40 * gib, 0, func(s *snapshot.Snapshot) { s.GPUs[0].MIG = true }, No, 20 * gib, "it is cut for MIG, and has no instance"},
		{"a hostile name", 15 * gib, 9 * gib, func(s *snapshot.Snapshot) { s.Rows[0].User = "\x1b[2Jbob" }, AfterFlush, 5 * gib, "flush 100 (?[2Jbob, 9.00G)"},
	} {
		snap := snapshottest.Room(c.free, c.returns)
		if c.change != nil {
			c.change(snap)
		}
		r := Judge(snap, remembers{peak: 50 * gib}, Question{Need: 20 * gib, Count: 1})
		h := &r.Places[0]
		if r.Answer != c.want || h.Verdict != c.want || h.Short != c.short || h.Why() != c.why {
			t.Errorf("%s: %s, %s, %v short, %q; want %s, %v, %q", c.name, r.Answer, h.Verdict, h.Short, h.Why(), c.want, c.short, c.why)
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
		q := Question{Need: quantity.Bytes(random.Int64N(int64(80 * gib))), Count: 1 + random.IntN(5)}
		r := Judge(snap, remembers{}, q)
		if len(r.Places) != 10 { // seven GPUs, and three instances of GPU 5
			t.Fatalf("%d places", len(r.Places))
		}
		yes, flush := len(r.On(Yes)), len(r.On(AfterFlush))
		want := No
		switch {
		case yes >= q.Count:
			want = Yes
		case yes+flush >= q.Count:
			want = AfterFlush
		}
		if r.Answer != want {
			t.Fatalf("%v on %d: %d fit, %d after a flush: %s, want %s", q.Need, q.Count, yes, flush, r.Answer, want)
		}
		for i := range r.Places {
			h := &r.Places[i]
			free, back := h.Free.Or(0), h.Returnable.Or(0)
			switch h.Verdict {
			case Yes:
				if free < q.Need || h.Short != 0 {
					t.Fatalf("%+v headroom.Yes with %v free", h, free)
				}
			case AfterFlush:
				if free >= q.Need || free+back < q.Need || len(h.Flushable) == 0 {
					t.Fatalf("%+v fits after a flush with %v free", h, free)
				}
			case No:
				if free+back >= q.Need || h.Short != q.Need-free {
					t.Fatalf("%+v does not fit with %v free", h, free)
				}
			}
		}
	}
}

func TestHeadroomNamesNoMoreProcessesThanNeeded(t *testing.T) {
	snap := snapshottest.Room(10*gib, 6*gib)
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
		r := Judge(snap, remembers{}, Question{Need: need, Count: 1})
		if got := r.Places[0].Why(); got != want {
			t.Errorf("%v: %q, want %q", need, got, want)
		}
	}
}

func TestSentence(t *testing.T) {
	const one, three, far = 1, 3, 9
	ask := func(count int) Question { return Question{Need: 20 * gib, Count: count} }
	long := Question{Need: 20 * gib, Count: one, Length: 10 * time.Minute}
	for _, c := range []struct {
		question Question
		verdicts string // of GPUs 0, 1, …: y for yes, f for after a flush, n for no, u for unknown
		want     string
	}{
		{ask(one), "y", "yes: 20.0G fits on GPU 0"},
		{long, "nyy", "yes: 20.0G for 10m fits on GPU 1, 2"},
		{ask(2), "yy", "yes: 2 times 20.0G fits on GPU 0, 1"},
		{ask(one), "nf", "after a flush: 20.0G fits on GPU 1"},
		{ask(three), "yfyn", "after a flush: 3 times 20.0G fits on GPU 0, 2, and then on GPU 1"},
		{ask(one), "uu", "unknown: no GPU could be judged"},
		{ask(one), "", "unknown: no GPU could be judged"},
		{ask(one), "nn", "no: 20.0G fits nowhere"},
		{ask(far), "yfynu", "no: need 9, fits on 0,2; after a flush also on 1"},
		{ask(far), "ynny", "no: need 9, fits on 0,3"},
		{ask(far), "nff", "no: need 9, fits after a flush on 1,2"},
	} {
		r := Report{Question: c.question}
		for i, letter := range c.verdicts {
			verdict := map[rune]Verdict{'y': Yes, 'f': AfterFlush, 'n': No, 'u': Unknown}[letter]
			r.Places = append(r.Places, Place{Label: strconv.Itoa(i), Verdict: verdict})
		}
		r.Answer = r.conclude()
		if got := r.Sentence(); got != c.want {
			t.Errorf("%s for %d: %q, want %q", c.verdicts, c.question.Count, got, c.want)
		}
	}
}

// A process without a probe, or with nothing to flush, does not hide the next process.
func TestFlushableBehindAnother(t *testing.T) {
	snap := snapshottest.Room(15*gib, 5*gib)
	unprobed := snap.Rows[0]
	unprobed.ID.Process.PID, unprobed.Probe = 99, nil
	nothing := snapshottest.Room(0, 0).Rows[0]
	nothing.ID.Process.PID = 98
	snap.Rows = append([]snapshot.Process{unprobed, nothing}, snap.Rows...)
	r := Judge(snap, remembers{}, Question{Need: 20 * gib, Count: 1})
	if f := r.Places[0].Flushable; r.Answer != AfterFlush || len(f) != 1 || f[0].Process.ID.Process.PID != 100 {
		t.Errorf("%s, flushing %+v", r.Answer, f)
	}
}
