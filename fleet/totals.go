package fleet

import (
	"context"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

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
	counted := func(f field) snapshot.Int { return counted(values, f, failed[f]) }
	t := Totals{Own: a.own(), Memory: memoryOf(values), GPUs: counted(count), Boxes: counted("boxes"), Down: counted("down"), Problems: problemsOf(failed)}
	t.Parts = partsOf(t.Memory.Used, amount(values, allocated), amount(values, cached), amount(values, fragmented), amount(values, returnable))
	return t, nil
}

// counted returns a count: 0 for an empty vector, unknown for a failed query.
func counted(values map[field]float64, f field, failed error) snapshot.Int {
	if n := whole(values, f, 1); n.Known() || failed != nil {
		return n
	}
	return quantity.From(0, quantity.Computed)
}
