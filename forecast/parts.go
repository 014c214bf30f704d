package forecast

import "strconv"

// Part is a part of the method, or several. The lab measures what each gains by
// leaving it out.
type Part uint32

// The parts: first the experts, in their order.
const (
	PartQuick Part = 1 << iota
	PartShort
	PartLong
	PartMedian
	PartReverting
	PartSeasonal
	PartRestart
	PartCrest
	PartChangepoint
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
	names := map[Part]string{
		PartQuick: "quick drift", PartShort: "short drift", PartLong: "long line", PartMedian: "median",
		PartReverting: "autoregression", PartSeasonal: "seasonal", PartRestart: "forgetting at a restart",
		PartCrest: "crests", PartChangepoint: "changepoint",
	}
	if name, ok := names[p]; ok {
		return name
	}
	return "part " + strconv.Itoa(int(p))
}

// Without returns a Forecaster that lacks some parts.
func Without(parts Part) *Forecaster {
	f := New()
	f.state.Without = parts
	return f
}

// drop removes the claims of the experts that are left out.
func (p Part) drop(c *claims) {
	for i := range c {
		if p&(1<<i) != 0 {
			c[i] = 0
		}
	}
}
