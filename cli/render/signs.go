package render

import "vramscope/sampler/snapshot"

// Signs are the few signs in text output that are not ASCII.
type Signs struct{ dash, Ellipsis, enDash string }

// SignsFor are the signs of a terminal that has ASCII alone, or more.
func SignsFor(ascii bool) Signs {
	if ascii {
		return Signs{dash: "-", Ellipsis: "+", enDash: "-"}
	}
	return Signs{dash: "–", Ellipsis: "…", enDash: "–"}
}

func (g Signs) bytes(b snapshot.Bytes) string {
	if v, ok := b.Value(); ok {
		return v.String()
	}
	return g.dash
}
