package daemon

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"vramscope/sampler"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/schema"
)

// TestTellMeWhenMyJobWillFillItsGPU: on the demo's box, the user's command runs before a job fills
// GPU 3.
func TestTellMeWhenMyJobWillFillItsGPU(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	a, log := newAlerts(t, 1001, "/bin/sh", "-c", "cat >> "+out)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); a.run(ctx) }()
	defer func() { cancel(); <-ended }()

	at := snapshottest.Now()
	clock := func() time.Time { return at }
	box := simulator.New(simulator.Options{Clock: clock})
	s := sampler.New(sampler.Options{Devices: box, Probes: box, Processes: box, Clock: clock, Simulated: true, Deadline: time.Minute})
	for range 600 {
		at = at.Add(time.Second)
		a.observe(s.Tick(at))
	}
	reported := func() *schema.AlertDocument {
		content, err := os.Open(out)
		if err != nil {
			return nil
		}
		defer func() { _ = content.Close() }()
		for decoder := json.NewDecoder(content); ; {
			var doc schema.AlertDocument
			if decoder.Decode(&doc) != nil {
				return nil
			}
			if doc.Alert.Kind == "full_in" {
				return &doc
			}
		}
	}
	var doc *schema.AlertDocument
	for deadline := time.Now().Add(waitLimit); doc == nil; time.Sleep(10 * time.Millisecond) {
		if doc = reported(); time.Now().After(deadline) {
			t.Fatalf("no alert is reported; logged %q", log)
		}
	}
	if !doc.Simulated || doc.Alert.GPU == nil || *doc.Alert.GPU != 3 || doc.GPU.FullIn == nil || doc.Process == nil || doc.Process.PID != *doc.Alert.PID {
		t.Errorf("%+v", doc)
	}
}
