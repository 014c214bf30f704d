package ui

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vramscope/action/attach"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/cell"
	"vramscope/ui/dialog"
	"vramscope/ui/uitest"
)

// seenBy returns the drawn box as an ordinary user sees it: a probe answers only its own user.
func seenBy(user string) *snapshot.Snapshot {
	box := snapshottest.DrawnBox()
	box.Host.User = user
	for i := range box.Rows {
		p := &box.Rows[i]
		if p.Probe != nil && p.User != user {
			trend, growth, predicted := p.Trend, p.GrowthPerSecond, p.Predicted
			withoutProbe(p)
			p.Trend, p.GrowthPerSecond, p.Predicted = trend, growth, predicted
		}
	}
	for i := range box.GPUs {
		gpu := &box.GPUs[i]
		if gpu.Index != 2 {
			gpu.Parts = snapshot.Parts{}
		}
		for j := range gpu.Instances {
			gpu.Instances[j].Parts = snapshot.Parts{}
		}
	}
	return box
}

const drawnLog = "/home/bob/.local/state/vramscope"

// drawnPlan returns the plan for bob's process in the drawing 6-attach.
func drawnPlan() attach.Plan {
	plan := attach.Plan{
		Interpreter: "/opt/conda/bin/python3.11", Version: "3.11.9", Method: attach.GDB,
		Instead: "vramscope run -- python eval.py",
	}
	for _, text := range []string{
		"your own process", "ptrace allowed (scope 0)", "gdb 14.2 at /usr/bin/gdb", "no other tracer", "same container", "glibc",
	} {
		plan.Checks = append(plan.Checks, attach.Check{OK: true, Text: text})
	}
	return plan
}

// refusedPlan returns the plan of the drawing 6-attach-refused.
func refusedPlan() attach.Plan {
	return attach.Plan{
		Checks: []attach.Check{
			{OK: true, Text: "same container"},
			{Text: "not Python: /opt/tritonserver/bin/tritonserver is native code"},
			{Text: "another user's process (frank); you are bob"},
		},
		Instead: "vramscope run -- tritonserver",
	}
}

// askedToAttach returns the drawn box with the dialog about a process open.
func askedToAttach(lk *cell.Appearance, pid, width, height int) (*state, dialog.Attach) {
	st := screenOf(seenBy("bob"), width, height)
	d := dialog.NewAttach(lk, st.screen(), snapshottest.RowID(st.live, pid), "/home/bob", drawnLog)
	st.overlay = d
	return st, d
}

func TestAttachAsDrawn(t *testing.T) {
	want := readLines(t, filepath.Join("testdata", "drawings", "6-attach-80x24.txt"))
	lk := drawnLook(t)
	st, d := askedToAttach(lk, snapshottest.Probeme, 80, 24)
	st.overlay = d.Fill(drawnPlan())
	got := frame(st, lk)
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("line %d\n got %s|\nwant %s|", i+1, got[i], want[i])
		}
	}
}

