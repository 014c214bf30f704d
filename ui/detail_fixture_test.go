package ui

import (
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/ui/graph"
	"vramscope/ui/table"
	"vramscope/ui/uitest"
)

// carol returns the process of the drawings: a leak that will fill GPU 3.
func carol() snapshot.Process {
	gpu := "GPU-3"
	return snapshot.Process{
		ID:  snapshot.RowID{Process: process.Identity{PID: 2963112, StartTime: 1, Namespace: 1}, GPUUUID: gpu},
		GPU: 3, User: "carol", Name: "python",
		Command: []string{"/opt/conda/bin/python", "finetune.py", "--cfg", "sft.yaml", "--lr", "2e-5"},
		Started: uitest.DrawnAt.Add(-143 * time.Minute), Job: process.Job{Kind: "slurm", ID: "88123"},
		CPU: quantity.From(101.0, quantity.System), Host: uitest.Known(22.7), Type: "C",
		SMUtilization: quantity.From(98, quantity.Driver), Used: uitest.Known(70.6),
		Runtime: "PyTorch", RuntimeVersion: "2.6.0",
		Allocated: uitest.Known(52.9), Cached: uitest.Known(11.8), Fragmented: uitest.Known(4.6), Returnable: uitest.Known(11.8), Other: uitest.Known(1.3),
		Allocators: []snapshot.Allocator{{
			Kind: "pytorch", Basis: "stranded", Reserved: uitest.Known(69.3), Allocated: uitest.Known(52.9), Cached: uitest.Known(11.8),
			Fragmented: uitest.Known(4.6), Returnable: uitest.Known(11.8), Pending: uitest.Known(.21), LargestFree: uitest.Known(2),
			Segments: quantity.From(int64(812), quantity.Probe), StrandedSegments: quantity.From(int64(212), quantity.Probe),
			Blocks: quantity.From(int64(10233), quantity.Probe), PeakAllocated: uitest.Known(61.2), PeakReserved: uitest.Known(72),
			Config: "max_split_size_mb:512,garbage_collection_threshold:0.8",
			Pools: []snapshot.Pool{
				{Name: "small", Reserved: uitest.Known(1.2), Allocated: uitest.Known(1), Fragmented: uitest.Known(.2), Segments: quantity.From(int64(400), quantity.Probe)},
				{Name: "large", Reserved: uitest.Known(68.1), Allocated: uitest.Known(51.9), Fragmented: uitest.Known(4.4), Segments: quantity.From(int64(412), quantity.Probe)},
			},
		}},
		Evictable: []snapshot.Evictable{{Name: "kv_cache", Priority: 10}, {Name: "loader", Priority: 1}},
		Probe: &snapshot.Probe{
			State: snapshot.ProbeLive, Age: 400 * time.Millisecond, StartedBy: "run", Capabilities: []string{"flush", "snapshot"},
			OutOfMemoryCount: quantity.From(int64(0), quantity.Probe), AllocRetries: quantity.From(int64(3), quantity.Probe),
		},
		Peak: uitest.Known(70.6), Trend: snapshot.TrendLeak, GrowthPerSecond: uitest.Known(25.0 / 1024),
		Outlook: snapshot.Outlook{Predicted: uitest.Predictions(70.6, 25.0/1024, 0.003)},
	}
}

// drawnState returns a screen of carol's GPU with the cursor on her process.
func drawnState() *state {
	p := carol()
	gpu := snapshot.GPU{
		Index: 3, UUID: "GPU-3", State: snapshot.GPUOK,
		Memory:  snapshot.Memory{Total: uitest.Known(79.6), Used: uitest.Known(72.9), Free: uitest.Known(6.1), Reserved: uitest.Known(.6)},
		Outlook: snapshot.Outlook{FullIn: &snapshot.FullIn{Median: 250 * time.Second, Earliest: 184 * time.Second, Latest: 330 * time.Second}},
	}
	s := &snapshot.Snapshot{
		Time: uitest.DrawnAt, Interval: time.Second, Host: snapshot.Host{Name: "h100-03", User: "bob"},
		GPUs: []snapshot.GPU{gpu}, Rows: []snapshot.Process{p}, ProbeSeen: true,
		Alerts: []snapshot.Alert{
			{Kind: snapshot.AlertFullIn, Severity: snapshot.Urgent, GPU: 3, GPUUUID: "GPU-3", Row: p.ID},
			{Kind: snapshot.AlertLeak, GPU: 3, GPUUUID: "GPU-3", Row: p.ID, Since: uitest.DrawnAt.Add(-23 * time.Minute)},
		},
	}
	return &state{
		stacks: &graph.Stacks{},
		now:    uitest.DrawnAt, live: s, shown: s, Listing: table.Listing{Cursor: table.Cursor{Active: true, ID: p.ID}}, window: 5 * time.Minute,
		history: memoryHistory{uitest.CurveHistory{Now: uitest.DrawnAt, Every: time.Second, Since: time.Hour, Curve: func(age time.Duration) float64 {
			return uitest.Leak(age) - 2.3
		}}},
	}
}

// memoryHistory is a history whose allocated memory peaked at 55.2 GiB.
type memoryHistory struct{ uitest.CurveHistory }

func (h memoryHistory) Series(key snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	if key.Metric == metric.Allocated {
		h.Curve = func(age time.Duration) float64 {
			if age == 4*time.Minute {
				return 55.2
			}
			return 52.9
		}
	}
	return h.CurveHistory.Series(key, from, to, buckets)
}
