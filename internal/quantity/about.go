package quantity

import "strings"

// About returns an estimate as text, from 1 KiB on with at most two significant digits.
func (b Bytes) About() string {
	step := Bytes(1)
	for unit := KiB; unit <= b; unit *= 1024 {
		switch {
		case b < 10*unit:
			step = unit / 10
		case b < 100*unit:
			step = unit
		default:
			step = 10 * unit
		}
	}
	text := ((b + step/2) / step * step).String()
	if i := len(text) - 2; strings.Contains(text, ".") && text[i] == '0' {
		text = strings.TrimSuffix(text[:i], ".") + text[i+1:]
	}
	return text
}
