package schema

import (
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// FleetVersion is the schema of fleet once and fleet headroom.
const FleetVersion = "vramscope/fleet/1"

// Fleet is what `vramscope fleet once --format json` writes (docs/fleet.md).
type Fleet struct {
	Schema    string      `json:"schema"`
	Time      Time        `json:"time"` // by the engine's clock
	Source    Text        `json:"source"`
	Simulated bool        `json:"simulated"` // whether any figure is simulated
	View      string      `json:"view"`
	Queries   Text        `json:"queries"` // "recorded" or "raw"; null if no engine is asked
	Totals    FleetTotals `json:"totals"`
	Lines     []FleetLine `json:"lines"` // worst first, unless another order was asked for
	Problems  []Text      `json:"problems"`
}

// FleetTotals sums the GPUs that answer and that the filter lets through, and counts boxes.
type FleetTotals struct {
	Boxes           snapshot.Int   `json:"boxes"`
	BoxesDown       snapshot.Int   `json:"boxes_down"`
	GPUs            snapshot.Int   `json:"gpus"`
	Own             bool           `json:"own"` // used memory and its parts are of the filter's users and jobs only
	Memory          Memory         `json:"memory"`
	AllocatedBytes  snapshot.Bytes `json:"allocated_bytes"`
	FragmentedBytes snapshot.Bytes `json:"fragmented_bytes"`
	ReturnableBytes snapshot.Bytes `json:"returnable_bytes"`
}

// FleetLine is a line about a GPU, a box, a user or a job. For a box, gpu and uuid are null and the
// figures are of all its GPUs together. For a user or a job, box is null too: used memory and its parts
// are those of the processes, and the other figures those of the GPUs on which they run.
type FleetLine struct {
	Box                Text           `json:"box"`
	Target             Text           `json:"target"` // the name of the box to the source
	GPU                *int           `json:"gpu"`
	UUID               Text           `json:"uuid"`
	Name               Text           `json:"name"`
	GPUs               int            `json:"gpus"`
	State              string         `json:"state"`
	Reason             Text           `json:"reason"`
	Memory             Memory         `json:"memory"`
	AllocatedBytes     snapshot.Bytes `json:"allocated_bytes"`
	FragmentedBytes    snapshot.Bytes `json:"fragmented_bytes"`
	ReturnableBytes    snapshot.Bytes `json:"returnable_bytes"`
	UtilizationPercent snapshot.Int   `json:"utilization_percent"`
	TemperatureCelsius snapshot.Int   `json:"temperature_celsius"`
	PowerWatts         snapshot.Float `json:"power_watts"`
	FullIn             *FullIn        `json:"full_in"`
	Alert              Text           `json:"alert"`
	Severity           Text           `json:"severity"`
	User               Text           `json:"user"`
	Program            Text           `json:"program"`
	Job                Text           `json:"job"`
	Boxes              snapshot.Int   `json:"boxes"` // boxes and jobs are set only for a user or a job
	Jobs               snapshot.Int   `json:"jobs"`
	IdleGPUs           snapshot.Int   `json:"idle_gpus"` // GPUs that hold memory and run nothing
}

// SeverityOf returns "urgent" or "notice".
func SeverityOf(s snapshot.Severity) string {
	if s == snapshot.Urgent {
		return "urgent"
	}
	return "notice"
}

// FleetHeadroom is what `vramscope fleet headroom --format json` writes.
type FleetHeadroom struct {
	Schema     string         `json:"schema"`
	Time       Time           `json:"time"`
	Source     Text           `json:"source"`
	Simulated  bool           `json:"simulated"`
	NeedBytes  quantity.Bytes `json:"need_bytes"`
	Count      int            `json:"count"`
	ForSeconds *float64       `json:"for_seconds"`
	Answer     string         `json:"answer"`
	GPUsJudged int            `json:"gpus_judged"`
	Boxes      []FleetRoom    `json:"boxes"`   // at most 50 of each verdict
	Nearest    []FleetNear    `json:"nearest"` // only if no box has room
	Problems   []Text         `json:"problems"`
}

type FleetRoom struct {
	Box     Text   `json:"box"`
	Target  Text   `json:"target"`
	GPUs    int    `json:"gpus"` // GPUs with room
	Verdict string `json:"verdict"`
}

// FleetNear is a box that lacks room even after a flush of its processes.
type FleetNear struct {
	Box        Text           `json:"box"`
	Target     Text           `json:"target"`
	GPUs       int            `json:"gpus"`        // GPUs with room after a flush
	ShortBytes quantity.Bytes `json:"short_bytes"` // the memory that is missing on the fullest of the job's GPUs after a flush
}
