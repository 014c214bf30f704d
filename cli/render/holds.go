package render

import (
	"fmt"
	"strconv"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// Holds is what holds a process's memory: a document, and as text a line for each class
// with memory.
//
//	GPU 0: 62.1G allocated
//	CLASS            BYTES  SHARE  BLOCKS
//	parameters       14.0G    23%     291
//	unnamed           1.2G     2%      14
func Holds(pid int, runtime string, h *probe.Holds, snap *snapshot.Snapshot, used map[string]snapshot.Bytes, signs Signs) (schema.HoldsDocument, string) {
	doc := schema.HoldsDocument{
		Schema: schema.Version, Time: schema.Time(time.Unix(0, h.TimeNS)), Host: snap.Host.Name,
		Holds: schema.Holds{
			PID: pid, Runtime: schema.Text(runtime), Exact: h.Exact, Moving: h.Moving, Notes: schema.Texts(h.Notes),
			TookMS: h.Milliseconds, Devices: []schema.HoldsDevice{},
		},
	}
	var lines []string
	for _, d := range h.Devices {
		device := schema.HoldsDevice{UUID: d.UUID, AllocatedBytes: d.AllocatedBytes, UsedBytes: used[d.UUID], Classes: []schema.HeldClass{}}
		if g, _ := snap.Device(d.UUID); g != nil && g.Name != "" {
			device.GPU = quantity.From(g.Index, quantity.Driver)
		}
		g := grid{columns: []column{{"CLASS", false, 0}, {"BYTES", true, 5}, {"SHARE", true, 0}, {"BLOCKS", true, 0}}}
		for _, part := range d.Parts {
			device.Classes = append(device.Classes, schema.HeldClass{Class: string(part.Class), Bytes: part.Bytes, Blocks: part.Blocks})
			if part.Bytes == 0 && part.Class != probe.Unnamed {
				continue
			}
			blocks := signs.Dash
			if part.Blocks != nil {
				blocks = strconv.FormatInt(*part.Blocks, 10)
			}
			share := signs.Dash
			if d.AllocatedBytes > 0 {
				share = fmt.Sprintf("%.0f%%", 100*float64(part.Bytes)/float64(d.AllocatedBytes))
			}
			g.rows = append(g.rows, []string{string(part.Class), part.Bytes.String(), share, blocks})
		}
		doc.Holds.Devices = append(doc.Holds.Devices, device)
		lines = append(append(lines, fmt.Sprintf("GPU %s: %s allocated", placeOfDevice(snap, d.UUID, signs.Dash), d.AllocatedBytes)), g.lines()...)
	}
	if len(lines) == 0 {
		lines = []string{"PyTorch has allocated nothing in PID " + strconv.Itoa(pid)}
	}
	for _, note := range h.Notes {
		lines = append(lines, "note  "+signs.Words(text.Clean(note)))
	}
	return doc, cutLines(lines, 0, "")
}
