package recording

import (
	"testing"
	"time"

	"vramscope/sampler/snapshot"
)

func TestReaderDuringWriting(t *testing.T) {
	directory := t.TempDir()
	w, err := Create(directory, Options{})
	if err != nil {
		t.Fatal(err)
	}
	box := newSynthetic(2, 3)
	ended := make(chan []*snapshot.Snapshot)
	stop := make(chan struct{})
	go func() {
		var moments []*snapshot.Snapshot
		for {
			select {
			case <-stop:
				ended <- moments
				return
			default:
			}
			snap := box.next()
			if w.Append(snap, nil) == nil {
				moments = append(moments, snap)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	var r *Recording
	eventually(t, func() bool { r, err = Open(directory); return err == nil })
	newest := time.Time{}
	eventually(t, func() bool { // through several blocks
		oldest, now := r.Span()
		if now.Before(newest) {
			t.Fatalf("the span ends at %v after %v", now, newest)
		}
		newest = now
		then, ok := r.At(now)
		if !now.IsZero() && (!ok || len(then.Rows) != 6) {
			t.Fatalf("at %v: %v %+v", now, ok, then)
		}
		return now.Sub(oldest) > 200*time.Second
	})
	close(stop)
	moments := <-ended
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	has(t, r, moments)
	if problems := r.Problems(); len(problems) > 0 {
		t.Error(problems)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
