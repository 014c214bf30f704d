package memoryviz

import (
	"fmt"
	"html"
	"io"
	"path"
	"slices"
	"strings"

	"vramscope/internal/quantity"
)

// leastFlame is the share of the live memory below which a call is not drawn.
const leastFlame = 1. / 1000

const flameHead = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>%[1]s</title>
<style>
:root { color-scheme: light dark; --call: light-dark(#cfe0f7, #274263); --own: light-dark(#f3c9a5, #6d4521); }
body { margin: 16px; font: 12px/18px system-ui, sans-serif; }
div { display: flex; min-width: 0; }
div > section { display: block; min-width: 0; overflow: hidden; }
p { margin: 0 1px 1px 0; padding: 0 3px; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; border-radius: 2px; background: var(--call); }
p.own { background: var(--own); }
</style></head><body>
<h1>%[1]s</h1>
<footer>Each call is as wide as its share, the outermost on top. Orange: the innermost line of the program.</footer>
<main>`

// flame is a call, with its live memory and the calls below it.
type flame struct {
	at    Frame
	own   bool // this call is the program's innermost line for some of its memory
	size  quantity.Bytes
	calls []*flame
}

func (f *flame) call(at Frame) *flame {
	if i := slices.IndexFunc(f.calls, func(c *flame) bool { return c.at == at }); i >= 0 {
		return f.calls[i]
	}
	f.calls = append(f.calls, &flame{at: at})
	return f.calls[len(f.calls)-1]
}

// Flames writes the live memory as a flame graph: an HTML page without scripts.
func (s *Snapshot) Flames(out io.Writer, title string) error {
	var all flame
	for _, b := range s.Blocks {
		at := &all
		at.size += b.Size
		for _, f := range slices.Backward(b.Stack.Frames) {
			at = at.call(f)
			at.own, at.size = at.own || f == b.Stack.own && f.File != "", at.size+b.Size
		}
	}
	var w strings.Builder
	fmt.Fprintf(&w, flameHead, html.EscapeString(fmt.Sprintf("%s: %s live", title, all.size)))
	all.write(&w, all.size)
	w.WriteString("</main>\n</body></html>\n")
	_, err := io.WriteString(out, w.String())
	return err
}

func (f *flame) write(w *strings.Builder, all quantity.Bytes) {
	slices.SortStableFunc(f.calls, func(a, b *flame) int { return int(min(max(b.size-a.size, -1), 1)) })
	w.WriteString("<div>\n")
	for _, c := range f.calls {
		if float64(c.size) < leastFlame*float64(all) {
			break
		}
		name, own := c.at.String(), ""
		if c.at.File != "" {
			name = fmt.Sprintf("%s %s:%d", c.at.Function, path.Base(string(c.at.File)), c.at.Line.Or(0))
		}
		if c.own {
			own = " class=own"
		}
		fmt.Fprintf(w, `<section style="width:%.3f%%"><p%s title="%s">%s</p>`, 100*float64(c.size)/float64(f.size), own,
			html.EscapeString(fmt.Sprintf("%s %s", c.size, c.at)), html.EscapeString(fmt.Sprintf("%s %s", c.size, name)))
		c.write(w, all)
		w.WriteString("</section>")
	}
	w.WriteString("</div>\n")
}
