package ui

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

func pidsOf(rows []row) []int {
	pids := make([]int, len(rows))
	for i := range rows {
		pids[i] = rows[i].process.ID.Process.PID
	}
	return pids
}

func sortedBy(s *snapshot.Snapshot, title string, reversed bool) []row {
	st := screenOf(s, 80, 24)
	st.sort = sortOrder{column: title, reversed: reversed}
	return visibleRows(st)
}

// TestOrderIsTotal is rule 17: whatever the order in which the sampler lists
// rows, and whichever column sorts, the table is the same.
func TestOrderIsTotal(t *testing.T) {
	for id := range columnCount {
		for _, reversed := range []bool{false, true} {
			s := snapshottest.DrawnBox()
			s.Ended = nil
			want := pidsOf(sortedBy(s, columnOf(id).title, reversed))
			for range 20 {
				rand.Shuffle(len(s.Rows), func(i, j int) { s.Rows[i], s.Rows[j] = s.Rows[j], s.Rows[i] })
				if got := pidsOf(sortedBy(s, columnOf(id).title, reversed)); !slices.Equal(got, want) {
					t.Errorf("%s: %v, then %v", columnOf(id).title, want, got)
				}
			}
		}
	}
}

// TestUnknownIsLast: both ways, so that a lost GPU's process never leads.
func TestUnknownIsLast(t *testing.T) {
	for _, title := range []string{"USED", "ALLOC", "SM%", "TIME", "RUNTIME"} {
		for _, reversed := range []bool{false, true} {
			seen := false
			for _, r := range sortedBy(snapshottest.DrawnBox(), title, reversed)[:13] {
				known := keyOf(r.process, columnNamed(title)).known
				if known && seen {
					t.Errorf("%s reversed=%v: a known row stands after an unknown one", title, reversed)
				}
				seen = seen || !known
			}
		}
	}
}

// TestNoiseDoesNotSwapRows: the fourth digit is not shown and sorts nothing.
func TestNoiseDoesNotSwapRows(t *testing.T) {
	s := snapshottest.SixteenGPUs()
	want := pidsOf(sortedBy(s, "USED", false))
	for range 50 {
		for i := range s.Rows {
			if v, ok := s.Rows[i].Used.Value(); ok {
				s.Rows[i].Used = quantity.From(cell.Rounded(v)+quantity.Bytes(rand.IntN(int(40*quantity.MiB))), quantity.Driver)
			}
		}
		if got := pidsOf(sortedBy(s, "USED", false)); !slices.Equal(got, want) {
			t.Fatalf("noise moved rows:\n%v\n%v", want, got)
		}
	}
}

func TestFilters(t *testing.T) {
	for name, c := range map[string]struct {
		change func(st *state)
		want   string
	}{
		"text of the command": {func(st *state) { st.filter = "LLAMA" }, "[2963101 2963102 2961877]"},
		"pid":                 {func(st *state) { st.filter = "3000417" }, "[3000417]"},
		"job":                 {func(st *state) { st.filter = "slurm 88120" }, "[2963101 2963102]"},
		"words of a command":  {func(st *state) { st.filter = "serve qwen" }, "[1288410]"},
		"nothing":             {func(st *state) { st.filter = "no such thing" }, "[]"},
		"mine":                {func(st *state) { st.mine = true }, "[1907]"},
		"a GPU":               {func(st *state) { focused(st, 5) }, "[3000417 3000533]"},
		"an instance": {func(st *state) {
			focused(st, 5)
			st.focus.instance = snapshottest.Instance(2)
		}, "[3000533]"},
	} {
		st := screenOf(snapshottest.DrawnBox(), 80, 24)
		c.change(st)
		if got := fmt.Sprint(pidsOf(visibleRows(st))); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestEndedKeepItsPlace: a process that ended a moment ago stands where it
// stood; after a minute it is at the end, unless the cursor holds it.
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
		st := screenOf(s, 80, 24)
		if c.held {
			st.at(snapshottest.Leaking, 1)
		}
		rows := visibleRows(st)
		if got := pidsOf(rows); c.atEnd != (got[12] == snapshottest.Leaking) || !c.atEnd && !slices.Equal(got, alive) {
			t.Errorf("%v ago, held %v: %v", c.ago, c.held, got)
		}
		if got := countable(rows); got != c.inList {
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
	st := screenOf(s, 80, 24)
	st.tree = true
	rows := visibleRows(st)
	if len(rows) != len(s.Rows) {
		t.Fatalf("%d rows in the tree, %d processes", len(rows), len(s.Rows))
	}
	var family []string
	for _, r := range rows {
		switch r.process.ID.Process.PID {
		case 2963101, 2963102, 3011876, 1907:
			family = append(family, fmt.Sprintf("%s%d", strings.Repeat(" ", r.depth), r.process.ID.Process.PID))
		}
	}
	if got, want := strings.Join(family, "\n"), "2963101\n 2963102\n  3011876\n 1907"; got != want {
		t.Errorf("tree\n%s\nwant\n%s", got, want)
	}
}

func TestWithoutDriverSortsByAllocated(t *testing.T) {
	st := screenOf(snapshottest.NoDriver(), 80, 24)
	if got := st.order().column; got != "ALLOC" {
		t.Errorf("sorted by %s, which nobody knows", got)
	}
}
