package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// TestDayOne: on a terminal, a table without probes lacks the columns that only probes fill.
func TestDayOne(t *testing.T) {
	var out bytes.Buffer
	out.WriteString(Table(snapshottest.DayOne(), 80, false))
	golden.RequireEqual(t, out.Bytes())
}

func TestTableAsDrawn(t *testing.T) {
	for _, tc := range []struct {
		name  string
		width int
		ascii bool
	}{{"drawn_100.txt", 100, false}, {"drawn_piped.txt", 0, false}, {"drawn_80.txt", 80, false}, {"drawn_ascii_40.txt", 40, true}} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			out.WriteString(Table(snapshottest.OneSample(), tc.width, tc.ascii))
			for line := range strings.Lines(out.String()) {
				line = strings.TrimSuffix(line, "\n")
				if tc.width > 0 && text.Width(line) > tc.width {
					t.Errorf("%d cells: %s", text.Width(line), line)
				}
				if tc.ascii && strings.ContainsFunc(line, func(r rune) bool { return r > 0x7e }) {
					t.Errorf("not ASCII: %s", line)
				}
			}
			golden.RequireEqual(t, out.Bytes())
		})
	}
}

func TestAlertGivesTheBoundOfAFlush(t *testing.T) {
	snap := snapshottest.OneSample()
	for i := range snap.Rows {
		for j := range snap.Rows[i].Allocators {
			snap.Rows[i].Allocators[j].ReturnableBound = snapshot.Most
		}
	}
	var out bytes.Buffer
	out.WriteString(Table(snap, 0, false))
	if want := "flush of 2963112 (carol) frees up to 11.8G\n"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, &out)
	}
}

// TestUnattributedMemoryIsNoted: in containers, for example, the driver lists no process. Less than
// 1 GiB gets no line.
func TestUnattributedMemoryIsNoted(t *testing.T) {
	snap := snapshottest.OneSample()
	snap.GPUs[0].Unattributed = quantity.From(3*quantity.GiB, quantity.Driver)
	snap.GPUs[1].Unattributed = quantity.From(300*quantity.MiB, quantity.Driver)
	snap.GPUs[0].Holders = make([]snapshot.Holder, 5)
	for i := range snap.GPUs[0].Holders {
		snap.GPUs[0].Holders[i].Process.PID = 7 + i
	}
	snap.GPUs[0].Holders[0].Name, snap.GPUs[0].Holders[0].User = "python3\x1b[2J", "alice"
	var out bytes.Buffer
	out.WriteString(Table(snap, 0, false))
	if want := "\nnote   gpu 0  3.00G is used by processes that the driver does not list; its device is open in " +
		"7 python3?[2J (alice), 8 ? (?), 9 ? (?), 2 more\n"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, &out)
	}
	if strings.Contains(out.String(), "note   gpu 1") {
		t.Errorf("300 MiB are noted:\n%s", &out)
	}
}

// TestTableHasJobs: the table has jobs on a wide terminal, but not in a pipe.
func TestTableHasJobs(t *testing.T) {
	snap := snapshottest.DayOne()
	for width, want := range map[int]bool{0: false, 60: false, 200: true} {
		var out strings.Builder
		out.WriteString(Table(snap, width, false))
		if got := strings.Contains(out.String(), "slurm 88120"); got != want {
			t.Errorf("%d cells: jobs shown: %v, want %v\n%s", width, got, want, out.String())
		}
	}
}

// TestNarrowTableSpendsItsWidthOnFigures: if the GPUs' names do not fit, only the first line has the name.
func TestNarrowTableSpendsItsWidthOnFigures(t *testing.T) {
	var out strings.Builder
	out.WriteString(Table(snapshottest.DrawnBox(), 80, false))
	first, rest, _ := strings.Cut(out.String(), "\n")
	if !strings.Contains(first, "8x H100 80GB HBM3") || strings.Contains(rest, "H10") || strings.Contains(rest, "NAME") {
		t.Errorf("got\n%s", out.String())
	}
}

// TestPipedTableHasAllColumns: scripts count them.
func TestPipedTableHasAllColumns(t *testing.T) {
	var out bytes.Buffer
	out.WriteString(Table(snapshottest.DrawnBox(), 0, false))
	titles, _, _ := strings.Cut(strings.TrimSpace(strings.Split(out.String(), "\n\n")[2]), "\n")
	if got, want := strings.Join(strings.Fields(titles), " "), "GPU PID USER TYPE RUNTIME USED ALLOC FRAG CACHE OTHER FLUSH +60s COMMAND"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