func TestRefusedAttachAsDrawn(t *testing.T) {
	want := readLines(t, filepath.Join("testdata", "drawings", "6-attach-refused-80x8.txt"))
	_, d := askedToAttach(drawnLook(t), 3000533, 80, 24)
	got := d.Fill(refusedPlan()).Render(80, 8)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAttachDialogKeepsItsHeight: the dialog has its height before the plan is known.
func TestAttachDialogKeepsItsHeight(t *testing.T) {
	_, d := askedToAttach(drawnLook(t), snapshottest.Probeme, 80, 24)
	before := d.Size(80)
	after := d.Fill(drawnPlan()).Size(80)
	if before != after {
		t.Errorf("it grows from %d lines to %d", before, after)
	}
	if got := shownText(d); !strings.Contains(got, "examining the process") || strings.Contains(got, "y  attach") {
		t.Errorf("before anything is known it says\n%s", got)
	}
}

func TestOnlyYAttaches(t *testing.T) {
	_, asked := askedToAttach(drawnLook(t), snapshottest.Probeme, 80, 24)
	ready := asked.Fill(drawnPlan())
	for key, want := range map[string]dialog.Outcome{
		"y": dialog.Confirmed, "esc": dialog.Closed, "n": dialog.Closed, "N": dialog.Closed, "q": dialog.Closed,
		"enter": dialog.Handled, "space": dialog.Handled, "Y": dialog.Handled, "a": dialog.Handled, "d": dialog.Handled, "ctrl+m": dialog.Handled,
	} {
		if _, out := ready.Press(key, 80, 14); out != want {
			t.Errorf("%q comes out as %v, want %v", key, out, want)
		}
	}
	if _, out := ready.Press("y", 80, dialog.MinLines-1); out == dialog.Confirmed {
		t.Error("y attaches from a dialog too small to read")
	}
	for name, d := range map[string]dialog.Attach{"not looked yet": asked, "refused": asked.Fill(refusedPlan()), "no way": asked.Fill(attach.Plan{})} {
		if _, out := d.Press("y", 80, 14); out != dialog.Handled {
			t.Errorf("%s: y comes out as %v", name, out)
		}
	}
}

func TestAttachDialogFollowsItsProcess(t *testing.T) {
	lk := drawnLook(t)
	st, d := askedToAttach(lk, snapshottest.Probeme, 80, 24)
	d = d.Fill(drawnPlan())
	for name, c := range map[string]struct {
		change func(*snapshot.Process)
		want   string
	}{
		"the pid is another process": {func(p *snapshot.Process) { p.ID.Process.StartTime++ }, "it has ended"},
		"it got a probe":             {func(p *snapshot.Process) { p.Probe = &snapshot.Probe{State: snapshot.ProbeLive} }, "it has a probe already"},
	} {
		next := *st.live
		next.Rows = slices.Clone(st.live.Rows)
		at := slices.IndexFunc(next.Rows, func(p snapshot.Process) bool { return p.ID.Process.PID == snapshottest.Probeme })
		c.change(&next.Rows[at])
		then := *st
		then.live = &next
		o := d.Follow(then.screen())
		if got := shownText(o); !strings.Contains(got, "Cannot attach") || !strings.Contains(got, c.want) {
			t.Errorf("%s: it says\n%s", name, got)
		}
		if _, out := o.Press("y", 80, 14); out != dialog.Handled {
			t.Errorf("%s: y comes out as %v", name, out)
		}
	}
}

func TestAttachNamesOwnerAndMethod(t *testing.T) {
	_, d := askedToAttach(drawnLook(t), snapshottest.Leaking, 80, 24)
	plan := drawnPlan()
	plan.Method, plan.Version = "remote_exec", "3.14.0"
	got := shownText(d.Fill(plan))
	for _, want := range []string{"inside carol's process", "sys.remote_exec", "No attaching next time"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "gdb stops it") || strings.Contains(got, "debugger") {
		t.Errorf("it speaks of a debugger that is not used:\n%s", got)
	}
}

func TestAttachGoldens(t *testing.T) {
	for _, size := range [][2]int{{80, 13}, {120, 20}, {60, 9}, {40, 8}, {30, 6}} {
		for _, ascii := range []bool{false, true} {
			for name, plan := range map[string]attach.Plan{"ready": drawnPlan(), "refused": refusedPlan()} {
				t.Run(name+" "+size2(size)+map[bool]string{true: " ascii"}[ascii], func(t *testing.T) {
					_, d := askedToAttach(uitest.Appearance(t, "", ascii), snapshottest.Probeme, 80, 24)
					matches(t, d.Fill(plan), size[0], size[1])
				})
			}
		}
	}
	t.Run("looking", func(t *testing.T) {
		_, d := askedToAttach(uitest.Appearance(t, "", false), snapshottest.Probeme, 80, 24)
		matches(t, d, 80, 13)
	})
	t.Run("colours", func(t *testing.T) {
		_, d := askedToAttach(uitest.Appearance(t, "dark", false), snapshottest.Probeme, 80, 24)
		matches(t, d.Fill(drawnPlan()), 80, 13)
	})
}

func TestAttachExplainsItselfAtEverySize(t *testing.T) {
	lk := drawnLook(t)
	for width := 60; width <= 200; width += 7 {
		for _, height := range []int{11, 12, 13, 15, 18, 24, 34, 50} {
			st, d := askedToAttach(lk, snapshottest.Probeme, width, height)
			st.overlay = d.Fill(drawnPlan())
			screen := strings.Join(frame(st, lk), "\n")
			words := strings.Join(strings.Fields(strings.ReplaceAll(screen, "│", " ")), " ")
			for _, want := range []string{"PID 3011876", "This runs vramscope's code", "brief", "y attach", "Esc cancel"} {
				if !strings.Contains(words, want) {
					t.Fatalf("%d×%d: no %q in\n%s", width, height, want, screen)
				}
			}
		}
	}
}

func TestAttachSurvivesHostileNames(t *testing.T) {
	bad := "\x1b[2J\x07\u202e" + strings.Repeat("名", 200)
	box := seenBy("bob")
	for i := range box.Rows {
		p := &box.Rows[i]
		p.User, p.Name, p.Command = bad, bad, []string{bad, bad}
	}
	st := screenOf(box, 80, 24)
	d := dialog.NewAttach(drawnLook(t), st.screen(), snapshottest.RowID(box, snapshottest.Probeme), "/home/bob", bad)
	plan := attach.Plan{Interpreter: bad, Version: bad, Method: attach.GDB, Instead: bad}
	for range 7 {
		plan.Checks = append(plan.Checks, attach.Check{OK: true, Text: bad})
	}
	refused := plan
	refused.Checks = append([]attach.Check{{Text: bad}}, plan.Checks...)
	for _, asked := range []dialog.Attach{d, d.Fill(plan), d.Fill(refused)} {
		for width := 30; width <= 120; width += 15 {
			lines := asked.Render(width, 14)
			uitest.CheckCells(t, lines, width, 14)
			if strings.ContainsAny(strings.Join(lines, ""), "\x1b\x07\u202e") {
				t.Errorf("hostile text reaches the screen:\n%s", strings.Join(lines, "\n"))
			}
		}
	}
}
