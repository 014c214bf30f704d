package terminal

import (
	"bytes"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// unread returns an output whose other end is not read, and that end.
func unread(t *testing.T, drained func(bool), failed func(error)) (*output, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() }) // a test may have closed them already
	return newOutput(w, drained, failed), r
}

func TestOutputIsWrittenInOrder(t *testing.T) {
	defer goleak.VerifyNone(t)
	// On a loaded machine the output may stall, but so little output must not be lost.
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

func TestUnreadOutputStallsAndRecovers(t *testing.T) {
	defer goleak.VerifyNone(t)
	drained := make(chan bool, 1)
	o, r := unread(t, func(lost bool) { drained <- lost }, func(err error) { t.Error(err) })
	frame := bytes.Repeat([]byte("x"), 100_000)
	start := time.Now()
	for range 50 { // nearly five times pendingLimit
		if _, err := o.Write(frame); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(start); took > waitTimeout {
		t.Errorf("writing to an unread terminal took %v", took)
	}
	if !o.Stalled() {
		t.Fatal("it does not report the stall")
	}
	copied := make(chan int64)
	go func() {
		n, _ := io.Copy(io.Discard, r) // until the end is closed below
		copied <- n
	}()
	if lost := <-drained; !lost {
		t.Error("it does not report the dropped bytes")
	}
	if o.Stalled() {
		t.Error("still stalled after everything was read")
	}
	if _, err := o.Write([]byte("!")); err != nil || !o.Flush(waitTimeout) {
		t.Errorf("writing fails afterwards: %v", err)
	}
	o.Stop()
	if err := o.file.Close(); err != nil {
		t.Fatal(err)
	}
	if n := <-copied; n > pendingLimit+1_000_000 {
		t.Errorf("%d bytes had piled up", n)
	}
}

func TestInterruptEndsBlockedWrite(t *testing.T) {
	defer goleak.VerifyNone(t)
	o, r := unread(t, func(bool) {}, func(err error) { t.Error(err) })
	if _, err := o.Write(bytes.Repeat([]byte("x"), 500_000)); err != nil {
		t.Fatal(err)
	}
	if o.Flush(50 * time.Millisecond) {
		t.Fatal("the pipe took everything, so nothing blocks")
	}
	if !eventually(o.Interrupt) {
		t.Fatal("the write cannot be ended")
	}
	go func() { _, _ = io.Copy(io.Discard, r) }() // makes room, until the end is closed
	if _, err := o.Write([]byte("restored")); err != nil || !o.Flush(waitTimeout) {
		t.Errorf("nothing can be written afterwards: %v", err)
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
		t.Fatal(err) // the error comes after the write
	}
	select {
	case err := <-failed:
		if err == nil {
			t.Error("reported without a reason")
		}
	case <-time.After(waitTimeout):
		t.Fatal("the end was not reported")
	}
	if _, err := o.Write([]byte("x")); err == nil {
		t.Error("a write to a closed terminal succeeds")
	}
	o.Stop()
}

// TestStopDuringWritesDoesNotPanic: the watchdog may write while the ordinary end stops the output.
func TestStopDuringWritesDoesNotPanic(t *testing.T) {
	defer goleak.VerifyNone(t)
	for range 2000 {
		w, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		o := newOutput(w, func(bool) {}, func(error) {})
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
		if !o.Flush(waitTimeout) {
			t.Fatal("accepted bytes are still pending after the end")
		}
		_ = w.Close() // nothing is left to write
	}
}

// waitTimeout is generous: a loaded machine is no failure.
const waitTimeout = 60 * time.Second

func eventually(done func() bool) bool {
	for deadline := time.Now().Add(waitTimeout); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if done() {
			return true
		}
	}
	return done()
}
