package fleet

import (
	"context"

	"vramscope/internal/quantity"
)

// Totals implements Source.
func (p *Prometheus) Totals(ctx context.Context, q Query) (Totals, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	a, err := p.discover(ctx, q)
	if err != nil {
		return Totals{}, err
	}
	answers, failed := p.askAll(ctx, a.totals())
	values := map[field]float64{}
	for f, s := range answers {
		if len(s) == 1 {
			values[f] = s[0].value
		}
	}
	t := Totals{Memory: memoryOf(values), GPUs: whole(values, count, 1), Boxes: whole(values, "boxes", 1), Down: whole(values, "down", 1), Problems: problemsOf(failed)}
	if !t.Down.Known() && failed["down"] == nil && t.Boxes.Known() {
		t.Down = quantity.From(0, quantity.Computed) // an empty vector is none
	}
	t.Parts = partsOf(t.Memory.Used, amount(values, allocated), amount(values, cached), amount(values, fragmented), amount(values, returnable))
	return t, nil
}
