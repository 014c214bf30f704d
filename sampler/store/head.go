package store

// head is the newest block of a series, not compressed. If all values of a part are equal, as they
// mostly are, head keeps one number.
type head struct {
	present mask
	values  [headParts]*part // nil if all values of the part are equal[i]
	equal   [headParts]int64
}

type part [partTicks]int64

const (
	partTicks = 32 // so that a noisy series has 2½ of 4 parts on average
	headParts = blockPlaces / partTicks
)

func (h *head) set(i int, v int64) {
	p := i / partTicks
	switch values := h.values[p]; {
	case values != nil:
		values[i%partTicks] = v
	case h.present[i>>6]>>(p*partTicks&63)&(1<<partTicks-1) == 0:
		h.equal[p] = v
	case h.equal[p] != v:
		values = new(part)
		for k := range values {
			values[k] = h.equal[p]
		}
		values[i%partTicks] = v
		h.values[p] = values
	}
	h.present.set(i)
}

// at returns the value at place i, which must be present.
func (h *head) at(i int) int64 {
	if values := h.values[i/partTicks]; values != nil {
		return values[i%partTicks]
	}
	return h.equal[i/partTicks]
}

// collect copies the present values to the front.
func (h *head) collect(to *[blockPlaces]int64) []int64 {
	n := 0
	for i := range to {
		if h.present.has(i) {
			to[n] = h.at(i)
			n++
		}
	}
	return to[:n]
}

// mask is the set of a block's places with a value.
type mask [2]uint64

func (m *mask) has(i int) bool { return m[i>>6]>>(i&63)&1 != 0 }
func (m *mask) set(i int)      { m[i>>6] |= 1 << (i & 63) }
