package forecast

import "math/bits"

// Part is a part of the method, or several. The lab measures what each gains by
// leaving it out.
type Part uint32

// The parts: first the experts, in their order.
const (
	PartRestart Part = 1 << (experts + iota)
	PartCrest
	PartCourse
	partsEnd
)

// Parts are all parts, one by one.
func Parts() []Part {
	var all []Part
	for p := Part(1); p < partsEnd; p <<= 1 {
		all = append(all, p)
	}
	return all
}

// String is the name of one part.
func (p Part) String() string {
	names := [...]string{
		"quick drift", "short drift", "short line", "long line", "autoregression", "seasonal",
		"forgetting at a restart", "crests", "course",
	}
	if i := bits.TrailingZeros32(uint32(p)); i < len(names) {
		return names[i]
	}
	return "none"
}

// Without returns a Forecaster that lacks some parts.
func Without(parts Part) *Forecaster { return &Forecaster{state: state{Without: parts}} }
