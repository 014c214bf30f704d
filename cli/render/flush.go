package render

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"vramscope/action"
	"vramscope/action/flush"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
	"vramscope/ui/cell"
)

// FlushText returns the result of a flush: a line for each GPU, and the sentence that the monitor shows.
func FlushText(before *snapshot.Snapshot, target *snapshot.Process, r *flush.Result, signs Signs) string {
	g := grid{columns: []column{
		{"GPU", true, 0}, {"BEFORE", true, 0}, {"AFTER", true, 0}, {"FREED", true, 0},
		{"DRIVER-BEFORE", true, 0}, {"DRIVER-AFTER", true, 0}, {"DRIVER-FREED", true, 0},
	}}
	var notes []string
	for i := range r.Devices {
		d := &r.Devices[i]
		g.rows = append(g.rows, []string{
			placeOfDevice(before, d.UUID, signs.Dash), d.Before.String(), d.After.String(), d.Freed().String(),
			signs.Bytes(d.DriverBefore), signs.Bytes(d.DriverAfter), signs.Bytes(d.DriverFreed()),
		})
		if r.Server != "" { // no probe reports what a server freed
			copy(g.rows[i][1:4], []string{signs.Dash, signs.Dash, signs.Dash})
		}
		if d.Whole && d.DriverBefore.Known() {
			notes = append(notes, "the driver does not report the process's memory: its figures are the whole GPU's")
		}
	}
	lines := simulated(before.Simulated)
	if len(g.rows) > 0 {
		lines = append(lines, g.lines()...)
	}
	lines = append(lines, signs.Words(r.Sentence(strconv.Itoa(target.ID.Process.PID))))
	return cutLines(marked(lines, "note  ", append(notes, r.Notes...), signs), 0, "")
}

// FlushQuestion returns the question before a flush.
func FlushQuestion(snap *snapshot.Snapshot, target *snapshot.Process, request flush.Request, signs Signs) string {
	var b strings.Builder
	fmt.Fprintf(&b, "PID %d  %s  %s", target.ID.Process.PID, cmp.Or(text.Clean(target.User), "?"), cell.ShortCommand(target))
	if target.Runtime != "" {
		b.WriteString("  " + text.Clean(strings.TrimSpace(target.Runtime+" "+target.RuntimeVersion)))
	}
	b.WriteByte('\n')
	for _, row := range action.Rows(snap, request.Process, request.Devices...) {
		fmt.Fprintf(&b, "GPU %s  used %s, a flush frees %s\n", placeOfDevice(snap, snap.DeviceUUID(row.ID), signs.Dash),
			signs.Bytes(row.Used), row.ReturnableBound().Amount(row.Frees()))
	}
	fmt.Fprintf(&b, "Flush it (%s)?", request.Level)
	return b.String()
}

// placeOfDevice returns "3", "5:1" for a MIG instance, or the dash for an unknown device.
func placeOfDevice(snap *snapshot.Snapshot, uuid, dash string) string {
	switch g, instance := snap.Device(uuid); {
	case instance != nil:
		return instanceName(g.Index, g.InstanceNumber(instance.ID))
	case g != nil && g.Name != "":
		return strconv.Itoa(g.Index)
	}
	return dash
}

func FlushDocument(before *snapshot.Snapshot, target *snapshot.Process, r *flush.Result) schema.FlushDocument {
	return schema.FlushDocument{
		Head: schema.HeadOf(schema.Version, before),
		Flush: schema.Flush{
			PID: target.ID.Process.PID, StartTime: schema.Time(target.Started), User: schema.Text(target.User),
			Name: schema.Text(target.Name), Command: schema.Text(strings.Join(target.Command, " ")), Runtime: schema.Text(target.Runtime),
			Level: string(r.Level), DryRun: r.DryRun, Outcome: r.Outcome(), Reason: schema.Text(r.Reason),
			Notes: schema.Texts(r.Notes), StepsDone: r.Step, Steps: r.Steps, TookMS: r.Took.Seconds() * 1000,
			ReturnableBytes: r.Returnable, BeforeBytes: r.Before(), AfterBytes: r.After(), FreedBytes: r.Freed(),
			Devices: schema.List(r.Devices, flushedOn),
		},
	}
}

func flushedOn(d *flush.Device) schema.FlushDevice {
	done := schema.FlushDevice{
		GPU: d.Index, UUID: d.UUID, BeforeBytes: d.Before, AfterBytes: d.After, FreedBytes: d.Freed(), CollectedBytes: d.Collected,
		DriverBeforeBytes: d.DriverBefore, DriverAfterBytes: d.DriverAfter, DriverFreedBytes: d.DriverFreed(),
		TakenSinceBytes: d.Since,
	}
	if d.DriverBefore.Known() {
		done.DriverOf = schema.Text(map[bool]string{true: "gpu", false: "process"}[d.Whole])
	}
	return done
}
