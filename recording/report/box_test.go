package report

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

var start = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func at(minute int) time.Time { return start.Add(time.Duration(minute) * time.Minute) }

const gpuA, gpuB = "GPU-a", "GPU-b"

// box builds a report about the hours after start.
type box struct{ *Builder }

func newBox(by string, hours int) box {
	b := box{New(Question{From: start, To: at(60 * hours), By: by})}
	b.AddSession("h100-03", false)
	for i, uuid := range []string{gpuA, gpuB} {
		b.AddGPU(snapshot.GPU{UUID: uuid, Index: i, Name: "NVIDIA H100", Memory: snapshot.Memory{Total: gib(80), Reserved: gib(0)}})
	}
	return b
}

func gib(n float64) snapshot.Bytes {
	return quantity.From(quantity.Bytes(n*float64(quantity.GiB)), quantity.Driver)
}

func percent(v float64) snapshot.Float { return quantity.From(v, quantity.Driver) }

func level80(n float64) recording.Sum { return recording.Sum{Min: gib(n), Mean: gib(n), Max: gib(n)} }

func busy(v float64) recording.Utilization {
	return recording.Utilization{Mean: percent(v), Max: quantity.From(int(v), quantity.Driver)}
}

// use adds minutes of the first GPU with the given used memory and utilization.
func (b box) use(from, to int, used, utilization float64) {
	for m := from; m < to; m++ {
		b.AddMinute(&recording.GPUMinute{
			Time: at(m), GPUUUID: gpuA, Covered: time.Minute, Used: level80(used), Free: gib(80 - used),
			Unknown: gib(used), Utilization: busy(utilization),
		})
	}
}

func row(pid int, uuid string) snapshot.RowID {
	return snapshot.RowID{Process: process.Identity{PID: pid, StartTime: uint64(pid)}, GPUUUID: uuid}
}

// processRow returns a process that runs from the start.
func processRow(id snapshot.RowID, user, command string) *recording.ProcessRow {
	p := &recording.ProcessRow{First: at(0)}
	p.ID, p.User, p.Command = id, user, strings.Fields(command)
	return p
}

// started adds a process of the first GPU.
func (b box) started(pid, minute int, user, command string) snapshot.RowID {
	id := row(pid, gpuA)
	p := processRow(id, user, command)
	p.Started, p.First, p.Name = at(minute), at(minute), "python3"
	b.AddProcess(p)
	return id
}

func (b box) report() schema.Report { return b.Report(at(9999)) }

func about(t *testing.T, what string, got snapshot.Float, want float64) {
	t.Helper()
	if v, known := got.Value(); !known || v < want-1e-6 || v > want+1e-6 {
		t.Errorf("%s is %v (known: %v), want %v", what, v, known, want)
	}
}
