package schema

import (
	"vramscope/internal/quantity"
	"vramscope/recording/why"
	"vramscope/sampler/snapshot"
)

// Why is what `vramscope why --format json` writes (docs/why.md).
type Why struct {
	Schema  string     `json:"schema"` // "vramscope/why/1"
	Time    Time       `json:"time"`   // of the event
	GPU     int        `json:"gpu"`
	UUID    string     `json:"uuid"`
	Process WhyProcess `json:"process"`

	Verdict string    `json:"verdict"`
	Reasons []Text    `json:"reasons"`
	Missing []Text    `json:"missing"`
	Since   Time      `json:"since"` // of a leak
	By      *WhyTaker `json:"by"`

	RequestedBytes   snapshot.Bytes `json:"requested_bytes"`
	FreeBytes        snapshot.Bytes `json:"free_bytes"`
	FreeIsExact      bool           `json:"free_is_exact"`
	LimitBytes       snapshot.Bytes `json:"limit_bytes"`
	CapacityBytes    snapshot.Bytes `json:"capacity_bytes"`
	ReservedBytes    snapshot.Bytes `json:"reserved_bytes"`
	LargestFreeBytes snapshot.Bytes `json:"largest_free_bytes"`
	API              Text           `json:"api"`
	Library          Text           `json:"library"`

	Neighbours []WhyProcess `json:"neighbours"`
	Advice     []WhyAdvice  `json:"advice"`
}

// WhyProcess is a process at the event.
type WhyProcess struct {
	PID             int            `json:"pid"`
	User            Text           `json:"user"`
	Name            Text           `json:"name"`
	UsedBytes       snapshot.Bytes `json:"used_bytes"`
	AllocatedBytes  snapshot.Bytes `json:"allocated_bytes"`
	CachedBytes     snapshot.Bytes `json:"cached_bytes"`
	FragmentedBytes snapshot.Bytes `json:"fragmented_bytes"`
}

// WhyTaker is who took the memory; the PID is null where that is not known.
type WhyTaker struct {
	PID       *int           `json:"pid"`
	FromBytes quantity.Bytes `json:"from_bytes"`
	ToBytes   quantity.Bytes `json:"to_bytes"`
	Began     Time           `json:"began"`
	Ended     Time           `json:"ended"`
}

// WhyAdvice is something that would have helped.
type WhyAdvice struct {
	Text   Text           `json:"text"`
	Bytes  quantity.Bytes `json:"bytes"`
	Enough bool           `json:"enough"`
	Price  Text           `json:"price"`

	Rule    string `json:"rule"`
	Setting Text   `json:"setting"`
	Source  Text   `json:"source"`
}

// WhyOf makes the document of an explanation.
func WhyOf(e *why.Evidence, v *why.Verdict) Why {
	w := Why{
		Schema: "vramscope/why/1", Time: Time(e.Event.Time), GPU: e.Event.GPU, UUID: e.Event.Row.GPUUUID,
		Process: whyProcess(&e.Process), Verdict: string(v.Cause), Reasons: Texts(v.Reasons), Missing: Texts(v.Missing), Since: Time(v.Since),
		RequestedBytes: e.Requested, FreeBytes: e.Free, FreeIsExact: e.Free.Known() && !e.FreeAbout, LimitBytes: e.Limit,
		CapacityBytes: e.Capacity, ReservedBytes: e.Reserved, LargestFreeBytes: e.LargestFree,
		Neighbours: []WhyProcess{}, Advice: []WhyAdvice{},
	}
	w.Process.UsedBytes, w.Process.AllocatedBytes = e.Used, e.Allocated
	if e.UsedLeast {
		w.Process.UsedBytes = snapshot.Bytes{}
	}
	if f := e.Event.OutOfMemory; f != nil {
		w.API, w.Library = Text(f.API), Text(f.Library)
	}
	if by := v.By; by != nil {
		w.By = &WhyTaker{FromBytes: by.From, ToBytes: by.To, Began: Time(by.Began), Ended: Time(by.End)}
		if by.Neighbour != nil {
			w.By.PID = &by.Neighbour.Process.ID.Process.PID
		}
	}
	for i := range e.Neighbours {
		w.Neighbours = append(w.Neighbours, whyProcess(&e.Neighbours[i].Process))
	}
	for _, a := range v.Advice {
		w.Advice = append(w.Advice, WhyAdvice{Text(a.Text), a.Bytes.Or(0), a.Enough, Text(a.Price), string(a.Rule), Text(a.Setting), Text(a.Source)})
	}
	return w
}

func whyProcess(p *snapshot.Process) WhyProcess {
	return WhyProcess{
		PID: p.ID.Process.PID, User: Text(p.User), Name: Text(p.Name), UsedBytes: p.Used,
		AllocatedBytes: p.Allocated, CachedBytes: p.Cached, FragmentedBytes: p.Fragmented,
	}
}
