package process

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/bounded"
	"vramscope/internal/kubelet"
	"vramscope/internal/panics"
)

// Allocation is a Slurm job or a pod that has GPUs of this machine.
type Allocation struct {
	Job   Job
	User  string   // "" while unknown
	GPUs  []int    // by index
	UUIDs []string // of a pod, in place of GPUs
}

// allocations are the GPUs of the jobs that have cgroups here. A job keeps its GPUs as long as its
// cgroup exists: if it is queued again it may get others.
//
//	system.slice/slurmstepd.scope/job_88123    devices/slurm/uid_1000/job_88123 (cgroup v1)
//	        └── scontrol --json show job 88123 ── user_id, "gres_detail": ["gpu:h100:2(IDX:0-1)"]
//
// The kubelet is asked for pods at each search.
type allocations struct {
	jobs    map[string]allocated // by number or SLUID
	pods    []Allocation
	due     time.Time
	looking chan struct{} // closed at the end of the search; nil while none runs
}

type allocated struct {
	slurmAnswer
	user  string
	asked time.Time
}

const allocationsEvery = 10 * time.Second

// Allocations returns the GPUs that jobs have, as the last search found them. It begins a search if
// one is due, and waits for it at most for wait.
func (t *Table) Allocations(now time.Time, wait time.Duration) []Allocation {
	s := t.slurm
	s.mu.Lock()
	if s.held.looking == nil && !now.Before(s.held.due) {
		s.held.due, s.held.looking = now.Add(allocationsEvery), make(chan struct{})
		go t.lookForAllocations(now, s.held.jobs)
	}
	looking := s.held.looking
	s.mu.Unlock()
	if wait > 0 && looking != nil {
		bounded.Ended(looking, wait)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.panic.Again()
	out := slices.Clone(s.held.pods)
	for _, job := range s.held.jobs {
		if len(job.gpus) > 0 {
			out = append(out, Allocation{Job: Job{Kind: "slurm", ID: job.number, Account: job.account}, User: job.user, GPUs: job.gpus})
		}
	}
	return out
}

func (t *Table) lookForAllocations(now time.Time, before map[string]allocated) {
	s := t.slurm
	found := make(map[string]allocated)
	var pods []Allocation
	defer func() {
		caught := panics.Catch(recover())
		s.mu.Lock()
		defer s.mu.Unlock()
		if caught != nil {
			s.panic = caught
		}
		close(s.held.looking)
		s.held.jobs, s.held.pods, s.held.looking = found, pods, nil
	}()
	for _, pattern := range []string{"/system.slice/*slurmstepd.scope/*", "/devices/slurm*/uid_*/job_*"} {
		directories, _ := filepath.Glob(s.cgroups + pattern)
		for _, directory := range directories {
			id := jobOfPath(strings.TrimPrefix(directory, s.cgroups)).ID
			if uid, known := t.owner(directory).Value(); id == "" || !known || uid != 0 {
				continue
			}
			job := before[id]
			if job.number == "" && now.Sub(job.asked) >= scontrolEvery {
				job = allocated{slurmAnswer: s.scontrol(id), asked: now}
			}
			if len(job.gpus) > 0 {
				job.user = t.UserName(job.uid)
			}
			found[id] = job
		}
	}
	if uid, known := t.owner(s.kubelet).Value(); known && uid == 0 {
		given, _ := kubelet.Pods(context.Background(), s.kubelet) // no pods while the kubelet does not answer
		for _, pod := range given {
			pods = append(pods, Allocation{Job: Job{Kind: "pod", ID: pod.Name, Namespace: pod.Namespace}, UUIDs: pod.Devices})
		}
	}
}

// parseGRES returns the indexes of the GPUs in
// "gpu:h100:2(IDX:0-1,3),gpu:a100:1(IDX:4),tmp(CNT:1)". It returns none if there are parts of GPUs
// (shard, mps), or if the number of GPUs differs from the stated one. Source: gres_sock_str in
// https://github.com/SchedMD/slurm/blob/master/src/interfaces/gres.c
func parseGRES(detail string) (gpus []int) {
	for detail != "" {
		part, rest, closed := strings.Cut(detail, ")")
		detail = strings.TrimPrefix(rest, ",")
		name, indexes, hasIndexes := strings.Cut(part, "(IDX:")
		kind, _, _ := strings.Cut(name, ":")
		if closed && kind != "gpu" && kind != "shard" && kind != "mps" {
			continue // another resource, such as a site's own
		}
		count, err := strconv.Atoi(name[strings.LastIndex(name, ":")+1:])
		if kind != "gpu" || !hasIndexes || !closed || err != nil {
			return nil
		}
		before := len(gpus)
		for part := range strings.SplitSeq(indexes, ",") {
			first, last, isRange := strings.Cut(part, "-")
			if !isRange {
				last = first
			}
			from, err := strconv.ParseUint(first, 10, 10)
			to, errLast := strconv.ParseUint(last, 10, 10)
			if err != nil || errLast != nil || from > to {
				return nil
			}
			for index := from; index <= to; index++ {
				gpus = append(gpus, int(index))
			}
		}
		if len(gpus)-before != count {
			return nil
		}
	}
	return gpus
}
