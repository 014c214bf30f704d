package ui

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/cell"
)

func lineOf(t *testing.T, lines []string, prefix string) string {
	t.Helper()
	for _, line := range lines {
		if strings.HasPrefix(line, prefix) {
			return line
		}
	}
	t.Fatalf("no line starts with %q in\n%s", prefix, strings.Join(lines, "\n"))
	return ""
}

func TestNoteIsTheWorst(t *testing.T) {
	s := snapshottest.DrawnBox()
	gpu := &s.GPUs[3]
	gpu.Throttled = []string{"thermal"}
	alert := func(kind snapshot.AlertKind, note string) snapshot.Alert {
		return snapshot.Alert{Kind: kind, GPU: 3, GPUUUID: gpu.UUID, Note: note, Message: note}
	}
	s.Alerts = []snapshot.Alert{
		alert(snapshot.AlertLeak, "leak +25M/s"), alert(snapshot.AlertOutOfMemory, "out of memory x2"),
		alert(snapshot.AlertECC, "ECC 1 uncorrectable"), alert(snapshot.AlertFullIn, "full soon"),
	}
	note := func() string {
		line := lineOf(t, frame(screenOf(s, 80, 24), drawnLook(t)), "   3 ")
		return strings.TrimSpace(string([]rune(line)[57:]))
	}
	for _, want := range []string{"ECC 1 uncorrectable", "out of memory x2", "full in 4m10s (3m–6m)", "leak +25M/s", "throttled: thermal", "carol finetune.py +1"} {
		if got := strings.TrimSpace(strings.TrimPrefix(note(), "!")); got != want {
			t.Errorf("the note is %q, the worst is %q", got, want)
		}
		switch want {
		case "ECC 1 uncorrectable":
			s.Alerts = append(s.Alerts[:2:2], s.Alerts[3])
		case "out of memory x2":
			s.Alerts = append(s.Alerts[:1:1], s.Alerts[2])
		case "full in 4m10s (3m–6m)":
			s.Alerts = s.Alerts[:1]
		case "leak +25M/s":
			s.Alerts = nil
		case "throttled: thermal":
			gpu.Throttled = nil
		}
	}
	gpu.State, gpu.Since, gpu.RetryAt = snapshot.GPUHanging, s.Time.Add(-12*time.Second), time.Time{}
	if line := lineOf(t, frame(screenOf(s, 80, 24), drawnLook(t)), "   3 "); !strings.Contains(line, "── no answer 12s ──") || strings.Contains(line, "98%") {
		t.Errorf("a GPU that hangs shows %q", line)
	}
}

// TestIdleHolder: a GPU is idle after ten minutes without work with more than 1 GiB used.
func TestIdleHolder(t *testing.T) {
	for _, c := range []struct {
		idle time.Duration
		used quantity.Bytes
		want bool
	}{{42 * time.Minute, 71 * gb, true}, {9 * time.Minute, 71 * gb, false}, {42 * time.Minute, gb / 2, false}} {
		s := snapshottest.DrawnBox()
		s.GPUs[2].IdleSince, s.GPUs[2].Memory.Used = s.Time.Add(-c.idle), quantity.From(c.used, quantity.Driver)
		line := lineOf(t, frame(screenOf(s, 80, 24), drawnLook(t)), "   2 ")
		if got := strings.Contains(line, "idle"); got != c.want {
			t.Errorf("idle for %v with %v: %q", c.idle, c.used, line)
		}
	}
}

func TestIdleAfterIsConfigured(t *testing.T) {
	s := snapshottest.DrawnBox() // GPU 2 has done nothing for 42 minutes
	for _, c := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {41 * time.Minute, true}, {time.Hour, false}} {
		m := newTestModel(t, s, func(o *Options) {
			o.Now, o.IdleAfter = func() time.Time { return s.Time }, c.after
		})
		if got := strings.Contains(m.screen(), "idle 42m"); got != c.want {
			t.Errorf("idle after %v: called idle %v, want %v", c.after, got, c.want)
		}
	}
}

