package alert

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// nonsense makes snapshots from fuzzed bytes: with impossible figures, with GPUs and rows that are
// missing or listed twice, and with clocks that jump.
type nonsense struct{ data []byte }

func (n *nonsense) next() byte {
	if len(n.data) == 0 {
		return 0
	}
	b := n.data[0]
	n.data = n.data[1:]
	return b
}

func (n *nonsense) bytes() snapshot.Bytes {
	switch b := n.next(); {
	case b < 40:
		return snapshot.Bytes{}
	case b < 200:
		return bytes(quantity.Bytes(b-40) * quantity.GiB / 2)
	default:
		return bytes([]quantity.Bytes{math.MaxInt64, math.MinInt64, -1, 0, 1, quantity.MiB}[b%6])
	}
}

func (n *nonsense) time() time.Time {
	switch b := n.next(); {
	case b < 10:
		return time.Time{}
	default:
		return noon.Add(time.Duration(int(b)-100) * 7 * time.Second)
	}
}

func (n *nonsense) count() quantity.Optional[int64] {
	switch b := n.next(); {
	case b < 40:
		return quantity.Optional[int64]{}
	case b > 250:
		return count(math.MinInt64)
	default:
		return count(int64(b%7) * 3)
	}
}

func (n *nonsense) duration() time.Duration {
	if b := n.next(); b < 250 {
		return time.Duration(int(b)-20) * 10 * time.Second
	}
	return math.MaxInt64
}

func (n *nonsense) process() snapshot.Process {
	p := snapshot.Process{
		ID: snapshot.RowID{
			Process:  process.Identity{PID: int(n.next() % 4), StartTime: uint64(n.next() % 3)},
			GPUUUID:  []string{"", "a", "b", "c"}[n.next()%4],
			Instance: snapshot.InstanceID{MIG: n.next()%3 == 0, GPU: uint32(n.next() % 2)},
		},
		GPU: int(n.next()) - 5, User: []string{"", "alice", "\x1b[31m\xff"}[n.next()%3],
		Started: n.time(), Used: n.bytes(), Cached: n.bytes(), Returnable: n.bytes(),
		Trend: snapshot.Trend(n.next() % 8), GrowthPerSecond: n.bytes(),
	}
	if n.next()%2 == 0 {
		p.Probe = &snapshot.Probe{State: snapshot.ProbeState([]string{"live", "silent", ""}[n.next()%3]), OutOfMemoryCount: n.count(), AllocRetries: n.count()}
	}
	return p
}

func (n *nonsense) gpu() snapshot.GPU {
	g := snapshot.GPU{
		Index: int(n.next()) - 3, UUID: []string{"", "a", "b"}[n.next()%3],
		State: snapshot.GPUState([]string{"ok", "ok", "ok", "lost", "hanging", "error", ""}[n.next()%7]),
		Since: n.time(), LastUsed: n.bytes(), MIG: n.next()%4 == 0,
		Memory: snapshot.Memory{Total: n.bytes(), Used: n.bytes(), Free: n.bytes(), Reserved: n.bytes()},
	}
	for range n.next() % 3 {
		g.Throttled = append(g.Throttled, []string{"power", "thermal", "", "hardware"}[n.next()%4])
		g.XIDs = append(g.XIDs, snapshot.XID{Code: []uint64{31, 48, 79, 0, math.MaxUint64}[n.next()%5], Time: n.time()})
		g.Instances = append(g.Instances, snapshot.Instance{ID: snapshot.InstanceID{MIG: n.next()%2 == 0, GPU: uint32(n.next() % 2)}, Memory: g.Memory})
	}
	if b := n.next(); b > 100 {
		g.ECC.Uncorrected = errors(uint64(b%3) * (math.MaxUint64 / 2))
	}
	if n.next()%3 == 0 {
		g.FullIn = &snapshot.FullIn{Median: n.duration(), Earliest: n.duration(), Latest: n.duration()}
	}
	return g
}

func (n *nonsense) snapshot(now time.Time) snapshot.Snapshot {
	s := snapshot.Snapshot{Time: now}
	s.Driver = snapshot.Driver{State: snapshot.DriverState([]string{"ok", "ok", "gone", "starting", ""}[n.next()%5]), Since: n.time(), ProbesAnswering: int(n.next())}
	for range n.next() % 4 {
		s.GPUs = append(s.GPUs, n.gpu())
	}
	for range n.next() % 5 {
		s.Rows = append(s.Rows, n.process())
	}
	if n.next()%2 == 0 {
		s.Ended = append(s.Ended, snapshot.EndedProcess{Last: n.process(), OutOfMemoryCount: n.count()})
	}
	return s
}

func FuzzAnySnapshots(f *testing.F) {
	f.Add([]byte("a GPU that is lost, full, hot, leaking, and listed twice"))
	seed := make([]byte, 2000)
	for i := range seed {
		seed[i] = byte(i * i / 7)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, data []byte) {
		once, again := evaluateNonsense(data), evaluateNonsense(data)
		for i, alerts := range once {
			if !slices.Equal(alerts, again[i]) {
				t.Fatalf("snapshot %d: %+v, then %+v", i, alerts, again[i])
			}
			for j, a := range alerts {
				if n := utf8.RuneCountInString(a.Note); n == 0 || n > noteCells {
					t.Errorf("note %q has %d cells", a.Note, n)
				}
				if a.Message == "" || a.Since.IsZero() && a.Kind == "" {
					t.Errorf("%+v", a)
				}
				if j > 0 && a.Severity > alerts[j-1].Severity {
					t.Errorf("%s after %s", a.Kind, alerts[j-1].Kind)
				}
			}
		}
	})
}

func evaluateNonsense(data []byte) [][]snapshot.Alert {
	n := &nonsense{data: data}
	e := New(0.10, nil)
	now := noon
	var all [][]snapshot.Alert
	for len(n.data) > 0 {
		snap := n.snapshot(now)
		for range n.next()%6 + 1 { // long enough for hysteresis
			again := snap
			again.Time = now
			all = append(all, e.Evaluate(&again))
			now = now.Add(time.Second)
		}
		if n.next() == 1 {
			now = now.Add(-time.Hour)
		}
	}
	return all
}

// BenchmarkEvaluate measures a large box: 16 GPUs with 64 processes each.
func BenchmarkEvaluate(b *testing.B) {
	s := newScene()
	gpu, row := *s.gpu(0), *s.row(0)
	s.snap.GPUs, s.snap.Rows = nil, nil
	for i := range 16 {
		gpu.Index, gpu.UUID = i, fmt.Sprintf("GPU-00000000-0000-0000-0000-0000000000%02d", i)
		s.snap.GPUs = append(s.snap.GPUs, gpu)
		for j := range 64 {
			row.ID.Process.PID, row.ID.GPUUUID = 1000*i+j, gpu.UUID
			s.snap.Rows = append(s.snap.Rows, row)
		}
	}
	b.ReportAllocs()
	for range b.N {
		s.snap.Time = s.now
		s.now = s.now.Add(time.Second)
		if alerts := s.evaluator.Evaluate(&s.snap); len(alerts) > 0 {
			b.Fatal(alerts)
		}
	}
}
