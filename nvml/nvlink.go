//go:build linux && cgo

package nvml

import (
	"encoding/binary"
	"slices"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"vramscope/internal/quantity"
	"vramscope/metric"
)

type linkState struct {
	link   int
	active bool
}

// The fields of one link, in the order in which they are requested. One call reads the fields of all
// links; the scope of each field is its link. Source: nvml.h, NVML_FI_DEV_NVLINK_*
var linkFields = [...]uint32{
	gonvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX, gonvml.FI_DEV_NVLINK_THROUGHPUT_DATA_RX,
	gonvml.FI_DEV_NVLINK_ERROR_DL_REPLAY, gonvml.FI_DEV_NVLINK_ERROR_DL_RECOVERY, gonvml.FI_DEV_NVLINK_ERROR_DL_CRC,
}

// links holds the answers of the last two readings. The driver counts KiB since it was loaded, so a
// rate needs two readings.
type links struct {
	now, before []gonvml.FieldValue
}

// readLinkStates reads which links the GPU has, and which of them are up. A GPU without NVLink refuses
// the first call.
func (r *reading) readLinkStates(states []linkState) []linkState {
	for link := range gonvml.NVLINK_MAX_LINKS {
		if !r.can(symNVLinkState) {
			break
		}
		state, ret := r.handle.GetNvLinkState(link)
		if !r.ok(symNVLinkState, ret) {
			break
		}
		states = append(states, linkState{link, state == gonvml.FEATURE_ENABLED})
	}
	return states
}

func (r *reading) readLinks() {
	states := r.rare.links
	if len(states) == 0 || !r.can(symNVLinkState) {
		return
	}
	l := &r.links
	l.before, l.now = l.now, l.before[:0]
	for _, state := range states {
		for _, field := range linkFields {
			l.now = append(l.now, gonvml.FieldValue{FieldId: field, ScopeId: uint32(state.link), NvmlReturn: uint32(gonvml.ERROR_NOT_SUPPORTED)})
		}
	}
	if r.can(symFieldValues) && !r.ok(symFieldValues, r.handle.GetFieldValues(l.now)) {
		for i := range l.now {
			l.now[i].NvmlReturn = uint32(gonvml.ERROR_NOT_SUPPORTED)
		}
	}
	active := 0
	var sent, received, errors metric.Int
	for i, state := range states {
		at := i * len(linkFields)
		link := metric.NVLink{
			Link: state.link, Active: state.active,
			Sent: l.rate(at), Received: l.rate(at + 1),
			Replays: counter(&l.now[at+2]), Recoveries: counter(&l.now[at+3]), CRCErrors: counter(&l.now[at+4]),
		}
		if link.Active {
			active++
		}
		sent, received = quantity.Sum(sent, link.Sent), quantity.Sum(received, link.Received)
		for _, count := range []quantity.Optional[uint64]{link.Replays, link.Recoveries, link.CRCErrors} {
			if n, known := count.Value(); known && n < highestCount {
				errors = quantity.Sum(errors, quantity.From(int(n), quantity.Driver))
			}
		}
		r.result.NVLinks = append(r.result.NVLinks, link)
	}
	s := &r.result.Sensors
	s.NVLinkCount, s.NVLinksUp = quantity.From(len(states), quantity.Driver), quantity.From(active, quantity.Driver)
	s.NVLinkSent, s.NVLinkReceived, s.NVLinkErrors = sent, received, errors
}

// rate returns the bytes per second of a field since the last reading, by the driver's clock.
func (l *links) rate(at int) metric.Int {
	now := &l.now[at]
	i := slices.IndexFunc(l.before, func(v gonvml.FieldValue) bool { return v.FieldId == now.FieldId && v.ScopeId == now.ScopeId })
	if i < 0 {
		return metric.Int{}
	}
	kib, known := counter(now).Value()
	was, before := counter(&l.before[i]).Value()
	micros := now.Timestamp - l.before[i].Timestamp
	if !known || !before || kib < was || micros <= 0 {
		return metric.Int{} // a counter that fell has started again
	}
	bytes := float64(kib-was) * 1024 * 1e6 / float64(micros)
	if bytes > highestLinkRate {
		return metric.Int{}
	}
	return quantity.From(int(bytes), quantity.Driver)
}

func counter(v *gonvml.FieldValue) quantity.Optional[uint64] {
	if gonvml.Return(v.NvmlReturn) != gonvml.SUCCESS {
		return quantity.Optional[uint64]{}
	}
	switch gonvml.ValueType(v.ValueType) {
	case gonvml.VALUE_TYPE_UNSIGNED_INT:
		return quantity.From(uint64(binary.NativeEndian.Uint32(v.Value[:])), quantity.Driver)
	case gonvml.VALUE_TYPE_UNSIGNED_LONG, gonvml.VALUE_TYPE_UNSIGNED_LONG_LONG:
		return count(binary.NativeEndian.Uint64(v.Value[:]))
	default:
		return quantity.Optional[uint64]{}
	}
}
