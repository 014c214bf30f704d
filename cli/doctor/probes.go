package doctor

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"vramscope/cli/launch"
	"vramscope/internal/text"
	"vramscope/probe"
	"vramscope/probe/preload"
	"vramscope/sampler/snapshot"
)

// mostProblems limits how many findings of one kind doctor lists.
const mostProblems = 8

// probes reports the state of the probes.
func (b *Box) probes() []finding {
	live, silent := make(map[int]bool), make(map[int]bool)
	var rejected []finding
	for i := range b.Snapshot.Rows {
		p := &b.Snapshot.Rows[i]
		if why := p.Rejection(); why != "" {
			rejected = append(rejected, finding{verdict: fails, what: "rejected", text: why})
		}
		switch {
		case p.Probe == nil:
		case p.Probe.State == snapshot.ProbeSilent:
			silent[p.ID.Process.PID] = true
		default:
			live[p.ID.Process.PID] = true
		}
	}
	var found []finding
	if n := len(live); n > 0 {
		found = append(found, finding{verdict: works, what: "probes", text: text.Plural(n, "process has", "processes have") + " one that answers"})
	} else {
		found = append(found, finding{verdict: neither, what: "probes", text: "no process has one: what its memory is stays unknown",
			next: []string{"to try one: vramscope probe"}})
	}
	if n := len(silent); n > 0 {
		found = append(found, finding{verdict: fails, what: "silent", text: fmt.Sprintf("%d with a probe that does not answer: stopped, or hanging", n)})
	}
	found = append(found, first(rejected, " others are rejected")...)
	found = append(found, b.native()...)
	problems, left := b.leftOver()
	found = append(found, left...)
	var unread []finding
	for i := range problems {
		unread = append(unread, explained(&problems[i]))
	}
	return append(found, first(unread, " others cannot be read")...)
}

// first returns at most mostProblems findings, and one that counts the others.
func first(found []finding, others string) []finding {
	if more := len(found) - mostProblems; more > 0 {
		return append(found[:mostProblems], finding{verdict: fails, what: "more", text: strconv.Itoa(more) + others})
	}
	return found
}

// explained says why a probe, or a directory of probes, cannot be read.
func explained(problem *probe.Problem) finding {
	why := text.Clean(problem.Err.Error())
	if !errors.Is(problem.Err, probe.ErrTaken) || problem.Path == "" {
		return finding{verdict: fails, what: "refused", text: why}
	}
	return finding{verdict: neither, what: "taken", text: strings.TrimSuffix(why, ": "+probe.ErrTaken.Error()), next: []string{
		"no harm done      probes serve in another directory, where vramscope finds them",
		"to remove it      as root: rm -r " + text.Clean(problem.Path)}}
}

// leftOver separates the sockets of processes that have exited, which are harmless, from the problems.
func (b *Box) leftOver() (problems []probe.Problem, found []finding) {
	left, where := 0, ""
	for _, problem := range b.Problems {
		if _, gone := b.Table.Look(problem.PID); gone != nil && errors.Is(problem.Err, syscall.ECONNREFUSED) {
			left, where = left+1, filepath.Dir(problem.Path)
			continue
		}
		problems = append(problems, problem)
	}
	if left > 0 {
		found = append(found, finding{verdict: neither, what: "left over",
			text: text.Plural(left, "socket", "sockets") + " of exited processes in " + text.Clean(where) + ": harmless"})
	}
	return problems, found
}

// native reports whether vramscope run can preload a probe into CUDA programs, and for which running
// processes without a probe that is impossible.
func (b *Box) native() []finding {
	if b.Snapshot.Simulated {
		return nil
	}
	err := b.CacheErr
	switch {
	case errors.Is(err, preload.ErrNoLibrary):
		return []finding{{verdict: neither, what: "native", text: err.Error()}}
	case err != nil:
		return []finding{{verdict: fails, what: "native", text: "no probe for native programs: " + text.Clean(err.Error()),
			next: []string{"XDG_CACHE_HOME=DIR vramscope run …   puts its files into another directory"}}}
	}
	found := []finding{{verdict: works, what: "native", text: "CUDA programs started with vramscope run get a probe"}}
	seen := map[int]bool{}
	for i := range b.Snapshot.Rows {
		p := &b.Snapshot.Rows[i]
		pid := p.ID.Process.PID
		if p.Probe != nil || seen[pid] || p.ID.Process.Foreign() {
			continue
		}
		seen[pid] = true
		why := launch.NativeObstacle(pid)
		if why == "" {
			continue
		}
		if len(found) > mostProblems {
			found = append(found, finding{verdict: neither, what: "more", text: "others cannot get one either"})
			break
		}
		found = append(found, finding{verdict: neither, what: "PID " + strconv.Itoa(pid),
			text: fmt.Sprintf("no probe can be preloaded into %s: %s", oneWord(p.Name), why)})
	}
	return found
}
