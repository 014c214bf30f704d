package recording

import (
	"testing"
	"time"

	"vramscope/sampler/snapshot"
)

// A box whose driver does not answer has neither GPUs nor processes.
func TestBoxWithoutAGPUIsRecorded(t *testing.T) {
	w, err := newWriter(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		at := start.Add(time.Duration(i) * time.Second)
		w.write(tick{&snapshot.Snapshot{Time: at, Interval: time.Second, Driver: snapshot.Driver{State: snapshot.DriverAbsent}}, nil})
		if s := w.State(); !s.Recording {
			t.Fatalf("recording is paused: %s", s.Reason)
		}
	}
	w.commit()
	r := read(t, w.directory)
	for _, i := range []int{0, 100, 299} {
		at := start.Add(time.Duration(i) * time.Second)
		if then, ok := r.At(at); !ok || !then.Time.Equal(at) || then.Driver.State != snapshot.DriverAbsent {
			t.Errorf("at %v: %+v", at, then)
		}
	}
}