// TestAlarmedLinesArePinned: if not all GPU lines fit, those with an alarm are on top however far
// the rest is scrolled, and no line appears twice.
func TestAlarmedLinesArePinned(t *testing.T) {
	s := snapshottest.Crowded(40, 1)
	s.Alerts = []snapshot.Alert{{
		Kind: snapshot.AlertOutOfMemory, Severity: snapshot.Urgent, GPU: 33, GPUUUID: s.GPUs[33].UUID, Note: "out of memory x2", Message: "out of memory",
	}}
	for _, top := range []int{0, 5, 1000} {
		st := screenOf(s, 80, 24)
		st.gpuTop = top
		lines := frame(st, drawnLook(t))
		if !strings.HasPrefix(lines[1], " 33 ") || !strings.Contains(lines[1], "! OOM  ") {
			t.Errorf("scrolled to %d the first line is %q", top, lines[1])
		}
		if n := strings.Count(strings.Join(lines[:15], "\n"), " 33 "); n != 1 {
			t.Errorf("GPU 33 stands there %d times", n)
		}
	}
	lines := frame(screenOf(s, 80, 24), drawnLook(t))
	if !strings.HasPrefix(lines[2], "  0 ") {
		t.Errorf("not scrolled, the second line is %q", lines[2])
	}
	if !strings.Contains(lines[23], "  28/40 GPU  ") {
		t.Errorf("twelve GPUs are out of sight, and the last line is %q", lines[23])
	}
}

// TestTwoKinds: on a box with two kinds of GPU each line names the kind, and lines side by side have used memory in per
// cent.
func TestTwoKinds(t *testing.T) {
	s := snapshottest.DrawnBox()
	s.GPUs[1].Name = "NVIDIA GeForce RTX 4090"
	lines := frame(screenOf(s, 80, 24), drawnLook(t))
	if line := lineOf(t, lines, "   0 "); !strings.HasPrefix(line, "   0 H100 80G ") {
		t.Errorf("%q", line)
	}
	if line := lineOf(t, lines, "   1 "); !strings.HasPrefix(line, "   1 RTX 4090 ") {
		t.Errorf("%q", line)
	}
	if !strings.Contains(lines[0], "7×H100 80GB, 1×RTX 4090  drv 550") {
		t.Errorf("the header says %q", lines[0])
	}
	s = snapshottest.SixteenGPUs()
	s.GPUs[15].Name = "NVIDIA L40S"
	if line := lineOf(t, frame(screenOf(s, 80, 24), drawnLook(t)), "  0 "); !strings.Contains(line, "  81%  95% 66C") {
		t.Errorf("used of GPU 0 is not per cent: %q", line)
	}
}

// TestThresholdsColourTheDigits: a hot GPU's temperature is yellow, and nothing else on its line is.
func TestThresholdsColourTheDigits(t *testing.T) {
	s := snapshottest.DrawnBox()
	s.GPUs[0].Temperature = quantity.From(84, quantity.Driver)
	lk := lookOf(t, "terminal", true, colorprofile.ANSI, cell.UnicodeGlyphs())
	line := frame(screenOf(s, 80, 24), lk)[1]
	if !strings.Contains(line, "\x1b[33m84C") || strings.Count(line, "\x1b[33m") != 1 {
		t.Errorf("%q", line)
	}
	s.GPUs[0].Temperature = quantity.From(81, quantity.Driver)
	if line := frame(screenOf(s, 80, 24), lk)[1]; strings.Contains(line, "\x1b[33m") {
		t.Errorf("81 °C of 87 is coloured: %q", line)
	}
}

// TestBigCards: used/total has 12 cells on a box with a card of more than 100 GiB.
func TestBigCards(t *testing.T) {
	s := snapshottest.DrawnBox()
	s.GPUs[0].Memory.Total, s.GPUs[0].Memory.Used = amountIn(143.8), amountIn(140.1)
	lines := frame(screenOf(s, 80, 24), drawnLook(t))
	if line := lineOf(t, lines, "   0 "); !strings.Contains(line, " 140.1/143.8G 18.2G  97%") {
		t.Errorf("%q", line)
	}
	if line := lineOf(t, lines, "   1 "); !strings.Contains(line, "   60.7/79.6G 18.3G  98%") {
		t.Errorf("%q", line)
	}
}

// TestUnknownFiguresAreDashes: a figure that the driver refuses is a dash, never a zero.
func TestUnknownFiguresAreDashes(t *testing.T) {
	s := snapshottest.DrawnBox()
	gpu := &s.GPUs[0]
	gpu.Utilization, gpu.Temperature, gpu.Power, gpu.Memory.Used, gpu.Memory.Free = snapshot.Int{}, snapshot.Int{}, snapshot.Float{}, snapshot.Bytes{}, snapshot.Bytes{}
	line := lineOf(t, frame(screenOf(s, 80, 24), drawnLook(t)), "   0 ")
	if !strings.Contains(line, "    –/79.6G     –    –    –   ") {
		t.Errorf("%q", line)
	}
}

