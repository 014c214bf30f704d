package ui

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/cell"
)

func c[T any](v T) quantity.Optional[T] { return quantity.From(v, quantity.Driver) }

// pagedBox returns the drawn box with many figures of GPU 3: a link that is down, one with errors, a
// row to be remapped, Xids, a holder.
func pagedBox() *snapshot.Snapshot {
	s := snapshottest.DrawnBox()
	g := &s.GPUs[3]
	g.EncoderUtilization, g.DecoderUtilization = c(4), c(12)
	g.SMClockMax, g.MemoryClock, g.MemoryClockMax = c(1980), c(2619), c(2619)
	g.ClockReasons, g.Throttled, g.PerformanceState, g.Fan = c(0x4|0x20), []string{"power", "thermal"}, c(0), c(42)
	g.PCIeGeneration, g.PCIeGenerationMax, g.PCIeWidth, g.PCIeWidthMax = c(4), c(5), c(8), c(16)
	g.PCIeReceived, g.PCIeSent = c(3_200_000_000), c(910_000_000)
	g.BAR1Used, g.BAR1Total = c(3<<20), c(128<<30)
	g.ECC = metric.ECC{Enabled: c(true), Corrected: c(uint64(17)), Uncorrected: c(uint64(1))}
	g.RemappedCorrectable, g.RemappedUncorrectable, g.RemappingPending, g.RemappingFailed = c(3), c(1), c(1), c(0)
	g.Persistence, g.ComputeMode = c(1), c(3)
	g.NVLinkCount, g.NVLinksUp, g.NVLinkErrors, g.NVLinkReceived, g.NVLinkSent = c(18), c(17), c(48), c(95<<30), c(90<<30)
	for link := range 18 {
		l := metric.NVLink{Link: link, Active: link != 17}
		if l.Active {
			l.Received, l.Sent = c(5_600_000_000+link<<20), c(5_300_000_000)
			l.CRCErrors, l.Replays, l.Recoveries = c(uint64(0)), c(uint64(0)), c(uint64(0))
		}
		g.NVLinks = append(g.NVLinks, l)
	}
	g.NVLinks[0].CRCErrors, g.NVLinks[0].Replays = c(uint64(40)), c(uint64(8))
	g.XIDs = []snapshot.XID{{Code: 63, Time: s.Time.Add(-2 * time.Minute)}, {Code: 13, Time: s.Time.Add(-40 * time.Minute)}}
	g.Unattributed = c(2 * quantity.GiB)
	g.Holders = []snapshot.Holder{{Process: process.Identity{PID: 77001}, User: "zoe", Name: "miner", Command: []string{"/tmp/miner", "--quiet"}}}
	for i := range s.Rows {
		if r := &s.Rows[i]; r.ID.GPUUUID == g.UUID {
			r.MemoryUtilization, r.EncoderUtilization, r.DecoderUtilization = c(41), c(0), c(0)
		}
	}
	return s
}

// pageOf returns a screen with the page of a GPU or instance open.
func pageOf(s *snapshot.Snapshot, gpu, instance, width, height int) *state {
	st := screenOf(s, width, height)
	st.page = &snapshot.Place{GPUUUID: s.GPUs[gpu].UUID}
	if instance > 0 {
		st.page.Instance = s.GPUs[gpu].Instances[instance-1].ID
	}
	return st
}

// TestGPUPages draws the page of a GPU with all figures known, of one with MIG, of an instance, and of a lost GPU.
func TestGPUPages(t *testing.T) {
	for _, size := range [][2]int{{30, 3}, {40, 8}, {60, 14}, {80, 24}, {120, 40}, {200, 50}} {
		for _, c := range []struct {
			name          string
			gpu, instance int
		}{{"known", 3, 0}, {"mig", 5, 0}, {"instance", 5, 1}, {"lost", 6, 0}} {
			if c.name != "known" && size[0] != 80 {
				continue
			}
			t.Run(fmt.Sprintf("%s-%dx%d", c.name, size[0], size[1]), func(t *testing.T) {
				compareScreen(t, pageOf(pagedBox(), c.gpu, c.instance, size[0], size[1]), drawnLook(t))
			})
		}
	}
	for theme, dark := range map[string]bool{"dark": true, "light": false} {
		t.Run("theme-"+theme, func(t *testing.T) {
			compareScreen(t, pageOf(pagedBox(), 3, 0, 80, 24), lookOf(t, theme, dark, colorprofile.TrueColor, cell.UnicodeGlyphs()))
		})
	}
	t.Run("ascii", func(t *testing.T) {
		lk := drawnLook(t)
		lk.Glyphs = cell.ASCIIGlyphs()
		compareScreen(t, pageOf(pagedBox(), 3, 0, 80, 24), lk)
	})
	t.Run("scrolled", func(t *testing.T) {
		st := pageOf(pagedBox(), 3, 0, 80, 24)
		st.pageTop = 18
		compareScreen(t, st, drawnLook(t))
	})
}

