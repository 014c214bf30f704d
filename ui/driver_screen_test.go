package ui

import (
	"strings"
	"testing"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// neverADriver makes s a box that has never had a driver: only probes report its GPUs.
func neverADriver(s *snapshot.Snapshot) {
	*s = *snapshottest.NoDriver()
	s.Driver = snapshot.Driver{State: snapshot.DriverAbsent, Message: "LIBRARY_NOT_FOUND", ProbesAnswering: 7}
	s.GPUs = nil
	for i, uuid := range []string{"GPU-a", "GPU-b"} {
		s.GPUs = append(s.GPUs, snapshot.GPU{
			Index: i, UUID: uuid, State: snapshot.GPUError, Message: snapshot.ProbeDataOnly,
			Memory: snapshot.Memory{Total: quantity.From(80*quantity.GiB, quantity.Probe)},
		})
	}
	for i := range s.Rows {
		s.Rows[i].ID.GPUUUID, s.Rows[i].GPU = s.GPUs[i%2].UUID, i%2
	}
}

func TestLastSeenLeavesOutProbeOnlyGPUs(t *testing.T) {
	box := &snapshot.Snapshot{}
	neverADriver(box)
	m := newTestModel(t, box, nil)
	m.hides("Last seen")
	m.hides("0 of 160G used")
}

func TestFlushWorksWithoutADriver(t *testing.T) {
	m := newFlushModel(t, func(s *snapshot.Snapshot, _ *Options) { neverADriver(s) })
	m.onto(snapshottest.Leaking).key("F")
	if !strings.Contains(m.content(), "Flush: free cached memory") {
		t.Fatalf("no dialog:\n%s", m.content())
	}
	m.key("y")
	m.until("freed 11.7G")
	if len(m.asked) != 1 || m.asked[0].Process.PID != snapshottest.Leaking {
		t.Errorf("it asked %v", m.asked)
	}
}
