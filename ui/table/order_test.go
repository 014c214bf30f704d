package table

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/cell"
)

// tableOf returns the table of a snapshot with everything listed.
func tableOf(s *snapshot.Snapshot) *Table {
	return &Table{Snapshot: s, Now: s.Time, History: snapshottest.History(s), Parts: s.ProbeSeen, Forecasts: s.Forecasting}
}

func (t *Table) focus(gpu int) { t.Focus = &snapshot.Place{GPUUUID: t.Snapshot.GPUs[gpu].UUID} }

func pidsOf(rows []Row) []int {
	pids := make([]int, len(rows))
	for i := range rows {
		pids[i] = rows[i].Process.ID.Process.PID
	}
	return pids
}

func sortedBy(s *snapshot.Snapshot, title string, reversed bool) []Row {
	t := tableOf(s)
	t.Sort = Order{Column: title, Reversed: reversed}
	return t.List()
}

// TestOrderIsTotal: by every column, the order of the table does not depend on the order of the sampler's rows.
func TestOrderIsTotal(t *testing.T) {
	for id := range columnCount {
		for _, reversed := range []bool{false, true} {
			s := snapshottest.DrawnBox()
			s.Ended = nil
			want := pidsOf(sortedBy(s, allColumns[id].title, reversed))
			for range 20 {
				rand.Shuffle(len(s.Rows), func(i, j int) { s.Rows[i], s.Rows[j] = s.Rows[j], s.Rows[i] })
				if got := pidsOf(sortedBy(s, allColumns[id].title, reversed)); !slices.Equal(got, want) {
					t.Errorf("%s: %v, then %v", allColumns[id].title, want, got)
				}
			}
		}
	}
}

// TestUnknownIsLast: an unknown value is last in both directions, so a lost GPU's process is never first.
func TestUnknownIsLast(t *testing.T) {
	for _, title := range []string{"USED", "ALLOC", "SM%", "TIME", "RUNTIME"} {
		for _, reversed := range []bool{false, true} {
			seen := false
			for _, r := range sortedBy(snapshottest.DrawnBox(), title, reversed)[:13] {
				known := keyOf(r.Process, columnNamed(title)).known
				if known && seen {
					t.Errorf("%s reversed=%v: a known row stands after an unknown one", title, reversed)
				}
				seen = seen || !known
			}
		}
	}
}

// TestNoiseDoesNotSwapRows: the fourth digit is not shown and does not count.
func TestNoiseDoesNotSwapRows(t *testing.T) {
	s := snapshottest.SixteenGPUs()
	want := pidsOf(sortedBy(s, "USED", false))
	for range 50 {
		for i := range s.Rows {
			if v, ok := s.Rows[i].Used.Value(); ok {
				s.Rows[i].Used = quantity.From(quantity.Bytes(cell.Rounded(v))+quantity.Bytes(rand.IntN(int(40*quantity.MiB))), quantity.Driver)
			}
		}
		if got := pidsOf(sortedBy(s, "USED", false)); !slices.Equal(got, want) {
			t.Fatalf("noise moved rows:\n%v\n%v", want, got)
		}
	}
}

func TestFilters(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *Table)
		want   string
	}{
		"text of the command": {func(t *Table) { t.Filter = "LLAMA" }, "[2963101 2963102 2961877]"},
		"pid":                 {func(t *Table) { t.Filter = "3000417" }, "[3000417]"},
		"job":                 {func(t *Table) { t.Filter = "slurm 88120" }, "[2963101 2963102]"},
		"words of a command":  {func(t *Table) { t.Filter = "serve qwen" }, "[1288410]"},
		"nothing":             {func(t *Table) { t.Filter = "no such thing" }, "[]"},
		"mine":                {func(t *Table) { t.Mine = true }, "[1907]"},
		"a GPU":               {func(t *Table) { t.focus(5) }, "[3000417 3000533]"},
		"an instance": {func(t *Table) {
			t.focus(5)
			t.Focus.Instance = snapshottest.Instance(2)
		}, "[3000533]"},
	} {
		list := tableOf(snapshottest.DrawnBox())
		c.change(list)
		if got := fmt.Sprint(pidsOf(list.List())); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestEndedKeepItsPlace: an ended row keeps its place for a minute, or while the cursor is on it; then it is at the end.
func TestEndedKeepItsPlace(t *testing.T) {
	s := snapshottest.DrawnBox()
	alive := pidsOf(sortedBy(s, "USED", false))[:13]
	i := slices.IndexFunc(s.Rows, func(p snapshot.Process) bool { return p.ID.Process.PID == snapshottest.Leaking })
	ended := s.Rows[i]
	s.Rows = slices.Delete(s.Rows, i, i+1)
	for _, c := range []struct {
		ago    time.Duration
		held   bool
		atEnd  bool
		inList int
	}{{10 * time.Second, false, false, 13}, {2 * time.Minute, false, true, 12}, {2 * time.Minute, true, false, 13}} {
		s.Ended = []snapshot.EndedProcess{{Last: ended, Ended: s.Time.Add(-c.ago)}}
		list := tableOf(s)
		if c.held {
			list.Cursor = Cursor{Active: true, ID: snapshottest.RowID(s, snapshottest.Leaking), Line: 1}
		}
		rows := list.List()
		if got := pidsOf(rows); c.atEnd != (got[12] == snapshottest.Leaking) || !c.atEnd && !slices.Equal(got, alive) {
			t.Errorf("%v ago, held %v: %v", c.ago, c.held, got)
		}
		if got := Recent(rows); got != c.inList {
			t.Errorf("%v ago, held %v: %d rows count, want %d", c.ago, c.held, got, c.inList)
		}
	}
}

func TestTree(t *testing.T) {
	s := snapshottest.DrawnBox()
	s.Ended = nil
	parents := map[int]int{2963102: 2963101, 3011876: 2963102, 1907: 2963101, 184: 2990210, 2990210: 184}
	for i := range s.Rows {
		if parent, ok := parents[s.Rows[i].ID.Process.PID]; ok {
			s.Rows[i].Parent = parent
		}
	}
	list := tableOf(s)
	list.Tree = true
	rows := list.List()
	if len(rows) != len(s.Rows) {
		t.Fatalf("%d rows in the tree, %d processes", len(rows), len(s.Rows))
	}
	var family []string
	for _, r := range rows {
		switch r.Process.ID.Process.PID {
		case 2963101, 2963102, 3011876, 1907:
			family = append(family, fmt.Sprintf("%s%d", strings.Repeat(" ", r.depth), r.Process.ID.Process.PID))
		}
	}
	if got, want := strings.Join(family, "\n"), "2963101\n 2963102\n  3011876\n 1907"; got != want {
		t.Errorf("tree\n%s\nwant\n%s", got, want)
	}
}

func TestWithoutDriverSortsByAllocated(t *testing.T) {
	list := tableOf(snapshottest.NoDriver())
	if got := list.Order().Column; got != "ALLOC" {
		t.Errorf("sorted by %s, which is unknown", got)
	}
}
