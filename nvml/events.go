//go:build linux && cgo

package nvml

import (
	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// mostEvents bounds what one reading takes out of the driver's queue, so
// that a GPU that raises errors without end still gets its figures read.
const mostEvents = 32

// readEvents collects the critical errors since the last reading. The queue
// begins with the subscription, which the second reading makes: a program
// that reads once has no use for it.
func (r *reading) readEvents() {
	if r.events == nil {
		if r.readings > 0 && !r.deaf && r.err == nil {
			r.subscribe()
		}
		return
	}
	for range mostEvents {
		if !r.can(symEventSetWait, symEventSetWaitV1) {
			return
		}
		event, ret := r.events.Wait(0)
		if code(ret) == codeTimeout {
			return // The queue is empty.
		}
		if !r.ok(symEventSetWait, code(ret)) {
			return
		}
		if event.EventType == gonvml.EventTypeXidCriticalError {
			r.result.XIDs = append(r.result.XIDs, XID{Code: event.EventData, Time: r.result.Time})
		}
	}
}

// subscribe asks the driver to queue the GPU's critical errors. Where it has
// none to offer, that is not asked again.
func (r *reading) subscribe() {
	r.deaf = true
	if !r.can(symEventSetCreate) || !r.can(symEventSetFree) || !r.can(symRegisterEvents) || !r.can(symSupportedEvents) {
		return
	}
	supported, ret := r.handle.GetSupportedEventTypes()
	if !r.ok(symSupportedEvents, code(ret)) || supported&gonvml.EventTypeXidCriticalError == 0 {
		return
	}
	set, ret := r.api.EventSetCreate()
	if !r.ok(symEventSetCreate, code(ret)) {
		return
	}
	ret = r.handle.RegisterEvents(gonvml.EventTypeXidCriticalError, set)
	if !r.ok(symRegisterEvents, code(ret)) {
		set.Free()
		return
	}
	r.events, r.deaf = set, false
}

// unsubscribe gives the queue back.
func (g *gpu) unsubscribe() {
	if g.events != nil {
		g.events.Free()
		g.events = nil
	}
}
