package ui

import (
	"bytes"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"go.uber.org/goleak"

	"vramscope/sampler/snapshot"
)

func TestTraits(t *testing.T) {
	for name, tc := range map[string]struct {
		env  environment
		want traits
	}{
		"a modern terminal": {
			environment{"TERM=xterm-256color", "COLORTERM=truecolor", "LANG=en_US.UTF-8"},
			traits{profile: colorprofile.TrueColor},
		},
		"tmux":                   {environment{"TERM=tmux-256color", "LANG=C.utf8"}, traits{profile: colorprofile.ANSI256}},
		"16 colours":             {environment{"TERM=xterm", "LANG=C.UTF-8"}, traits{profile: colorprofile.ANSI}},
		"no locale, as over SSH": {environment{"TERM=xterm"}, traits{profile: colorprofile.ANSI}},
		"Latin-1":                {environment{"TERM=xterm", "LANG=de_DE@euro"}, traits{ascii: true, profile: colorprofile.ANSI}},
		"LC_ALL rules":           {environment{"TERM=xterm", "LANG=C.UTF-8", "LC_ALL=C"}, traits{ascii: true, profile: colorprofile.ANSI}},
		"the last one rules":     {environment{"TERM=dumb", "TERM=xterm"}, traits{profile: colorprofile.ANSI}},
		"the Linux console":      {environment{"TERM=linux", "LANG=C.UTF-8"}, traits{console: true, ascii: true, profile: colorprofile.ANSI}},
		"dumb":                   {environment{"TERM=dumb", "LANG=C.UTF-8"}, traits{dumb: true, ascii: true, profile: colorprofile.NoTTY}},
		"no TERM":                {environment{"LANG=C.UTF-8"}, traits{dumb: true, ascii: true, profile: colorprofile.NoTTY}},
		"NO_COLOR, any value":    {environment{"TERM=xterm", "COLORTERM=truecolor", "NO_COLOR=no"}, traits{profile: colorprofile.ASCII}},
		"NO_COLOR, empty":        {environment{"TERM=xterm", "NO_COLOR="}, traits{profile: colorprofile.ANSI}},
		"CLICOLOR=0":             {environment{"TERM=xterm-256color", "CLICOLOR=0"}, traits{profile: colorprofile.ASCII}},
		"CLICOLOR=0, but forced": {environment{"TERM=xterm-256color", "CLICOLOR=0", "CLICOLOR_FORCE=1"}, traits{profile: colorprofile.ANSI256}},
	} {
		if got := traitsOf(tc.env); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// unread is an output whose other end nobody reads, and that end.
func unread(t *testing.T, drained func(bool), failed func(error)) (*terminalOutput, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() }) // a test may have closed them already
	return newTerminalOutput(w, drained, failed), r
}

func TestOutputIsWrittenInOrder(t *testing.T) {
	defer goleak.VerifyNone(t)
	// On a loaded machine it may stall; nothing may be lost of so little.
	drained := func(lost bool) {
		if lost {
			t.Error("bytes were dropped")
		}
	}
	o, r := unread(t, drained, func(err error) { t.Error(err) })
	read := make(chan []byte)
	go func() {
		all, err := io.ReadAll(io.LimitReader(r, 30000))
		if err != nil {
			t.Error(err)
		}
		read <- all
	}()
	var want []byte
	for i := range 3000 {
		chunk := []byte{byte(i), byte(i >> 8), 'a', 'b', 'c', 'd', 'e', 'f', 'g', '\n'}
		want = append(want, chunk...)
		if n, err := o.Write(chunk); n != len(chunk) || err != nil {
			t.Fatal(n, err)
		}
	}
	if !bytes.Equal(<-read, want) {
		t.Error("what arrived is not what was written")
	}
	o.Stop()
}

