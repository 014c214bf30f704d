package ui

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/action/flush"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/cell"
	"vramscope/ui/dialog"
	"vramscope/ui/uitest"
)

// peaked is a history in which the leaking process once had 2.3 GiB more allocated than now.
type peaked struct{ snapshot.History }

func (h peaked) Series(key snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	points := h.History.Series(key, from, to, buckets)
	if key.Metric == metric.Allocated && key.Row.Process.PID == snapshottest.Leaking {
		points[buckets/2].Max = int64(gib(55.2))
	}
	return points
}

// askedToFlush returns the drawn box with the dialog about some of its processes open.
func askedToFlush(lk *cell.Appearance, change func(*snapshot.Process), pids ...int) (*state, dialog.Flush) {
	box := snapshottest.DrawnBox()
	for i := range box.Rows {
		p := &box.Rows[i]
		switch p.ID.Process.PID {
		case snapshottest.Leaking:
			p.Command = []string{"python", "finetune.py", "--cfg", "sft.yaml"}
			p.Evictable = []snapshot.Evictable{{Name: "kv_cache", Priority: 10}, {Name: "loader", Priority: 1}}
		}
		if change != nil {
			change(p)
		}
	}
	st := screenOf(box, 80, 24)
	st.history = peaked{st.history}
	var ids []snapshot.RowID
	for _, pid := range pids {
		ids = append(ids, snapshottest.RowID(box, pid))
	}
	d := dialog.NewFlush(lk, st.screen(), ids)
	st.overlay = d
	return st, d
}

func TestFlushAsDrawn(t *testing.T) {
	want := readLines(t, filepath.Join("testdata", "drawings", "5-flush-80x24.txt"))
	lk := drawnLook(t)
	st, _ := askedToFlush(lk, nil, snapshottest.Leaking)
	got := frame(st, lk)
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("line %d\n got %s|\nwant %s|", i+1, got[i], want[i])
		}
	}
}

// shownText returns an overlay as text of 80×20.
func shownText(d dialog.Overlay) string { return strings.Join(d.Render(80, 20), "\n") }

func TestFlushLevels(t *testing.T) {
	st, d := askedToFlush(drawnLook(t), nil, snapshottest.Leaking)
	for _, c := range []struct {
		keys  []string
		level flush.Level
		cost  string
	}{
		{nil, flush.Gradual, "a slow step or two"},
		{[]string{"s"}, flush.Selective, "what it evicts must be filled again"},
		{[]string{"u"}, flush.Urgent, "it waits for all its streams"},
		{[]string{"down"}, flush.Selective, ""},
		{[]string{"u", "up", "up", "up"}, flush.Gradual, ""},
	} {
		o, _ := pressed(d, c.keys...)
		at := o.(dialog.Flush)
		if at.Level() != c.level || !strings.Contains(shownText(at), c.cost) {
			t.Errorf("%v: level %s, want %s and %q\n%s", c.keys, at.Level(), c.level, c.cost, shownText(at))
		}
		requests := at.Requests(false)
		wantDevices := []string{st.live.DeviceUUID(snapshottest.RowID(st.live, snapshottest.Leaking))}
		if c.level == flush.Urgent {
			wantDevices = nil
		}
		if len(requests) != 1 || requests[0].Level != c.level || !slices.Equal(requests[0].Devices, wantDevices) {
			t.Errorf("%v: it would ask for %+v", c.keys, requests)
		}
	}
}

func TestOnlyYFlushes(t *testing.T) {
	_, d := askedToFlush(drawnLook(t), nil, snapshottest.Leaking)
	for key, want := range map[string]dialog.Outcome{
		"y": dialog.Confirmed, "d": dialog.Rehearsed, "esc": dialog.Closed, "n": dialog.Closed, "N": dialog.Closed, "q": dialog.Closed,
		"enter": dialog.Handled, " ": dialog.Handled, "Y": dialog.Handled, "F": dialog.Handled, "ctrl+m": dialog.Handled,
	} {
		if _, out := d.Press(key, 80, 14); out != want {
			t.Errorf("%q comes out as %v, want %v", key, out, want)
		}
	}
	if _, out := d.Press("y", 80, dialog.MinLines-1); out == dialog.Confirmed {
		t.Error("y flushes from a dialog too small to read")
	}
	after, _ := d.Press("d", 80, 14)
	if _, out := after.Press("y", 80, 14); out == dialog.Confirmed {
		t.Error("y flushes while the dry run has not come back")
	}
}