// TestGPUPageShowsAllThatIsKnown: from a width of 80 on, the page has every known figure, if it is scrolled to its end.
func TestGPUPageShowsAllThatIsKnown(t *testing.T) {
	for _, size := range [][2]int{{40, 8}, {80, 24}, {200, 50}} {
		st := pageOf(pagedBox(), 3, 0, size[0], size[1])
		page := st.gpuPage(drawnLook(t))
		all := ""
		for ; page.Top <= page.Lines(size[0], size[1]); page.Top++ {
			all += strings.Join(page.Render(size[0], size[1]), "\n")
		}
		for _, want := range []string{
			"GPU 3", "1980 of 1980", "2619 of 2619", "power limit, too hot", "P0", "42%", "71C", "645 of 700 W",
			"gen 4 ×8 of gen 5 ×16", "3M of 128G", "17 corrected", "4 rows, one more", "17 of 18 up", "48 errors", "one process at a", "Xid 63", "row remapped",
			"Xid 13", "miner", "finetune.py", "zoe", "2963112", st.shown.GPUs[3].PCIBusID, "link 17", "down", "CRC 40",
		} {
			if !strings.Contains(all, want) && size[0] >= 80 {
				t.Errorf("%v: no %q", size, want)
			}
		}
	}
	// If nothing is known about a GPU, no figure is 0.
	box := snapshottest.DrawnBox()
	box.GPUs[3] = snapshot.GPU{Index: 3, UUID: box.GPUs[3].UUID, State: snapshot.GPUOK}
	box.GPUs[3].NVLinkCount = c(18)
	box.GPUs[3].Holders = []snapshot.Holder{{Process: process.Identity{PID: 77001}}}
	st := pageOf(box, 3, 0, 80, 24)
	page := st.gpuPage(drawnLook(t))
	for _, line := range page.Render(80, page.Lines(80, 24)) {
		if plain := ansi.Strip(line); strings.Contains(plain, " 0") && !strings.ContainsAny(plain, "│┼┤") {
			t.Errorf("unknown is 0: %q", plain)
		}
	}
}

func TestKeysOfTheGPUPage(t *testing.T) {
	var wanted []bool
	m := newTestModel(t, pagedBox(), func(o *Options) {
		o.Details = func(on bool) { wanted = append(wanted, on) }
	})
	m.press("3", "i")
	m.shows("one more at reset")
	m.shows("Esc back")
	m.press("j", "j")
	m.shows("NVLink")
	if m.st.pageTop != 2 {
		t.Errorf("scrolled to %d", m.st.pageTop)
	}
	m.press("end")
	m.shows("link 17")
	m.press("tab")
	m.shows("GPU 4")
	m.press("tab", "tab")
	m.shows("GPU 5:1")
	m.press("left", "left", "left", "left")
	m.shows("GPU 2")
	m.press("3")
	m.shows("GPU 3")
	m.press("[") // back in time, without leaving the page
	if m.st.page == nil {
		t.Error("the time key closed the page")
	}
	m.press("L", "esc")
	m.shows("COMMAND")
	if m.st.page != nil || m.st.Focus == nil || !slices.Equal(wanted, []bool{true, false}) {
		t.Errorf("page %v, focus %v, details %v", m.st.page, m.st.Focus, wanted)
	}
	m.press("enter", "i", "q")
	if m.st.page != nil || !m.st.detail {
		t.Error("q leads from the page back to the detail")
	}
}

