package forecast

// The parts of the method, by number: first the experts, in their order. The lab
// measures what each gains.
const (
	partRestart = experts + iota
	partCrest
	partCourse
	Parts // how many there are
)

// Without returns a Forecaster that lacks a part.
func Without(part int) *Forecaster { return &Forecaster{state: state{Without: 1 << part}} }
