package recording

import (
	"encoding/json"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// A state holds a snapshot's values other than figures. It is recorded as JSON whenever it changes.

type boxState struct {
	Interval    time.Duration        `json:"interval_ns"`
	Host        string               `json:"host,omitempty"`
	User        string               `json:"user,omitempty"`
	MemoryTotal *amount              `json:"memory_total,omitempty"`
	Driver      snapshot.DriverState `json:"driver_state,omitempty"`
	Version     string               `json:"driver_version,omitempty"`
	CUDA        string               `json:"cuda_version,omitempty"`
	Since       int64                `json:"since_ns,omitempty"`
	Message     string               `json:"message,omitempty"`
	MemoryCall  string               `json:"memory_call,omitempty"`
	ProbeSeen   bool                 `json:"probe_seen,omitempty"`
}

// amount is a known value with its source; a nil *amount is an unknown value.
type amount struct {
	Value  float64         `json:"value"`
	Source quantity.Source `json:"source"`
}

func amountOf[T quantity.Bytes | float64 | int](v quantity.Optional[T]) *amount {
	if !v.Known() {
		return nil
	}
	return &amount{float64(v.Or(0)), v.Source()}
}

func optionalOf[T quantity.Bytes | float64 | int](a *amount) quantity.Optional[T] {
	if a == nil {
		return quantity.Unknown[T]()
	}
	return quantity.From(T(a.Value), a.Source)
}

func boxStateOf(s *snapshot.Snapshot) boxState {
	d := &s.Driver
	return boxState{
		Interval: s.Interval, Host: text.Clean(s.Host.Name), User: text.Clean(s.Host.User), MemoryTotal: amountOf(s.Host.MemoryTotal),
		Driver: d.State, Version: d.Version, CUDA: d.CUDAVersion, Since: nanoseconds(d.Since), Message: d.Message,
		MemoryCall: d.MemoryCall, ProbeSeen: s.ProbeSeen,
	}
}

func (b *boxState) restore(s *snapshot.Snapshot) {
	s.Interval, s.ProbeSeen = b.Interval, b.ProbeSeen
	s.Host = snapshot.Host{Name: b.Host, User: b.User, MemoryTotal: optionalOf[quantity.Bytes](b.MemoryTotal)}
	s.Driver = snapshot.Driver{
		Version: b.Version, CUDAVersion: b.CUDA, State: b.Driver, Since: moment(b.Since), Message: b.Message, MemoryCall: b.MemoryCall,
	}
}

type gpuState struct {
	Index     int               `json:"index"`
	Name      string            `json:"name,omitempty"`
	PCIBusID  string            `json:"pci_bus_id,omitempty"`
	State     snapshot.GPUState `json:"state"`
	Since     int64             `json:"since_ns,omitempty"`
	Message   string            `json:"message,omitempty"`
	Total     *amount           `json:"total,omitempty"`
	Reserved  *amount           `json:"reserved,omitempty"`
	Slowdown  *amount           `json:"temperature_slowdown,omitempty"`
	Limit     *amount           `json:"power_limit,omitempty"`
	Constants map[string]amount `json:"constants,omitempty"` // the other metrics that do not change, by name
	MIG       bool              `json:"mig,omitempty"`
	Instances []instanceState   `json:"instances,omitempty"`
}

type instanceState struct {
	GPU      uint32  `json:"gpu_instance"`
	Compute  uint32  `json:"compute_instance"`
	UUID     string  `json:"uuid"`
	Profile  string  `json:"profile,omitempty"`
	Slices   int     `json:"slices,omitempty"`
	Whole    int     `json:"gpu_slices,omitempty"`
	Total    *amount `json:"total,omitempty"`
	Reserved *amount `json:"reserved,omitempty"`
}

func gpuStateOf(g *snapshot.GPU) gpuState {
	out := gpuState{
		Index: g.Index, Name: text.Clean(g.Name), PCIBusID: g.PCIBusID, State: g.State, Since: nanoseconds(g.Since), Message: g.Message,
		Total: amountOf(g.Memory.Total), Reserved: amountOf(g.Memory.Reserved), Slowdown: amountOf(g.TemperatureSlowdown), Limit: amountOf(g.PowerLimit), MIG: g.MIG,
	}
	for _, id := range metric.KeptOf(metric.GPU, metric.Constant) {
		v := g.Value(id)
		if id == metric.TemperatureSlowdown || id == metric.PowerLimit || !v.Known() {
			continue
		}
		if out.Constants == nil {
			out.Constants = make(map[string]amount)
		}
		out.Constants[metric.Table[id].Name] = *amountOf(v)
	}
	for i := range g.Instances {
		in := &g.Instances[i]
		out.Instances = append(out.Instances, instanceState{
			GPU: in.ID.GPU, Compute: in.ID.Compute, UUID: in.UUID, Profile: in.Profile, Slices: in.Slices, Whole: in.Whole,
			Total: amountOf(in.Memory.Total), Reserved: amountOf(in.Memory.Reserved),
		})
	}
	return out
}

func (g *gpuState) restore(uuid string) snapshot.GPU {
	out := snapshot.GPU{
		Index: g.Index, UUID: uuid, Name: g.Name, PCIBusID: g.PCIBusID, State: g.State, Since: moment(g.Since), Message: g.Message,
		Memory: snapshot.Memory{Total: optionalOf[quantity.Bytes](g.Total), Reserved: optionalOf[quantity.Bytes](g.Reserved)}, MIG: g.MIG,
	}
	out.TemperatureSlowdown, out.PowerLimit = optionalOf[int](g.Slowdown), optionalOf[float64](g.Limit)
	for name, constant := range g.Constants {
		if id := metric.Named(name); id < metric.Count {
			out.Set(id, optionalOf[float64](&constant))
		}
	}
	for _, in := range g.Instances {
		out.Instances = append(out.Instances, snapshot.Instance{
			ID: snapshot.InstanceID{MIG: true, GPU: in.GPU, Compute: in.Compute}, UUID: in.UUID, Profile: in.Profile, Slices: in.Slices, Whole: in.Whole,
			Memory: snapshot.Memory{Total: optionalOf[quantity.Bytes](in.Total), Reserved: optionalOf[quantity.Bytes](in.Reserved)},
		})
	}
	return out
}

type processState struct {
	GPU            int              `json:"gpu_index"`
	Rank           *amount          `json:"rank,omitempty"`
	Type           string           `json:"type,omitempty"`
	Runtime        string           `json:"runtime,omitempty"`
	RuntimeVersion string           `json:"runtime_version,omitempty"`
	Probe          *probeState      `json:"probe,omitempty"`
	Allocators     []allocatorState `json:"allocators,omitempty"`
}

type probeState struct {
	State        snapshot.ProbeState `json:"state"`
	Reported     int64               `json:"reported_ns,omitempty"` // the last report of a probe that is not live
	StartedBy    string              `json:"started_by,omitempty"`
	Capabilities []string            `json:"capabilities,omitempty"`
	Mismatch     bool                `json:"mismatch,omitempty"`
	Doubted      bool                `json:"doubted,omitempty"`
	Rejected     string              `json:"rejected,omitempty"`
	Claimed      *amount             `json:"claimed,omitempty"`
}

type allocatorState struct {
	Kind  string         `json:"kind"`
	Basis snapshot.Basis `json:"basis,omitempty"`
	Bound snapshot.Bound `json:"returnable_bound,omitempty"`
}

func processStateOf(p *snapshot.Process, now int64) processState {
	out := processState{GPU: p.GPU, Rank: amountOf(p.Hints.Rank), Type: p.Type, Runtime: text.Clean(p.Runtime), RuntimeVersion: text.Clean(p.RuntimeVersion)}
	if b := p.Probe; b != nil {
		out.Probe = &probeState{
			State: b.State, StartedBy: text.Clean(b.StartedBy), Capabilities: b.Capabilities,
			Mismatch: b.Mismatch, Doubted: b.Doubted, Rejected: text.Clean(b.Rejected), Claimed: amountOf(b.Claimed),
		}
		if b.State != snapshot.ProbeLive {
			out.Probe.Reported = now - int64(b.Age)
		}
	}
	for i := range p.Allocators {
		a := &p.Allocators[i]
		out.Allocators = append(out.Allocators, allocatorState{text.Clean(a.Kind), snapshot.Basis(text.Clean(string(a.Basis))), a.ReturnableBound})
	}
	return out
}

func (s *processState) restore(p *snapshot.Process, now int64) {
	p.GPU, p.Type, p.Runtime, p.RuntimeVersion, p.Hints.Rank = s.GPU, s.Type, s.Runtime, s.RuntimeVersion, optionalOf[int](s.Rank)
	if b := s.Probe; b != nil {
		p.Probe = &snapshot.Probe{
			State: b.State, StartedBy: b.StartedBy, Capabilities: b.Capabilities,
			Mismatch: b.Mismatch, Doubted: b.Doubted, Rejected: b.Rejected, Claimed: optionalOf[quantity.Bytes](b.Claimed),
		}
		if b.Reported != 0 {
			p.Probe.Age = time.Duration(now - b.Reported)
		}
	}
	for _, a := range s.Allocators {
		p.Allocators = append(p.Allocators, snapshot.Allocator{Kind: a.Kind, Basis: a.Basis, ReturnableBound: a.Bound})
	}
}

// sameProcessState does not build the states, because it runs for every row at every tick.
func sameProcessState(a, b *snapshot.Process) bool {
	return a.GPU == b.GPU && a.Hints.Rank == b.Hints.Rank && a.Type == b.Type && a.Runtime == b.Runtime && a.RuntimeVersion == b.RuntimeVersion &&
		sameProbe(a.Probe, b.Probe) && slices.EqualFunc(a.Allocators, b.Allocators, func(x, y snapshot.Allocator) bool {
		return x.Kind == y.Kind && x.Basis == y.Basis && x.ReturnableBound == y.ReturnableBound
	})
}

func sameProbe(a, b *snapshot.Probe) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.State == b.State && a.StartedBy == b.StartedBy && a.Mismatch == b.Mismatch && a.Doubted == b.Doubted &&
		a.Rejected == b.Rejected && a.Claimed == b.Claimed && slices.Equal(a.Capabilities, b.Capabilities)
}

// sameNames compares the values that the table processes holds of a process.
func sameNames(a, b *snapshot.Process) bool {
	return a.User == b.User && a.UID == b.UID && a.Name == b.Name && a.Parent == b.Parent && a.Job == b.Job && a.Type == b.Type &&
		a.Runtime == b.Runtime && a.RuntimeVersion == b.RuntimeVersion && a.Started.Equal(b.Started) && slices.Equal(a.Command, b.Command)
}

func encoded(state any) string {
	data, _ := json.Marshal(state) // structs of strings and numbers cannot fail
	return string(data)
}

// nanoseconds returns a moment in Unix nanoseconds, 0 for none.
func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func moment(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}
