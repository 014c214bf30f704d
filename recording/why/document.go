package why

import (
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// Document is what `vramscope why --format json` writes (docs/why.md).
type Document struct {
	Schema  string      `json:"schema"` // "vramscope/why/1"
	Time    schema.Time `json:"time"`   // of the event
	GPU     int         `json:"gpu"`
	UUID    string      `json:"uuid"`
	Process Process     `json:"process"`

	Verdict string        `json:"verdict"`
	Reasons []schema.Text `json:"reasons"`
	Missing []schema.Text `json:"missing"`
	Since   schema.Time   `json:"since"` // when a leak began
	By      *Taker        `json:"by"`

	RequestedBytes   snapshot.Bytes `json:"requested_bytes"`
	FreeBytes        snapshot.Bytes `json:"free_bytes"`
	FreeIsExact      bool           `json:"free_is_exact"`
	LimitBytes       snapshot.Bytes `json:"limit_bytes"`
	MPSLimitBytes    snapshot.Bytes `json:"mps_limit_bytes"`
	CapacityBytes    snapshot.Bytes `json:"capacity_bytes"`
	ReservedBytes    snapshot.Bytes `json:"reserved_bytes"`
	LargestFreeBytes snapshot.Bytes `json:"largest_free_bytes"`
	API              schema.Text    `json:"api"`
	Library          schema.Text    `json:"library"`

	Stack []schema.Text        `json:"stack"`
	Held  []snapshot.HeldClass `json:"held"`

	Unequal    schema.Text      `json:"unequal"`
	Neighbours []Process        `json:"neighbours"`
	Advice     []DocumentAdvice `json:"advice"`
	NoAdvice   schema.Text      `json:"no_advice"`
}

// Process is a process at the event.
type Process struct {
	PID             int            `json:"pid"`
	User            schema.Text    `json:"user"`
	Name            schema.Text    `json:"name"`
	UsedBytes       snapshot.Bytes `json:"used_bytes"`
	AllocatedBytes  snapshot.Bytes `json:"allocated_bytes"`
	CachedBytes     snapshot.Bytes `json:"cached_bytes"`
	FragmentedBytes snapshot.Bytes `json:"fragmented_bytes"`
}

// Taker is the process that took the memory; its PID is null if unknown.
type Taker struct {
	PID       *int           `json:"pid"`
	FromBytes quantity.Bytes `json:"from_bytes"`
	ToBytes   quantity.Bytes `json:"to_bytes"`
	Began     schema.Time    `json:"began"`
	Ended     schema.Time    `json:"ended"`
}

// DocumentAdvice is a change that would have helped.
type DocumentAdvice struct {
	Text   schema.Text    `json:"text"`
	Bytes  quantity.Bytes `json:"bytes"`
	Enough bool           `json:"enough"`
	Price  schema.Text    `json:"price"`

	Rule    string      `json:"rule"`
	Setting schema.Text `json:"setting"`
	Source  schema.Text `json:"source"`
}

// DocumentOf makes the document of an explanation.
func DocumentOf(e *Evidence, v *Verdict) Document {
	w := Document{
		Schema: "vramscope/why/1", Time: schema.Time(e.Event.Time), GPU: e.Event.GPU, UUID: e.Event.Row.GPUUUID,
		Process: processOf(&e.Process), Verdict: string(v.Cause), Reasons: schema.Texts(v.Reasons), Missing: schema.Texts(v.Missing), Since: schema.Time(v.Since),
		RequestedBytes: e.Requested, FreeBytes: e.Free, FreeIsExact: e.Free.Known() && !e.FreeAbout, LimitBytes: e.Limit, MPSLimitBytes: e.MPSLimit,
		CapacityBytes: e.Capacity, ReservedBytes: e.Reserved, LargestFreeBytes: e.LargestFree,
		Neighbours: schema.List(e.Neighbours, func(n *Neighbour) Process { return processOf(&n.Process) }),
		Advice: schema.List(v.Advice, func(a *Advice) DocumentAdvice {
			return DocumentAdvice{schema.Text(a.Text), a.Bytes.Or(0), a.Enough, schema.Text(a.Price), string(a.Rule), schema.Text(a.Setting), schema.Text(a.Source)}
		}),
		NoAdvice: schema.Text(v.None), Unequal: schema.Text(e.Unequal), Stack: []schema.Text{}, Held: []snapshot.HeldClass{},
	}
	w.Process.UsedBytes, w.Process.AllocatedBytes = e.Used, e.Allocated
	if e.UsedLeast {
		w.Process.UsedBytes = snapshot.Bytes{}
	}
	if f := e.Event.OutOfMemory; f != nil {
		w.API, w.Library, w.Stack = schema.Text(f.API), schema.Text(f.Library), schema.Texts(f.Stack)
		w.Held = schema.List(f.Held, func(h *snapshot.HeldClass) snapshot.HeldClass {
			return snapshot.HeldClass{Class: h.Class, Name: text.Clean(h.Name), Bytes: h.Bytes}
		})
	}
	if by := v.By; by != nil {
		w.By = &Taker{FromBytes: by.From, ToBytes: by.To, Began: schema.Time(by.Began), Ended: schema.Time(by.End)}
		if by.Neighbour != nil {
			w.By.PID = &by.Neighbour.Process.ID.Process.PID
		}
	}
	return w
}

func processOf(p *snapshot.Process) Process {
	return Process{
		PID: p.ID.Process.PID, User: schema.Text(p.User), Name: schema.Text(p.Name), UsedBytes: p.Used,
		AllocatedBytes: p.Allocated, CachedBytes: p.Cached, FragmentedBytes: p.Fragmented,
	}
}
