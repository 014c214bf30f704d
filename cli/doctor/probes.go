package doctor

import (
	"fmt"
	"strconv"

	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// mostProblems bounds the probes that doctor explains one by one.
const mostProblems = 8

// probes are those that answer, and those that cannot be read.
func (b *Box) probes() []finding {
	live, silent := make(map[int]bool), make(map[int]bool)
	for i := range b.Snapshot.Rows {
		p := &b.Snapshot.Rows[i]
		switch {
		case p.Probe == nil:
		case p.Probe.State == snapshot.ProbeSilent:
			silent[p.ID.Process.PID] = true
		default:
			live[p.ID.Process.PID] = true
		}
	}
	var found []finding
	switch n := len(live); n {
	case 0:
		found = append(found, finding{verdict: neither, what: "probes", text: "none answers: the contents of processes' memory remain unknown",
			next: []string{"to try one: vramscope probe"}})
	case 1:
		found = append(found, finding{verdict: works, what: "probes", text: "1 process answers"})
	default:
		found = append(found, finding{verdict: works, what: "probes", text: strconv.Itoa(n) + " processes answer"})
	}
	if n := len(silent); n > 0 {
		found = append(found, finding{verdict: fails, what: "silent", text: fmt.Sprintf("%d with a probe that does not answer: stopped, or hanging", n)})
	}
	found = append(found, b.native()...)
	for i, problem := range b.Problems {
		if i == mostProblems {
			found = append(found, finding{verdict: fails, what: "more", text: strconv.Itoa(len(b.Problems)-i) + " others cannot be read"})
			break
		}
		found = append(found, finding{verdict: fails, what: "refused", text: text.Clean(problem.Err.Error())})
	}
	return found
}
