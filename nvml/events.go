//go:build linux && cgo

package nvml

import (
	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// mostEvents bounds what one reading takes out of the driver's queue, so
// that a GPU that raises errors without end still gets its figures read.
const mostEvents = 32

// readEvents collects the critical errors since the last reading. It comes
// before anything else, because a GPU that is lost says why here, and what
// goes wrong in it ends nothing. The queue begins with the subscription,
// which the second reading makes: a program that reads once has no use for it.
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
	for range mostEvents {
		event, ret := r.events.Wait(0)
		if ret != gonvml.SUCCESS {
			return // TIMEOUT: the queue is empty.
		}
		if event.EventType == gonvml.EventTypeXidCriticalError {
			r.result.XIDs = append(r.result.XIDs, XID{Code: event.EventData, Time: r.started})
		}
	}
}

// subscribe asks the driver to queue the GPU's critical errors. Where it has
// none to offer, that is not asked again.
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
		_ = set.Free() // an empty set that cannot be freed is nothing to act on
		return
	}
	r.events, r.eventless = set, false
}

// unsubscribe gives the queue back.
func (g *gpu) unsubscribe() {
	if g.events != nil {
		_ = g.events.Free() // refused only by a driver that has dropped the set already
		g.events = nil
	}
}
