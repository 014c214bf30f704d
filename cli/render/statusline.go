package render

import (
	"fmt"
	"io"
	"strings"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// StatusLine writes one line for a status bar:
//
//	60.8/79.6G 97% 68C                                          one GPU
//	415/637G  8 GPUs  fullest 3: 72.9/79.6G  ! 6 lost           several
func StatusLine(w io.Writer, snap *snapshot.Snapshot, ascii bool) error {
	t := table{snap: snap, signs: SignsFor(ascii)}
	var parts []string
	if snap.Simulated {
		parts = append(parts, "SIMULATED")
	}
	switch len(snap.GPUs) {
	case 0:
		parts = append(parts, "no GPU")
	case 1:
		g := &snap.GPUs[0]
		parts = append(parts, strings.Join([]string{
			t.share(g.Memory.Used, g.Memory.Total), t.metric(g, metric.Utilization), t.metric(g, metric.Temperature),
		}, " "))
	default:
		parts = append(parts, t.total(), text.Plural(len(snap.GPUs), "GPU", "GPUs"))
		if g := fullest(snap); g != nil {
			parts = append(parts, fmt.Sprintf("fullest %d: %s", g.Index, t.share(g.Memory.Used, g.Memory.Total)))
		}
	}
	for i := range snap.GPUs {
		if g := &snap.GPUs[i]; g.State != snapshot.GPUOK {
			parts = append(parts, fmt.Sprintf("! %d %s", g.Index, g.StateWord()))
		} else if g.FullIn != nil {
			parts = append(parts, fmt.Sprintf("! %d full %s", g.Index, shortDuration(g.FullIn.Median)))
		}
	}
	_, err := io.WriteString(w, strings.Join(parts, "  ")+"\n")
	return err
}

// total is the memory of all GPUs whose memory is known.
func (t *table) total() string {
	var used, total []snapshot.Bytes
	for i := range t.snap.GPUs {
		if memory := t.snap.GPUs[i].Memory; memory.Used.Known() {
			used, total = append(used, memory.Used), append(total, memory.Total)
		}
	}
	return t.share(quantity.Sum(used...), quantity.Sum(total...))
}

// share is "60.8/79.6G", whole from 100 GiB on.
func (t *table) share(used, total snapshot.Bytes) string {
	whole, ok := total.Value()
	if !ok {
		return t.bytes(used) + "/" + t.signs.Dash
	}
	digits := 1
	if whole >= 100*quantity.GiB {
		digits = 0
	}
	held := t.signs.Dash
	if v, ok := used.Value(); ok {
		held = fmt.Sprintf("%.*f", digits, float64(v)/float64(quantity.GiB))
	}
	return fmt.Sprintf("%s/%.*fG", held, digits, float64(whole)/float64(quantity.GiB))
}

// fullest is the GPU with the greatest share of its capacity in use.
func fullest(snap *snapshot.Snapshot) *snapshot.GPU {
	var best *snapshot.GPU
	highest := -1.0
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		used, known := g.Memory.Used.Value()
		capacity, measured := g.Memory.Capacity().Value()
		if !known || !measured || capacity <= 0 {
			continue
		}
		if share := float64(used) / float64(capacity); share > highest {
			best, highest = g, share
		}
	}
	return best
}
