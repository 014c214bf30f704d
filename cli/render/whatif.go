package render

import (
	"cmp"
	"fmt"
	"strconv"

	"vramscope/internal/text"
	"vramscope/memoryviz/whatif"
)

// WhatIf returns a table with the result of each setting of PyTorch's allocator.
//
//	SETTINGS                  RESERVED  FRAGMENTED  OUT OF MEMORY  SMALLEST GPU
//	its own                      18.5G       10.9G             no        24 GiB
//	expandable_segments:True     7.09G        234M             no         8 GiB
//	replayed 80124 events of cuda:0, from the first allocation, through PyTorch 2.12.1's own allocator
func WhatIf(doc *whatif.Document, signs Signs) string {
	var lines []string
	for _, d := range doc.Devices {
		g := grid{columns: []column{{"SETTINGS", false, 0}, {"RESERVED", true, 5}, {"FRAGMENTED", true, 5}, {"OUT OF MEMORY", true, 0}, {"SMALLEST GPU", true, 0}}}
		for i, r := range d.Results {
			name, failed, smallest := cmp.Or(r.Settings, "default"), signs.Dash, signs.Dash
			if i == 0 {
				name = "its own"
			}
			if r.Failed != nil {
				failed = map[bool]string{true: "yes", false: "no"}[*r.Failed]
			}
			if r.Smallest != nil {
				smallest = strconv.Itoa(*r.Smallest) + " GiB"
			}
			g.rows = append(g.rows, []string{text.Clean(name), r.Reserved.String(), r.Fragmented.String(), failed, smallest})
		}
		how := "from the first allocation"
		if d.Estimate != nil {
			how = "an ESTIMATE: " + string(*d.Estimate)
		}
		lines = append(append(lines, g.lines()...), signs.Words(text.Clean(fmt.Sprintf(
			"replayed %d events of cuda:%d, %s, through PyTorch %s's own allocator", d.Events, d.Ordinal, how, doc.Torch))))
	}
	return cutLines(marked(lines, "note  ", doc.Notes, signs), 0, "")
}