func TestUnreadOutputStallsAndComesBack(t *testing.T) {
	defer goleak.VerifyNone(t)
	drained := make(chan bool, 1)
	o, r := unread(t, func(lost bool) { drained <- lost }, func(err error) { t.Error(err) })
	frame := bytes.Repeat([]byte("x"), 100_000)
	start := time.Now()
	for range 50 { // five times what is kept
		if _, err := o.Write(frame); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(start); took > patience {
		t.Errorf("writing to a terminal that nobody reads took %v", took)
	}
	if !o.Stalled() {
		t.Fatal("it does not know that nobody reads")
	}
	copied := make(chan int64)
	go func() {
		n, _ := io.Copy(io.Discard, r) // until the end is closed below
		copied <- n
	}()
	if lost := <-drained; !lost {
		t.Error("it does not say that bytes were dropped")
	}
	if o.Stalled() {
		t.Error("still stalled after everything was read")
	}
	if _, err := o.Write([]byte("!")); err != nil || !o.Flush(patience) {
		t.Errorf("it does not go on: %v", err)
	}
	o.Stop()
	if err := o.file.Close(); err != nil {
		t.Fatal(err)
	}
	if n := <-copied; n > pendingLimit+1_000_000 {
		t.Errorf("%d bytes had piled up", n)
	}
}

func TestUnreadOutputIsGivenUp(t *testing.T) {
	defer goleak.VerifyNone(t)
	o, r := unread(t, func(bool) {}, func(err error) { t.Error(err) })
	if _, err := o.Write(bytes.Repeat([]byte("x"), 500_000)); err != nil {
		t.Fatal(err)
	}
	if o.Flush(50 * time.Millisecond) {
		t.Fatal("the pipe took everything: the test shows nothing")
	}
	if !eventually(o.Interrupt) {
		t.Fatal("the write cannot be given up")
	}
	go func() { _, _ = io.Copy(io.Discard, r) }() // makes room, until the end is closed
	if _, err := o.Write([]byte("restored")); err != nil || !o.Flush(patience) {
		t.Errorf("nothing can be written after that: %v", err)
	}
	o.Stop()
	if err := o.file.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestClosedOutputIsReported(t *testing.T) {
	defer goleak.VerifyNone(t)
	failed := make(chan error, 1)
	o, r := unread(t, func(bool) {}, func(err error) { failed <- err })
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Write([]byte("x")); err != nil {
		t.Fatal(err) // it is known only after the write
	}
	select {
	case err := <-failed:
		if err == nil {
			t.Error("told without a reason")
		}
	case <-time.After(patience):
		t.Fatal("nobody was told")
	}
	if _, err := o.Write([]byte("x")); err == nil {
		t.Error("a write to a terminal that is gone succeeds")
	}
	o.Stop()
}

func TestBellRingsOnceForEachNewAlarm(t *testing.T) {
	full := snapshot.Alert{Kind: snapshot.AlertFullIn, Severity: snapshot.Urgent, GPUUUID: "GPU-3"}
	memory := snapshot.Alert{Kind: snapshot.AlertOutOfMemory, Severity: snapshot.Urgent, GPUUUID: "GPU-4"}
	lost := snapshot.Alert{Kind: snapshot.AlertLost, Severity: snapshot.Notice, GPUUUID: "GPU-6"}
	var b bell
	now := noon()
	for i, step := range []struct {
		after  time.Duration
		alerts []snapshot.Alert
		rings  bool
	}{
		{0, []snapshot.Alert{memory}, false}, // on the first screen
		{time.Second, []snapshot.Alert{memory, lost}, false},
		{time.Second, []snapshot.Alert{memory, full, lost}, true},
		{time.Second, []snapshot.Alert{full, memory}, false},    // it stands on
		{time.Second, nil, false},                               // cleared
		{time.Second, []snapshot.Alert{full}, false},            // again, within a minute
		{time.Second, nil, false},                               //
		{2 * time.Minute, []snapshot.Alert{full, memory}, true}, // two at once: one bell
	} {
		now = now.Add(step.after)
		if got := b.ring(step.alerts, now); got != step.rings {
			t.Errorf("step %d: rings %v", i, got)
		}
	}
}

func TestTitle(t *testing.T) {
	box := smallBox(4, 1, 0)
	if got := titleOf(nil); got != "vramscope" {
		t.Errorf("before the first snapshot: %q", got)
	}
	if got := titleOf(box); got != "vramscope h100-03" {
		t.Errorf("at rest: %q", got)
	}
	box.Alerts = []snapshot.Alert{
		{Kind: snapshot.AlertLost, Severity: snapshot.Notice, GPU: 2, GPUUUID: "GPU-2"},
		{Kind: snapshot.AlertFullIn, Severity: snapshot.Urgent, GPU: 3, GPUUUID: box.GPUs[3].UUID},
	}
	box.GPUs[3].FullIn = &snapshot.FullIn{Median: 250 * time.Second}
	if got := titleOf(box); got != "vramscope h100-03 ! 3 full 4m" {
		t.Errorf("in alarm: %q", got)
	}
	box.Host.Name = "evil\x07\x1b]0;owned"
	if got := titleOf(box); bytes.ContainsAny([]byte(got), "\x07\x1b") {
		t.Errorf("a hostile host name: %q", got)
	}
}

// The watchdog leaves the terminal while the ordinary end closes it.
func TestOutputMayBeStoppedWhileItIsWrittenTo(t *testing.T) {
	defer goleak.VerifyNone(t)
	for range 2000 {
		w, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		o := newTerminalOutput(w, func(bool) {}, func(error) {})
		var writers sync.WaitGroup
		for range 4 {
			writers.Go(func() {
				for err := error(nil); err == nil; {
					_, err = o.Write([]byte("x"))
				}
			})
		}
		time.Sleep(100 * time.Microsecond)
		o.Stop()
		writers.Wait()
		if !o.Flush(patience) {
			t.Fatal("accepted bytes are still pending after the end")
		}
		_ = w.Close() // nothing is left to write
	}
}