func TestFlushDialogFollowsItsProcess(t *testing.T) {
	lk := drawnLook(t)
	st, d := askedToFlush(lk, nil, snapshottest.Leaking)
	next := *st.live
	next.Rows = slices.Clone(st.live.Rows)
	at := slices.IndexFunc(next.Rows, func(p snapshot.Process) bool { return p.ID.Process.PID == snapshottest.Leaking })
	next.Rows[at].Returnable, next.Rows[at].Cached = amountIn(3), amountIn(3)
	st.live = &next
	if got := shownText(d.Follow(st.screen())); !strings.Contains(got, "frees 3.00G") {
		t.Errorf("the dialog does not follow:\n%s", got)
	}
	// The chosen level is no longer offered: y does nothing.
	next.Rows[at].Probe = nil
	server := d.Fill(flush.Result{Level: flush.Sleep, Server: "vLLM 0.33.0"}, nil).Follow(st.screen())
	if _, out := server.Press("y", 80, 14); out != dialog.Handled || !strings.Contains(shownText(server), "sleep") {
		t.Errorf("y comes out as %v of\n%s", out, shownText(server))
	}
	if chosen, _ := server.Press("z", 80, 14); chosen.(dialog.Flush).Level() != flush.Sleep {
		t.Error("z does not choose it")
	}
	// The pid goes to another process.
	next.Rows[at].ID.Process.StartTime++
	gone := d.Follow(st.screen())
	if got := shownText(gone); !strings.Contains(got, "Cannot flush") || !strings.Contains(got, "it has ended") {
		t.Errorf("the dialog is about another process now:\n%s", got)
	}
	if _, out := gone.Press("y", 80, 14); out != dialog.Handled {
		t.Errorf("y comes out as %v", out)
	}
}

func TestFlushEstimatesWhatStaysFree(t *testing.T) {
	for _, c := range []struct {
		name, want string
		history    func(snapshot.History) snapshot.History
		change     func(*snapshot.Process)
	}{
		{"as drawn", "stays free  about 9.5G: it needs 2.30G back within 5m", nil, nil},
		{"steady", "stays free  all of it, if it goes on as in the last 10m", func(h snapshot.History) snapshot.History { return h.(peaked).History }, nil},
		{"a sawtooth", "stays free  none: it needs it back within 5m", nil, func(p *snapshot.Process) {
			p.Allocated = amountIn(.1)
		}},
		{"a peak between two samples", "stays free  1.7G if its highest peak, 63.0G, comes again, else up to 9.5G", nil, func(p *snapshot.Process) {
			p.Allocators[0].PeakAllocated = amountIn(63)
		}},
		{"a report at the trough of each step", "stays free  none if its highest peak, 70.0G, comes again, else up to 9.5G", nil, func(p *snapshot.Process) {
			p.Allocators[0].PeakAllocated = amountIn(70)
		}},
		{"nothing watched", "stays free  unknown", func(snapshot.History) snapshot.History { return nil }, nil},
		{"a few seconds", "stays free  unknown", justStarted, nil},
	} {
		lk := drawnLook(t)
		st, _ := askedToFlush(lk, func(p *snapshot.Process) {
			if c.change != nil && p.ID.Process.PID == snapshottest.Leaking {
				c.change(p)
			}
		}, snapshottest.Leaking)
		if c.history != nil {
			st.history = c.history(st.history)
		}
		if got := shownText(dialog.NewFlush(lk, st.screen(), []snapshot.RowID{snapshottest.RowID(st.live, snapshottest.Leaking)})); !strings.Contains(got, c.want) {
			t.Errorf("%s: no %q in\n%s", c.name, c.want, got)
		}
	}
}

