package exporter

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// Options are the settings of an Exporter.
type Options struct {
	Version string // of this program
	Now     func() time.Time
	// ProcessLabels are the labels of processes that are exported, some of metric.ProcessLabels.
	// Without "pid", processes of a GPU that are equal in all exported labels are summed.
	ProcessLabels []string
	// Processes is how many of a GPU's largest processes, or sums of them, have their own series.
	Processes int
	Snapshot  bool // whether /snapshot.json is served
}

// Exporter publishes the last observed snapshot.
type Exporter struct {
	Options
	names []string // metric.ProcessLabels

	mu       sync.Mutex
	snap     *snapshot.Snapshot // nil before the first
	recorder *metric.Recorder   // nil if nothing is recorded
	counters counters
}

// New returns an Exporter without a snapshot.
func New(o Options) *Exporter {
	return &Exporter{Options: o, names: metric.ProcessLabels(), counters: counters{
		gpus: map[string]*gpuCounters{}, decisions: map[decision]int{}, probes: map[snapshot.RowID]reported{},
		rescues: map[string]int{string(snapshot.EventRescued): 0, string(snapshot.EventNotRescued): 0},
	}}
}

// Observe takes a snapshot, the events since the previous one, and the recorder's state, nil if
// nothing is recorded. Observe does not change the snapshot.
func (e *Exporter) Observe(snap *snapshot.Snapshot, events []snapshot.Event, recorder *metric.Recorder) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.snap, e.recorder = snap, recorder
	e.counters.observe(snap, events)
}

// latest returns the last snapshot, nil if there is none, and whether its figures may be published.
func (e *Exporter) latest() (*snapshot.Snapshot, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.snap == nil {
		return nil, false
	}
	return e.snap, e.Now().Sub(e.snap.Time) < max(staleIntervals*e.snap.Interval, staleAfter)
}

// A snapshot is old after staleIntervals of its own intervals, but not before staleAfter, because a
// busy machine may be late.
const (
	staleIntervals = 5
	staleAfter     = 15 * time.Second
)

// gather returns the series of the last snapshot, or a few of them if the snapshot is old. Unknown
// figures have no series, and labels without a value are left out.
func (e *Exporter) gather() writer {
	w := writer{}
	snap, fresh := e.latest()
	if snap == nil {
		return w
	}
	// An old snapshot has these series too.
	w.exported(metric.HostInfo, nil, 1, snap.Host.Name, e.Version, snap.Driver.Version, snap.Driver.CUDAVersion, strconv.FormatBool(snap.Simulated))
	w.exported(metric.LastSample, nil, float64(snap.Time.UnixNano())/1e9)
	w.exported(metric.SampleInterval, nil, snap.Interval.Seconds())
	if !fresh {
		return w
	}
	w.alerts(snap)
	known := make(map[string]bool, len(snap.GPUs))
	for i := range snap.GPUs {
		if g := &snap.GPUs[i]; !known[g.UUID] {
			known[g.UUID] = true
			w.gpu(snap, g)
		}
	}
	e.writeProcesses(w, snap)
	e.writeServers(w, snap)
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.recorder; r != nil {
		w.exported(metric.RecordingPaused, nil, map[bool]float64{true: 1}[r.Paused])
		w.exported(metric.RecordingErrors, nil, float64(r.Errors))
		w.exported(metric.RecordingLost, nil, float64(r.Lost))
		if !r.Written.IsZero() {
			w.exported(metric.RecordingWritten, nil, float64(r.Written.UnixNano())/1e9)
		}
	}
	e.counters.write(w, snap)
	return w
}

// Handler serves /metrics, /healthz and, if Snapshot is set, /snapshot.json. The page at / links to the first two.
func (e *Exporter) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", e.metrics())
	mux.HandleFunc("GET /healthz", e.healthz)
	mux.HandleFunc("GET /{$}", landing)
	if e.Snapshot {
		mux.HandleFunc("GET /snapshot.json", inMemory(e.snapshotJSON))
	}
	return mux
}

func (e *Exporter) keeps(processLabel string) bool {
	return slices.Contains(e.ProcessLabels, processLabel)
}
