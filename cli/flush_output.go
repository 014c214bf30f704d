package cli

import (
	"strconv"
	"strings"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
	"vramscope/ui"
)

// writeFlush writes what came of a flush. Where there was something to give
// back and nothing was, or somebody stopped it, the exit code says so.
func (p *program) writeFlush(before *snapshot.Snapshot, target *snapshot.Process, r *flushReport, format string, s *settings) error {
	result := r.result()
	var text []byte
	if format == "json" {
		var err error
		if text, err = flushJSON(before, target, r, &result); err != nil {
			return err
		}
	} else {
		text = flushText(before, target, r, &result, p.glyphs(s))
	}
	if err := p.print(text); err != nil {
		return err
	}
	if result.Failed() || r.stopped {
		return &silent{exitFailure}
	}
	return nil
}

// flushText is a line for each GPU, and the sentence that the monitor shows.
func flushText(before *snapshot.Snapshot, target *snapshot.Process, r *flushReport, result *ui.FlushResult, signs glyphs) []byte {
	g := grid{columns: []column{
		{"GPU", true, 0}, {"BEFORE", true, 0}, {"AFTER", true, 0}, {"FREED", true, 0},
		{"DRIVER-BEFORE", true, 0}, {"DRIVER-AFTER", true, 0}, {"DRIVER-FREED", true, 0},
	}}
	var notes []string
	for i := range r.devices {
		d := &r.devices[i]
		g.rows = append(g.rows, []string{
			placeOfDevice(before, d.uuid, signs.dash), d.before.String(), d.after.String(), (d.before - d.after).String(),
			signs.bytes(d.driverBefore), signs.bytes(d.driverAfter), signs.bytes(d.driverFreed()),
		})
		if d.whole && d.driverBefore.Known() {
			notes = append(notes, "the driver does not tell what the process uses: its figures are the whole GPU's")
		}
	}
	var b strings.Builder
	if before.Simulated {
		b.WriteString("SIMULATED\n")
	}
	if len(g.rows) > 0 {
		b.WriteString(strings.Join(g.lines(0, signs.ellipsis), "\n") + "\n")
	}
	b.WriteString(text.Clean(result.Sentence(strconv.Itoa(target.ID.Process.PID))) + "\n")
	for _, note := range append(notes, r.notes...) {
		b.WriteString("note  " + text.Clean(note) + "\n")
	}
	return []byte(b.String())
}

// driverFreed is by how much the driver's figure fell.
func (d *flushedDevice) driverFreed() snapshot.Bytes {
	before, ok := d.driverBefore.Value()
	after, also := d.driverAfter.Value()
	if !ok || !also {
		return snapshot.Bytes{}
	}
	return quantity.From(before-after, quantity.Driver)
}

// placeOfDevice is "3", "5:1" for the first MIG instance of GPU 5, and the
// dash where the driver knows no such device.
func placeOfDevice(snap *snapshot.Snapshot, uuid, dash string) string {
	switch g, instance := snap.Device(uuid); {
	case instance != nil:
		return instanceName(g.Index, g.InstanceNumber(instance.ID))
	case g != nil && g.Name != "":
		return strconv.Itoa(g.Index)
	}
	return dash
}

// outcome is a flush in one word.
func outcome(r *flushReport, result *ui.FlushResult) string {
	switch {
	case r.wish.dryRun:
		return "dry_run"
	case r.stopped:
		return "stopped"
	case result.Failed():
		return "nothing_freed"
	case result.Freed() <= 0:
		return "nothing_to_free"
	case r.reason != "":
		return "partly"
	default:
		return "flushed"
	}
}

func flushJSON(before *snapshot.Snapshot, target *snapshot.Process, r *flushReport, result *ui.FlushResult) ([]byte, error) {
	doc := schema.FlushDocument{
		Schema: schema.Version, Time: schema.Time(before.Time), Host: before.Host.Name, Simulated: before.Simulated,
		Flush: schema.Flush{
			PID: target.ID.Process.PID, StartTime: schema.Time(target.Started), User: schema.Text(target.User),
			Name: schema.Text(target.Name), Command: schema.Text(strings.Join(target.Command, " ")), Runtime: schema.Text(target.Runtime),
			Level: string(r.wish.level), DryRun: r.wish.dryRun, Outcome: outcome(r, result), Reason: schema.Text(r.reason),
			Notes: schema.Texts(r.notes), StepsDone: r.step, Steps: r.steps, TookMS: r.took.Seconds() * 1000,
			ReturnableBytes: r.returnable, BeforeBytes: result.Before, AfterBytes: result.After, FreedBytes: result.Freed(),
			Devices: []schema.FlushDevice{},
		},
	}
	for i := range r.devices {
		d := &r.devices[i]
		done := schema.FlushDevice{
			GPU: d.index, UUID: d.uuid, BeforeBytes: d.before, AfterBytes: d.after, FreedBytes: d.before - d.after,
			DriverBeforeBytes: d.driverBefore, DriverAfterBytes: d.driverAfter, DriverFreedBytes: d.driverFreed(),
			TakenSinceBytes: d.since,
		}
		if d.driverBefore.Known() {
			done.DriverOf = "process"
			if d.whole {
				done.DriverOf = "gpu"
			}
		}
		doc.Flush.Devices = append(doc.Flush.Devices, done)
	}
	return schema.Encode(doc)
}
