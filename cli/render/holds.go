package render

import (
	"fmt"
	"strconv"

	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// Holds returns, for each device, a line for each class that has memory, and a last line for memory
// that the probe cannot name.
//
//	GPU 0: 62.1G allocated
//	CLASS            BYTES  SHARE  BLOCKS
//	parameters       14.0G    23%     291
//	unnamed           1.2G     2%      14
func Holds(h *schema.Holds, snap *snapshot.Snapshot, signs Signs) string {
	var lines []string
	for _, d := range h.Devices {
		g := grid{columns: []column{{"CLASS", false, 0}, {"BYTES", true, 5}, {"SHARE", true, 0}, {"BLOCKS", true, 0}}}
		for i, part := range d.Classes {
			if part.Bytes == 0 && i < len(d.Classes)-1 {
				continue
			}
			blocks, share := signs.Dash, signs.Dash
			if n, known := part.Blocks.Value(); known {
				blocks = strconv.FormatInt(n, 10)
			}
			if d.AllocatedBytes > 0 {
				share = fmt.Sprintf("%.0f%%", 100*float64(part.Bytes)/float64(d.AllocatedBytes))
			}
			g.rows = append(g.rows, []string{part.Class, part.Bytes.String(), share, blocks})
		}
		lines = append(append(lines, fmt.Sprintf("GPU %s: %s allocated", placeOfDevice(snap, d.UUID, signs.Dash), d.AllocatedBytes)), g.lines()...)
	}
	if len(lines) == 0 {
		lines = []string{"PyTorch has allocated nothing in PID " + strconv.Itoa(h.PID)}
	}
	return cutLines(marked(lines, "note  ", h.Notes, signs), 0, "")
}
