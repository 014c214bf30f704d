package cli

import (
	"fmt"
	"strconv"

	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// mostProblems bounds the probes that doctor explains one by one.
const mostProblems = 8

// probes is what answers from inside of processes, and what keeps others from
// being read.
func (e *examination) probes() []finding {
	live, silent := make(map[int]bool), make(map[int]bool)
	for i := range e.snap.Rows {
		p := &e.snap.Rows[i]
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
		found = append(found, finding{verdict: neither, what: "probes", text: "none answers: what processes' memory is remains unknown",
			next: []string{"to try one: vramscope probe"}})
	case 1:
		found = append(found, finding{verdict: works, what: "probes", text: "1 process answers"})
	default:
		found = append(found, finding{verdict: works, what: "probes", text: strconv.Itoa(n) + " processes answer"})
	}
	if n := len(silent); n > 0 {
		found = append(found, finding{verdict: fails, what: "silent", text: fmt.Sprintf("%d with a probe that does not answer: stopped, or hanging", n)})
	}
	found = append(found, e.native()...)
	if e.sources.probes == nil {
		return found
	}
	problems := e.sources.probes.Problems()
	for i, problem := range problems {
		if i == mostProblems {
			found = append(found, finding{verdict: fails, what: "more", text: strconv.Itoa(len(problems)-i) + " others cannot be read"})
			break
		}
		found = append(found, finding{verdict: fails, what: "refused", text: text.Clean(problem.Err.Error())})
	}
	return found
}
