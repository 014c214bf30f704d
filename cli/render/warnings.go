package render

import (
	"fmt"
	"strings"

	"vramscope/cli/doctor"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// warnings returns the last lines of the table: GPUs that are not ok, alerts, flushes that would
// help, memory of processes that the driver does not list, and notes about probes.
func (t *table) warnings() []string {
	if t.snap.Driver.State != snapshot.DriverOK {
		// The alerts of single GPUs follow from the driver's state.
		return append([]string{"alert  driver  " + t.driverless()}, t.rejected()...)
	}
	var lines []string
	for i := range t.snap.GPUs {
		if g := &t.snap.GPUs[i]; g.State != snapshot.GPUOK {
			lines = append(lines, fmt.Sprintf("alert  gpu %d  %s", g.Index, t.signs.Words(g.StateSince())))
		}
	}
	for i := range t.snap.Alerts {
		switch a := &t.snap.Alerts[i]; {
		case a.Kind == snapshot.AlertLost, a.Kind == snapshot.AlertHanging, a.Kind == snapshot.AlertLowMemory:
			// Other lines of the table have the same figures.
		case a.GPUUUID == "":
			lines = append(lines, "alert  "+t.signs.Words(a.Message))
		default:
			message := strings.TrimPrefix(t.signs.Words(a.Message), fmt.Sprintf("GPU %d ", a.GPU))
			lines = append(lines, fmt.Sprintf("alert  gpu %d  %s", a.GPU, message))
		}
	}
	for i := range t.snap.GPUs {
		if line := t.short(&t.snap.GPUs[i]); line != "" {
			lines = append(lines, line)
		}
	}
	for i := range t.snap.GPUs {
		g := &t.snap.GPUs[i]
		if v := g.Unattributed.Or(0); v >= quantity.GiB {
			lines = append(lines, fmt.Sprintf("note   gpu %d  %v is used by processes that the driver does not list", g.Index, v)+doctor.OpenIn(g.Holders))
		}
	}
	return append(append(lines, t.rejected()...), t.byDaemon()...)
}

// byDaemon notes that a daemon reports the parts of other users' processes.
func (t *table) byDaemon() []string {
	n := 0
	for i := range t.snap.Rows {
		if p := t.snap.Rows[i].Probe; p != nil && p.ByDaemon {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []string{"note   the parts of " + text.Plural(n, "process", "processes") + " are by root's daemon: you may not ask their probes"}
}

// rejected returns notes about the probes whose figures are not in the table, because they were
// rejected or could not be asked in time.
func (t *table) rejected() (lines []string) {
	if n := t.snap.ProbesUnasked; n > 0 {
		lines = append(lines, "note   "+text.Plural(n, "process", "processes")+" could not be asked for a probe in time: the parts are unknown; --watch waits for them")
	}
	for i := range t.snap.Rows {
		if why := t.snap.Rows[i].Rejection(); why != "" {
			lines = append(lines, fmt.Sprintf("note   gpu %d  %s", t.snap.Rows[i].GPU, why))
		}
	}
	return lines
}

func (t *table) driverless() string {
	d := &t.snap.Driver
	s := text.Clean(string(d.State))
	if !d.Since.IsZero() {
		s += " since " + d.Since.Format("15:04:05")
	}
	if d.Message != "" {
		s += " (" + t.signs.Words(d.Message) + ")"
	}
	return s + ": probe data only"
}

// short warns of a GPU with little free memory if a flush of one process would at least double that
// memory. Little free memory alone is no alert: servers preallocate.
func (t *table) short(g *snapshot.GPU) string {
	free, known := g.Memory.Free.Value()
	capacity, measured := g.Memory.Capacity().Value()
	if !known || !measured || g.MIG || free >= capacity/10 {
		return ""
	}
	var best *snapshot.Process
	for p := range t.snap.GPURows(g.UUID) {
		if p.Returnable.Or(0) >= max(free, 1) && (best == nil || p.Returnable.Or(0) > best.Returnable.Or(0)) {
			best = p
		}
	}
	if best == nil {
		return ""
	}
	user := ""
	if best.User != "" {
		user = " (" + oneWord(best.User) + ")"
	}
	return fmt.Sprintf("alert  gpu %d  free %v of %v; flush of %d%s frees %s", g.Index, free, capacity, best.ID.Process.PID, user, best.ReturnableBound().Amount(best.Returnable.Or(0)))
}
