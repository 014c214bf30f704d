package graph

import (
	"math"
	"slices"
	"strconv"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

type Subject struct {
	Key       snapshot.SeriesKey
	Name      string // "GPU 3 used"
	Full      string // the name of the capacity line: "full", "GPU full"
	Used      snapshot.Bytes
	Capacity  snapshot.Bytes // the total, including what the driver reserves, as in every figure on the screen
	Predicted []snapshot.Prediction
	FullIn    *snapshot.FullIn
	Doubt     snapshot.Doubt   // why there is no forecast, or a rise is not believed
	Rows      []snapshot.RowID // see rowsOf
}

// UsedBy returns the series of a row's used memory.
func UsedBy(id snapshot.RowID) snapshot.SeriesKey {
	return snapshot.SeriesKey{Metric: metric.Used, GPUUUID: id.GPUUUID, Instance: id.Instance, Row: id}
}

// SubjectOf gathers what a snapshot knows about a series. A process that has ended keeps its curve.
func SubjectOf(s *snapshot.Snapshot, key snapshot.SeriesKey) Subject {
	subject := Subject{Key: key, Name: "used", Full: "full"}
	gpu := s.GPU(key.GPUUUID)
	subject.Rows = rowsOf(s, key)
	if key.Row != (snapshot.RowID{}) {
		subject.Name = "PID " + strconv.Itoa(key.Row.Process.PID) + " used"
		p := s.Row(key.Row)
		if p == nil {
			return subject
		}
		subject.Used, subject.Predicted, subject.Doubt = p.Used, p.Predicted, p.Doubt
		if gpu != nil {
			subject.Full, subject.Capacity = "GPU full", gpu.MemoryOf(key.Row.Instance).Total
		}
		return subject
	}
	if gpu == nil {
		return subject
	}
	number := gpu.InstanceNumber(key.Instance)
	subject.Name = "GPU " + string(cell.AppendIndex(nil, gpu.Index, number)) + " used"
	if key.Instance.MIG {
		subject.Full = "instance full"
	}
	if number > 0 || !key.Instance.MIG {
		memory, outlook := gpu.MemoryOf(key.Instance), gpu.OutlookOf(key.Instance)
		subject.Used, subject.Capacity = memory.Used, memory.Total
		subject.Predicted, subject.FullIn, subject.Doubt = outlook.Predicted, outlook.FullIn, outlook.Doubt
	}
	return subject
}

// path returns the forecast, up to the time at which the memory is full.
func (s *Subject) path() []snapshot.Prediction {
	if s.FullIn == nil {
		return s.Predicted
	}
	full := snapshot.Prediction{Horizon: max(s.FullIn.Median, 1), Median: s.Capacity.Or(0), Upper80: s.Capacity.Or(0)}
	lower := between(s.Predicted, s.Used.Or(0), full.Horizon, func(p snapshot.Prediction) quantity.Bytes { return p.Lower80 })
	if full.Lower80 = full.Median; !math.IsNaN(lower) {
		full.Lower80 = quantity.Bytes(lower)
	}
	until := slices.IndexFunc(s.Predicted, func(p snapshot.Prediction) bool { return p.Horizon >= full.Horizon })
	if until < 0 {
		until = len(s.Predicted)
	}
	return append(s.Predicted[:until:until], full)
}

// rowsOf returns the row of a process's series, or the rows with a probe on a GPU or instance, running or ended.
func rowsOf(s *snapshot.Snapshot, key snapshot.SeriesKey) []snapshot.RowID {
	if key.Row != (snapshot.RowID{}) {
		return []snapshot.RowID{key.Row}
	}
	var ids []snapshot.RowID
	for p := range s.PlaceRows(snapshot.Place{GPUUUID: key.GPUUUID, Instance: key.Instance}) {
		if p.Runtime != "" {
			ids = append(ids, p.ID)
		}
	}
	for i := range s.Ended {
		if p := &s.Ended[i].Last; p.Runtime != "" && p.ID.GPUUUID == key.GPUUUID && (!key.Instance.MIG || p.ID.Instance == key.Instance) {
			ids = append(ids, p.ID)
		}
	}
	return ids
}