// The mouse scrolls the page, and does not reach what the page hides.
func TestMouseOnTheGPUPage(t *testing.T) {
	m := newTestModel(t, pagedBox(), func(o *Options) { o.Mouse = true })
	m.press("3", "i")
	cursor, focus := m.st.Cursor, *m.st.Focus
	m.send(tea.MouseWheelMsg{X: 5, Y: 5, Button: tea.MouseWheelDown})
	if m.st.pageTop != wheelStep {
		t.Errorf("scrolled to %d", m.st.pageTop)
	}
	m.send(tea.MouseClickMsg{X: 5, Y: 5, Button: tea.MouseLeft})
	m.send(tea.MouseClickMsg{X: 5, Y: 14, Button: tea.MouseLeft})
	if m.st.page == nil || m.st.Cursor != cursor || *m.st.Focus != focus {
		t.Errorf("cursor %v, focus %v", m.st.Cursor, m.st.Focus)
	}
}

// The GPU of a page may be missing from the next snapshot.
func TestGPUPageOfAGPUThatIsNotThere(t *testing.T) {
	box := pagedBox()
	m := newTestModel(t, box, nil)
	m.press("5", "i", "tab")
	less := pagedBox()
	less.GPUs = less.GPUs[:5]
	m.tick(less)
	m.shows("this GPU is not there")
	m.press("j", "end", "pgup", "tab")
	m.shows("GPU 1")
}

func BenchmarkGPUPage200x50(b *testing.B) {
	st := pageOf(snapshottest.Crowded(8, 8), 3, 0, 200, 50)
	lk := lookOf(b, "dark", true, colorprofile.TrueColor, cell.UnicodeGlyphs())
	b.ReportAllocs()
	for b.Loop() {
		frame(st, lk)
	}
}

// Nothing is known of a lost GPU's MIG mode, which was on or off before.
func TestMIGModeOfALostGPUIsUnknown(t *testing.T) {
	for mig, instances := range map[bool]string{false: "off", true: "on, 1 instance"} {
		for state, want := range map[snapshot.GPUState]string{snapshot.GPUOK: instances, snapshot.GPULost: "–", snapshot.GPUHanging: "–"} {
			box := snapshottest.DrawnBox()
			g := &box.GPUs[3]
			if g.State, g.MIG = state, mig; mig {
				g.Instances = make([]snapshot.Instance, 1)
			}
			page := pageOf(box, 3, 0, 80, 24).gpuPage(drawnLook(t))
			all := ansi.Strip(strings.Join(page.Render(80, page.Lines(80, 24)), "\n"))
			_, after, _ := strings.Cut(all, "MIG ")
			if got := strings.TrimSpace(after); !strings.HasPrefix(got, want) {
				t.Errorf("MIG %v of a GPU that is %s: %.20q, want %q", mig, state, got, want)
			}
		}
	}
}

// TestPagesKeepTheHeader: the detail and a GPU's page keep the header, except in a small pane.
func TestPagesKeepTheHeader(t *testing.T) {
	for _, page := range []bool{true, false} {
		st := pageOf(pagedBox(), 3, 0, 80, 24)
		if !page {
			st.page, st.detail = nil, true
		}
		st.readOnly = true
		lines := frame(st, drawnLook(t))
		for _, want := range []string{"READ-ONLY", "h100-03", "12:04:17"} {
			if !strings.Contains(lines[0], want) {
				t.Errorf("page %v: no %q in %q", page, want, lines[0])
			}
		}
		if strings.Contains(lines[23], "READ-ONLY") {
			t.Errorf("page %v: the badge is there twice", page)
		}
		st.height = 14
		if lines := frame(st, drawnLook(t)); !strings.Contains(lines[0], "GPU 3") && page || !strings.Contains(lines[13], "READ-ONLY") {
			t.Errorf("page %v in a pane: %q, %q", page, lines[0], lines[13])
		}
	}
}

// TestNoTextIsBlue: in 16 colours blue is only for the blocks of bars.
func TestNoTextIsBlue(t *testing.T) {
	blue := regexp.MustCompile(`\x1b\[34m[^\x1b]*[^\x1b█▅ ]`)
	lk := lookOf(t, "terminal", true, colorprofile.ANSI, cell.UnicodeGlyphs())
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 50}} {
		main := func(s *snapshot.Snapshot) *state { return screenOf(s, size[0], size[1]) }
		inDetail := main(fullStats()).at(snapshottest.Leaking, 1)
		inDetail.detail = true
		for what, st := range map[string]*state{
			"main": main(pagedBox()), "day one": main(snapshottest.DayOne()), "page": pageOf(pagedBox(), 3, 0, size[0], size[1]), "detail": inDetail,
		} {
			if found := blue.FindString(strings.Join(frame(st, lk), "\n")); found != "" {
				t.Errorf("%s at %v: %q", what, size, found)
			}
		}
	}
}
