package probe_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/nvml"
	"vramscope/probe"
	"vramscope/probe/probetest"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// hostileBox is a box with two GPUs of 80 GiB and three processes: 100 and 101 use 10 GiB of the
// first, and for 102 the driver does not report the used memory. The fuzzer makes up what the
// probes report.
type hostileBox struct {
	now     time.Time
	answers []probe.Answer
}

const hostileUsed, hostileTotal = 10 * quantity.GiB, 80 * quantity.GiB

func hostileID(pid int) process.Identity {
	return process.Identity{PID: pid, StartTime: 1000, Namespace: 1}
}

func (b *hostileBox) Open() (nvml.Driver, []nvml.Device, error) {
	return nvml.Driver{Version: "550"}, []nvml.Device{{Index: 0, UUID: "GPU-0"}, {Index: 1, UUID: "GPU-1"}}, nil
}

func (b *hostileBox) Read(d nvml.Device) (nvml.Reading, error) {
	known := func(n quantity.Bytes) snapshot.Bytes { return quantity.From(n, quantity.Driver) }
	r := nvml.Reading{Device: d, Time: b.now, Memory: nvml.Memory{Total: known(hostileTotal), Used: known(2 * hostileUsed), Free: known(60 * quantity.GiB)}}
	if d.Index == 0 {
		r.Processes = []nvml.Process{{PID: 100, Type: nvml.Compute, Used: known(hostileUsed)}, {PID: 101, Type: nvml.Compute, Used: known(hostileUsed)}}
	} else {
		r.Processes = []nvml.Process{{PID: 102, Type: nvml.Compute}}
	}
	return r, nil
}

func (b *hostileBox) Close() error { return nil }

func (b *hostileBox) Answers() []probe.Answer { return b.answers }

func (b *hostileBox) Unasked() int { return 0 }

func (b *hostileBox) Processes(_ time.Time, pids []int, found func(*process.Info)) {
	for _, pid := range pids {
		found(&process.Info{Identity: hostileID(pid), Name: "x"})
	}
}

func (b *hostileBox) Alive(process.Identity) bool { return true }

func (b *hostileBox) Host(time.Time) process.Host { return process.Host{Name: "h"} }

// FuzzHostileProbe: whatever probes report, the snapshot has, within the tolerance, no
// memory above what the driver reports, none below zero, and parts that add up.
func FuzzHostileProbe(f *testing.F) {
	const line = `{"id":1,"ok":true,"time_ns":5,"devices":[{"uuid":"GPU-%d","total_bytes":%d,"allocators":[{"kind":"pytorch","basis":"stranded","reserved_bytes":%d,"allocated_bytes":%d,` +
		`"cached_bytes":%d,"fragmented_bytes":%d,"returnable_bytes":%d}%s]}]}`
	const gib = 1 << 30
	for _, seed := range []string{
		fmt.Sprintf(line, 0, 80*gib, 9*gib, 5*gib, 3*gib, gib, 3*gib, ""),
		fmt.Sprintf(line, 0, 1<<50, 1<<50, 0, 1<<50, 0, 1<<50, "") + "\n" + fmt.Sprintf(line, 0, 0, 0, 0, 0, 0, 0, ""),
		fmt.Sprintf(line, 1, 80*gib, 40*gib, 0, 40*gib, 0, 40*gib, `,{"kind":"raw","cached_bytes":1125899906842624,"returnable_bytes":1125899906842624}`),
		fmt.Sprintf(line, 7, 1<<50, 1<<50, 1<<50, 0, 0, 0, `,{"kind":"x","pools":[{"name":"small","reserved_bytes":1125899906842624}],"largest":[{"bytes":1125899906842624,"age_seconds":1e9}],"out_of_memory_count":9007199254740992}`),
		fmt.Sprintf(line, 0, 80*gib, 11*gib, 11*gib, 0, 0, 0, "") + "\n\n" + fmt.Sprintf(line, 1, 80*gib, gib, gib, 0, 0, 0, "") + "\n" + fmt.Sprintf(line, 0, 80*gib, 3*gib, gib, gib, gib, gib, `,{"kind":"jax","allocated_bytes":1073741824}`),
	} {
		f.Add([]byte(seed), uint16(0x1234))
	}
	f.Fuzz(func(t *testing.T, input []byte, ages uint16) {
		b := &hostileBox{now: time.Unix(1e9, 0)}
		s := sampler.New(sampler.Options{Devices: b, Probes: b, Processes: b, Clock: func() time.Time { return b.now }})
		answers := make(map[int]probe.Answer)
		for i, line := range bytes.SplitN(input, []byte("\n"), 6) {
			pid := 100 + i%3
			if report, err := probe.DecodeReport(line); err == nil {
				// The reading is less than four seconds old, in steps of 250 ms.
				age := time.Duration(ages>>(2*i)&15) * 250 * time.Millisecond
				answers[pid] = probe.Answer{Process: hostileID(pid), Report: report, Since: b.now, At: b.now.Add(time.Second - age)}
			}
			b.answers = nil
			for _, pid := range []int{100, 101, 102} {
				if a, ok := answers[pid]; ok {
					b.answers = append(b.answers, a)
				}
			}
			b.now = b.now.Add(time.Second)
			checkHostile(t, s.Tick(b.now))
		}
	})
}

