//go:build linux && cgo

package nvml

import (
	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// maxEvents limits how many events one reading takes from the driver's queue, so that a GPU with
// endless errors is still read.
const maxEvents = 32

// readEvents collects the critical errors since the last reading. It runs first, because a lost GPU
// reports the reason here. Its failures do not end the reading. Only the second reading subscribes
// to events: a program that reads once needs none.
func (r *reading) readEvents() {
	if r.events == nil {
		if r.readings > 0 && !r.eventless {
			r.subscribe()
		}
		return
	}
	if !r.can(symEventSetWait, symEventSetWaitV1) {
		return
	}
	for range maxEvents {
		event, ret := r.events.Wait(0)
		if ret != gonvml.SUCCESS {
			return // TIMEOUT: the queue is empty.
		}
		if event.EventType == gonvml.EventTypeXidCriticalError {
			r.result.XIDs = append(r.result.XIDs, XID{Code: event.EventData, Time: r.started})
		}
	}
}

// subscribe makes the driver queue the GPU's critical errors. It tries only once.
func (r *reading) subscribe() {
	r.eventless = true
	if !r.can(symEventSetCreate) || !r.can(symEventSetFree) || !r.can(symRegisterEvents) || !r.can(symSupportedEvents) {
		return
	}
	supported, ret := r.handle.GetSupportedEventTypes()
	if ret != gonvml.SUCCESS || supported&gonvml.EventTypeXidCriticalError == 0 {
		return
	}
	set, ret := r.api.EventSetCreate()
	if ret != gonvml.SUCCESS {
		return
	}
	if r.handle.RegisterEvents(gonvml.EventTypeXidCriticalError, set) != gonvml.SUCCESS {
		_ = set.Free() // an empty set that cannot be freed does no harm
		return
	}
	r.events, r.eventless = set, false
}

func (g *gpu) unsubscribe() {
	if g.events != nil {
		_ = g.events.Free() // no error would need an action
		g.events = nil
	}
}
