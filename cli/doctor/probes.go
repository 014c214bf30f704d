package doctor

import (
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"syscall"

	"vramscope/internal/text"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// mostProblems bounds the probes that doctor explains one by one.
const mostProblems = 8

// probes are those that answer, and those that cannot be read.
func (b *Box) probes() []finding {
	live, silent := make(map[int]bool), make(map[int]bool)
	var rejected []string
	for i := range b.Snapshot.Rows {
		p := &b.Snapshot.Rows[i]
		if why := p.Rejection(); why != "" {
			rejected = append(rejected, why)
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
	for i, why := range rejected {
		if i == mostProblems {
			found = append(found, finding{verdict: fails, what: "more", text: strconv.Itoa(len(rejected)-i) + " others are rejected"})
			break
		}
		found = append(found, finding{verdict: fails, what: "rejected", text: why})
	}
	found = append(found, b.native()...)
	problems := b.Problems
	if b.Table != nil {
		own := probe.Directories(os.Geteuid(), "")[0]
		if taken := takenName(own, uint32(os.Geteuid())); taken != nil {
			found = append(found, *taken)
			problems = slices.DeleteFunc(slices.Clone(problems), func(p probe.Problem) bool { return p.Path == own })
		}
	}
	for i, problem := range problems {
		if i == mostProblems {
			found = append(found, finding{verdict: fails, what: "more", text: strconv.Itoa(len(problems)-i) + " others cannot be read"})
			break
		}
		found = append(found, finding{verdict: fails, what: "refused", text: text.Clean(problem.Err.Error())})
	}
	return found
}

// takenName is about this user's directory in /tmp, if another user has made it.
func takenName(path string, uid uint32) *finding {
	info, err := os.Lstat(path)
	if err != nil {
		return nil
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid == uid {
		return nil
	}
	owner := strconv.FormatUint(uint64(st.Uid), 10)
	if account, err := user.LookupId(owner); err == nil {
		owner = account.Username
	}
	return &finding{verdict: neither, what: "sockets",
		text: fmt.Sprintf("%s belongs to %s: probes without XDG_RUNTIME_DIR serve in %s-*", path, text.Clean(owner), path)}
}