// checkHostile checks a snapshot and its JSON.
func checkHostile(t *testing.T, snap *snapshot.Snapshot) {
	t.Helper()
	for i := range snap.Rows {
		p := &snap.Rows[i]
		limit := p.Used.Or(hostileTotal)
		if p.ID.GPUUUID != "GPU-0" && p.ID.GPUUUID != "GPU-1" {
			limit = quantity.PiB // the driver knows nothing of this GPU
		}
		most := limit + snapshot.Tolerance(limit)
		sum := p.Allocated.Or(0) + p.Cached.Or(0) + p.Fragmented.Or(0)
		for name, part := range map[string]snapshot.Bytes{
			"allocated": p.Allocated, "cached": p.Cached, "fragmented": p.Fragmented, "returnable": p.Returnable, "all": quantity.From(sum, quantity.Computed),
		} {
			if part.Or(0) < 0 || part.Or(0) > most {
				t.Errorf("PID %d: %s is %d of %d", p.ID.Process.PID, name, part.Or(0), limit)
			}
		}
		if p.Returnable.Or(0) > limit || p.Returnable.Known() && p.Cached.Known() && p.Returnable.Or(0) > p.Cached.Or(0) {
			t.Errorf("PID %d: %d returnable of %d cached, %d used", p.ID.Process.PID, p.Returnable.Or(0), p.Cached.Or(0), limit)
		}
		if other := p.Other.Or(0); other < -snapshot.Tolerance(limit) || other > limit {
			t.Errorf("PID %d: other is %d", p.ID.Process.PID, other)
		}
		if used, ok := p.Used.Value(); ok && p.Probe != nil && p.Other.Known() && sum+p.Other.Or(0) > used {
			t.Errorf("PID %d: the parts are %d and %d of %d used", p.ID.Process.PID, sum, p.Other.Or(0), used)
		}
	}
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		used, known := g.Memory.Used.Value()
		if !known {
			continue
		}
		parts, sum := &g.Parts, quantity.Bytes(0)
		for _, part := range []snapshot.Bytes{parts.Allocated, parts.Fragmented, parts.Returnable, parts.Other, parts.Unknown} {
			if sum += part.Or(0); part.Or(0) < 0 {
				t.Errorf("GPU %s: the parts are %+v", g.UUID, parts)
			}
		}
		if sum > used+3*snapshot.Tolerance(used) || parts.Returnable.Or(0) > used {
			t.Errorf("GPU %s: the parts are %+v of %d", g.UUID, parts, used)
		}
	}
	content, err := schema.Encode(schema.Of(snap))
	if err != nil || !json.Valid(content) {
		t.Errorf("%v: %s", err, content)
	}
	for line := range strings.Lines(string(content)) {
		if strings.Contains(line, `_bytes": -`) && !strings.Contains(line, "other_bytes") {
			t.Errorf("JSON has %s", line)
		}
	}
}

const vectors = "testdata/conformance"

// TestServerAtAddressConforms tests any other server:
//
//	VRAMSCOPE_CONFORMANCE=/tmp/vramscope-1000/4711-190284.sock go test -run Address ./probe
func TestServerAtAddressConforms(t *testing.T) {
	socket := os.Getenv("VRAMSCOPE_CONFORMANCE")
	if socket == "" {
		t.Skip("VRAMSCOPE_CONFORMANCE is not set")
	}
	probetest.Run(t, vectors, socket)
}