// TestFlushShowsTheSizesOfCaches: the question shows the sizes that the program reports, and each
// process's caches only once.
func TestFlushShowsTheSizesOfCaches(t *testing.T) {
	cache := func(name string, gigabytes float64) snapshot.Evictable {
		return snapshot.Evictable{Name: name, Bytes: uitest.Known(gigabytes)}
	}
	const leaking, other = snapshottest.Leaking, 2701455
	for name, c := range map[string]struct {
		caches map[int][]snapshot.Evictable
		want   string
	}{
		"all known":          {map[int][]snapshot.Evictable{leaking: {cache("kv_cache", 2.5), cache("loader", 1)}}, "evicts kv_cache 2.50G, loader 1.00G "},
		"one unknown":        {map[int][]snapshot.Evictable{leaking: {cache("kv_cache", 2.5), {Name: "loader"}}}, "evicts kv_cache 2.50G, loader – "},
		"measured and empty": {map[int][]snapshot.Evictable{leaking: {cache("kv_cache", 0)}}, "evicts kv_cache 0 "},
		"of two programs":    {map[int][]snapshot.Evictable{leaking: {cache("kv", 2.5)}, other: {cache("kv", 1)}}, "evicts kv 3.50G "},
		"of one of two":      {map[int][]snapshot.Evictable{leaking: {{Name: "kv"}, cache("b", 1)}, other: {cache("kv", 1)}}, "evicts kv –, b 1.00G "},
	} {
		_, d := askedToFlush(drawnLook(t), func(p *snapshot.Process) {
			p.Evictable = c.caches[p.ID.Process.PID]
		}, leaking, other)
		if got := shownText(d); !strings.Contains(got, c.want) {
			t.Errorf("%s: no %q in\n%s", name, c.want, got)
		}
		// Two rows of one process report the same caches.
		_, d = askedToFlush(drawnLook(t), func(p *snapshot.Process) {
			p.Evictable = c.caches[p.ID.Process.PID]
		}, leaking, other, leaking, other)
		if got := shownText(d); !strings.Contains(got, c.want) {
			t.Errorf("%s, on two GPUs: no %q in\n%s", name, c.want, got)
		}
	}
}

func TestFlushWarnsThatRanksMayWait(t *testing.T) {
	_, d := askedToFlush(drawnLook(t), nil, 2963101) // one of two ranks
	if got := shownText(d); !strings.Contains(got, "its job's other GPUs may wait") {
		t.Errorf("no warning that the job may stall:\n%s", got)
	}
}