// TestHiddenProcesses: memory that no listed process accounts for has a note.
func TestHiddenProcesses(t *testing.T) {
	s := snapshottest.DrawnBox()
	s.Rows = nil
	for i := range s.GPUs {
		s.GPUs[i].Unattributed, s.GPUs[i].IdleSince = s.GPUs[i].Memory.Used, time.Time{}
	}
	if line := lineOf(t, frame(screenOf(s, 80, 24), drawnLook(t)), "   0 "); !strings.HasSuffix(line, "   60.8G unattributed   ") {
		t.Errorf("%q", line)
	}
	s = snapshottest.DrawnBox()
	s.GPUs[0].Unattributed = amountIn(12)
	if line := lineOf(t, frame(screenOf(s, 200, 50), drawnLook(t)), "   0 "); !strings.Contains(line, "alice train.py, 12.0G unattributed ") {
		t.Errorf("%q", line)
	}
}

// TestSystemMemoryIsLabelled: the header marks a GPU without memory of its own.
func TestSystemMemoryIsLabelled(t *testing.T) {
	s := snapshottest.Crowded(1, 2)
	s.GPUs[0].Name = "NVIDIA GB10"
	s.GPUs[0].Memory.Total = quantity.From(119*gb, quantity.System)
	if header := frame(screenOf(s, 80, 24), drawnLook(t))[0]; !strings.Contains(header, "1×GB10, system memory") {
		t.Errorf("%q", header)
	}
}

// TestNamelessGPUIsOfNoKind: a GPU that was lost from the start has no name, and is no second kind of GPU.
func TestNamelessGPUIsOfNoKind(t *testing.T) {
	s := snapshottest.DrawnBox()
	s.GPUs[6].Name = ""
	lines := frame(screenOf(s, 80, 24), drawnLook(t))
	if !strings.Contains(lines[0], " 8×H100 80GB HBM3  ") {
		t.Errorf("the header says %q", lines[0])
	}
	if line := lineOf(t, lines, "   0 "); !strings.HasPrefix(line, "   0 █") {
		t.Errorf("a name in %q", line)
	}
	s.GPUs[0].Name = "NVIDIA L4"
	lines = frame(screenOf(s, 120, 40), drawnLook(t))
	if !strings.Contains(lines[0], " 1×L4, 6×H100 80GB HBM3, 1×GPU  ") {
		t.Errorf("the header says %q", lines[0])
	}
}

// TestUnknownUsedIsNotFree: a bar says if used memory is unknown: an empty bar would mean free.
func TestUnknownUsedIsNotFree(t *testing.T) {
	s := snapshottest.DrawnBox()
	s.GPUs[1].Memory.Used, s.GPUs[1].Memory.Free = snapshot.Bytes{}, snapshot.Bytes{}
	s.GPUs[5].Instances[2].Memory.Used = snapshot.Bytes{}
	lines := frame(screenOf(s, 120, 40), drawnLook(t))
	for _, prefix := range []string{"   1 ", " 5:3 "} {
		if line := lineOf(t, lines, prefix); strings.Contains(line, "·") {
			t.Errorf("%q shows free memory that was not measured", line)
		}
	}
	if line := lineOf(t, lines, "   5 "); !strings.Contains(line, "│───") {
		t.Errorf("%q: the third instance is unknown", line)
	}
}

// TestUnattributedIsShown: the driver reports no memory of processes, or no processes. The GPU's line shows the
// unattributed memory, and the table does not claim that there is no process.
func TestUnattributedIsShown(t *testing.T) {
	s := snapshottest.DayOne()
	for i := range s.Rows {
		s.Rows[i].Used = snapshot.Bytes{}
	}
	for i := range s.GPUs {
		s.GPUs[i].Unattributed = s.GPUs[i].Memory.Used
	}
	lines := frame(screenOf(s, 80, 24), drawnLook(t))
	if line := lineOf(t, lines, "   0 "); !strings.HasSuffix(line, "   60.8G unattributed   ") {
		t.Errorf("%q", line)
	}
	s.Rows = nil
	lines = frame(screenOf(s, 80, 24), drawnLook(t))
	if want := " the driver lists no process, though memory is used"; !strings.HasPrefix(lines[10], want) {
		t.Errorf("the table says %q, want %q", lines[10], want)
	}
}

// TestDomainsLeaveRoom: a host's domain does not push the GPUs out of the header.
func TestDomainsLeaveRoom(t *testing.T) {
	s := snapshottest.DrawnBox()
	for name, want := range map[string]string{
		"ip-10-0-12-233.eu-central-1.compute.internal.example-corp.net": " vramscope  root@ip-10-0-12-233  8×H100 80GB HBM3 ",
		"10.0.12.233":           " vramscope  root@10.0.12.233  8×H100 80GB HBM3 ",
		strings.Repeat("a", 60): " vramscope  root@" + strings.Repeat("a", 27) + "…  8×H100 80GB HBM3 ",
	} {
		s.Host.Name = name
		if header := frame(screenOf(s, 80, 24), drawnLook(t))[0]; !strings.HasPrefix(header, want) {
			t.Errorf("%q, want %q", header, want)
		}
	}
}
