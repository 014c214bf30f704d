package doctor

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"vramscope/internal/text"
	"vramscope/nvml"
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
		found = append(found, finding{verdict: neither, what: "probes", text: "no process has one: what its memory is stays unknown",
			next: []string{"to try one: vramscope probe"}})
	case 1:
		found = append(found, finding{verdict: works, what: "probes", text: "1 process has one that answers"})
	default:
		found = append(found, finding{verdict: works, what: "probes", text: strconv.Itoa(n) + " processes have one that answers"})
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
	found = append(found, b.elsewhere()...)
	found = append(found, b.native()...)
	problems, left := b.leftOver()
	found = append(found, left...)
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

// elsewhere are probes on a GPU that the driver does not list: their figures are in no row.
func (b *Box) elsewhere() []finding {
	if len(b.Devices) == 0 {
		return nil
	}
	var found []finding
	for i := range b.Answers {
		pid := b.Answers[i].Process.PID
		for _, d := range b.Answers[i].Report.Devices {
			listed := slices.ContainsFunc(b.Devices, func(device nvml.Device) bool { return device.UUID == d.UUID })
			if listed || !strings.HasPrefix(d.UUID, "GPU-") {
				continue // a MIG instance has a UUID of its own
			}
			found = append(found, finding{verdict: fails, what: "PID " + strconv.Itoa(pid),
				text: "its probe reports " + text.Clean(d.UUID) + ", which the driver does not list: not shown",
				next: []string{"another driver's GPU, or one that has fallen off the bus: nvidia-smi -L lists them"}})
		}
	}
	return found
}

// leftOver separates sockets of processes that have exited, which do no harm, from the
// problems.
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