func TestFlushOfTaggedProcesses(t *testing.T) {
	_, d := askedToFlush(drawnLook(t), nil, snapshottest.Leaking, 2701455, 2955020)
	got := shownText(d)
	for _, want := range []string{
		"Flush: free cached memory, 2 of 3 tagged",
		"    PID USER     GPU  USED AFTER FREED STAYS  COMMAND",
		"2963112 carol      3 70.6G 58.8G 11.8G 9.50G  finetune.py --cfg sft.yaml",
		"2701455 dave       4 47.8G 41.6G 6.20G 6.20G  dlrm.py --batch 65536",
		"2955020 erin       7 59.7G     –     –     –  no: JAX keeps its cache. To re",
		"sum                      18.0G 15.7G",
		"gradual    18.0G in one step: PyTorch cannot free a part",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if requests := d.Requests(false); len(requests) != 2 || requests[0].Process.PID != snapshottest.Leaking || requests[1].Process.PID != 2701455 {
		t.Errorf("it would ask %+v", requests)
	}
	_, all := askedToFlush(drawnLook(t), nil, 2955020, 184)
	if _, out := all.Press("y", 80, 14); out != dialog.Handled || len(all.Requests(false)) != 0 {
		t.Errorf("no process can be flushed, but y has the outcome %v", out)
	}
}

func TestUrgentFlushAsksAProcessOnce(t *testing.T) {
	lk := drawnLook(t)
	st, _ := askedToFlush(lk, nil, snapshottest.Leaking)
	second := *st.live.Row(snapshottest.RowID(st.live, snapshottest.Leaking))
	second.ID.GPUUUID, second.GPU = st.live.GPUs[4].UUID, 4
	st.live.Rows = append(st.live.Rows, second)
	d := dialog.NewFlush(lk, st.screen(), []snapshot.RowID{snapshottest.RowID(st.live, snapshottest.Leaking), second.ID})
	if requests := d.Requests(false); len(requests) != 2 {
		t.Errorf("gradual asks %+v", requests)
	}
	o, _ := d.Press("u", 80, 14)
	if requests := o.(dialog.Flush).Requests(false); len(requests) != 1 {
		t.Errorf("urgent asks %+v", requests)
	}
	one := dialog.NewFlush(lk, st.screen(), []snapshot.RowID{second.ID})
	o, _ = one.Press("u", 80, 14)
	if got := shownText(o); !strings.Contains(got, "frees 23.6G on 2 GPUs") {
		t.Errorf("urgent does not count the other GPU:\n%s", got)
	}
}

func TestFlushOfAMIGInstanceNamesTheInstance(t *testing.T) {
	st, d := askedToFlush(drawnLook(t), nil, 3000417)
	if got, want := d.Requests(false)[0].Devices, st.live.GPUs[5].Instances[0].UUID; len(got) != 1 || got[0] != want || want == "" {
		t.Errorf("it would flush %v, the instance is %q", got, want)
	}
}

func TestFlushGoldens(t *testing.T) {
	for _, size := range [][2]int{{80, 13}, {120, 20}, {60, 12}, {40, 9}, {30, 6}} {
		for _, ascii := range []bool{false, true} {
			for name, pids := range map[string][]int{"one": {snapshottest.Leaking}, "tagged": {snapshottest.Leaking, 2701455, 2955020, 184, 2963101, 2963102, 1288410, 3000417}} {
				t.Run(name+" "+size2(size)+map[bool]string{true: " ascii"}[ascii], func(t *testing.T) {
					_, d := askedToFlush(uitest.Appearance(t, "", ascii), nil, pids...)
					matches(t, d, size[0], size[1])
				})
			}
		}
	}
	t.Run("colours", func(t *testing.T) {
		_, d := askedToFlush(uitest.Appearance(t, "dark", false), nil, snapshottest.Leaking)
		matches(t, d, 80, 13)
	})
}

func size2(size [2]int) string {
	return strings.TrimSpace(strings.Join([]string{string(cell.AppendInt(nil, size[0])), string(cell.AppendInt(nil, size[1]))}, "x"))
}

func TestFlushSurvivesHostileNames(t *testing.T) {
	hostile := func(p *snapshot.Process) {
		bad := "\x1b[2J\x07\u202e" + strings.Repeat("名", 200)
		p.User, p.Name, p.Command, p.Runtime, p.RuntimeVersion = bad, bad, []string{bad, bad}, bad, bad
		p.Job = process.Job{Kind: "pod", ID: bad}
		p.Evictable = []snapshot.Evictable{{Name: bad}, {Name: bad}}
		p.Used, p.Returnable = quantity.From(quantity.Bytes(-1<<62), quantity.Driver), quantity.From(quantity.Bytes(1<<62), quantity.Probe)
	}
	_, d := askedToFlush(drawnLook(t), hostile, snapshottest.Leaking, 2701455)
	_, single := askedToFlush(drawnLook(t), hostile, snapshottest.Leaking)
	for _, asked := range []dialog.Flush{d, single} {
		for width := 30; width <= 120; width += 15 {
			lines := asked.Render(width, 14)
			uitest.CheckCells(t, lines, width, 14)
			if strings.ContainsAny(strings.Join(lines, ""), "\x1b\x07\u202e") {
				t.Errorf("hostile text reaches the screen:\n%s", strings.Join(lines, "\n"))
			}
		}
	}
}

func TestFlushShowsEveryLevelInASmallPane(t *testing.T) {
	lk := drawnLook(t)
	for height := 11; height <= 30; height++ {
		st, _ := askedToFlush(lk, nil, snapshottest.Leaking)
		st.width, st.height = 60, height
		screen := strings.Join(frame(st, lk), "\n")
		for _, want := range []string{"PID 2963112", "after ", "> g     gradual", "  s     selective", "  u     urgent", "y  flush", "Esc  cancel"} {
			if !strings.Contains(screen, want) {
				t.Fatalf("60×%d: no %q in\n%s", height, want, screen)
			}
		}
	}
}
