package render

import (
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// Signs are the few signs in text output that are not ASCII.
type Signs struct{ cell.Glyphs }

// SignsFor returns the signs for a terminal: ASCII alone, or all.
func SignsFor(ascii bool) Signs {
	if ascii {
		return Signs{cell.ASCIIGlyphs()}
	}
	return Signs{cell.UnicodeGlyphs()}
}

func (g Signs) bytes(b snapshot.Bytes) string {
	if v, ok := b.Value(); ok {
		return v.String()
	}
	return g.Dash
}
