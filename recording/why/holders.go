package why

import (
	"fmt"
	"strings"

	"vramscope/guard/advice"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// Where returns the line whose allocation failed, with its caller, "" if unknown.
func (e *Evidence) Where() string {
	f := e.Event.OutOfMemory
	if f == nil || len(f.Stack) == 0 {
		return ""
	}
	return text.Clean(strings.Join(f.Stack[:min(len(f.Stack), 2)], ", called by "))
}

// heldBy names a holder: "optimizer state", "the variable losses in train".
func heldBy(h *snapshot.HeldClass) string {
	if h.Name != "" {
		return "the variable " + text.Clean(h.Name)
	}
	return text.Clean(strings.ReplaceAll(h.Class, "_", " "))
}

// held returns the holders of the allocated memory, largest first, and how much was allocated.
func (e *Evidence) held() (held []snapshot.HeldClass, allocated quantity.Bytes) {
	if f := e.Event.OutOfMemory; f != nil && f.Allocated.Known() {
		return f.Held, f.Allocated.Or(0)
	}
	return nil, 0
}

// keeper returns the variable that held the most memory, if that was at least a tenth of the
// allocated memory.
func (e *Evidence) keeper() *snapshot.HeldClass {
	held, allocated := e.held()
	for i := range held {
		if h := &held[i]; h.Name != "" {
			if h.Bytes < allocated/10 {
				return nil
			}
			return h
		}
	}
	return nil
}

// ofKeeper advises to release the variable that keeper returns.
func ofKeeper(e *Evidence) (advice.Advice, bool) {
	if h := e.keeper(); h != nil {
		return advice.LetGo(h.Bytes, heldBy(h), strings.HasSuffix(h.Name, "kept by sys.last_traceback")), true
	}
	return advice.Advice{}, false
}

// noAdvice returns why there is no advice, "" if there is some.
func noAdvice(e *Evidence, v *Verdict) string {
	requested, known := e.Requested.Value()
	switch {
	case len(v.Advice) > 0:
		return ""
	case v.Cause == CannotTell || !known:
		return "None is known without the cause."
	case v.Cause == TooLarge:
		return fmt.Sprintf("No setting brings %s onto this device: ask for less at once, or use a device with more.", requested)
	case v.Cause == Leak:
		return "No setting stops a leak. What keeps its memory: vramscope holds PID, while the program runs."
	case v.Cause == NeighbourTook:
		return fmt.Sprintf("The neighbour has nothing to free. Where %s fits: vramscope headroom %s.", requested, roundedUp(requested))
	}
	return fmt.Sprintf("No setting that is known here brings the %s that was lacking: a smaller batch or model, or a device where it fits (vramscope headroom %s).",
		lackingOf(e), roundedUp(e.Used.Or(0)+requested))
}

// roundedUp returns a size for a command line, in whole GiB: "21G".
func roundedUp(b quantity.Bytes) string { return fmt.Sprintf("%dG", (b+quantity.GiB-1)/quantity.GiB) }

// lackingOf returns by how much the request exceeded the free memory, at least one byte.
func lackingOf(e *Evidence) quantity.Bytes { return max(e.Requested.Or(0)-e.Free.Or(0), 1) }
