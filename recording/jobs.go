package recording

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// Jobs sums the GPU use of each job, as a recording does, for a log line when the job ends. A
// systemd service is not a job.
type Jobs struct {
	divider divider
	last    time.Time
	running map[jobKey]*jobUse
	rows    map[snapshot.RowID]jobKey // the rows of running jobs
}

// jobKey includes the user, because a user can name a cgroup like another user's container.
type jobKey struct {
	process.Job
	user string
}

type jobUse struct {
	gpus              []int
	began, first, end time.Time // the start of the job's first process; the first and the last tick with a row of the job
	share             share
	peak              snapshot.Bytes              // the most memory that one process used on one GPU
	ooms              map[snapshot.RowID]oomCount // of the rows whose probes count out-of-memory errors
}

// oomCount has the first and the latest count of out-of-memory errors from a probe.
type oomCount struct{ first, now int64 }

// jobGrace is how long a job may have no process on a GPU between two of its steps.
const jobGrace = time.Minute

// Observe takes a snapshot and calls ended for each job that has had no process on a GPU, and no GPU
// allocated, for jobGrace.
func (j *Jobs) Observe(snap *snapshot.Snapshot, ended func(message string, attributes ...any)) {
	if j.running == nil {
		j.running, j.rows = make(map[jobKey]*jobUse), make(map[snapshot.RowID]jobKey)
	}
	elapsed := time.Duration(0)
	if !j.last.IsZero() {
		elapsed = snap.Time.Sub(j.last)
	}
	j.last = snap.Time
	rows := j.divider.divide(weightOf(elapsed, snap), elapsed, snap)
	for i := range rows {
		if u := j.useOf(&rows[i]); u != nil {
			u.add(snap.Time, &rows[i], j.divider.rows[i])
		}
	}
	for i := range snap.Ended {
		e := &snap.Ended[i]
		if u := j.running[keyOfJob(&e.Last)]; u != nil {
			u.count(e.Last.ID, e.OutOfMemoryCount, false)
		}
	}
	for job, u := range j.running {
		if snap.Time.Sub(u.end) >= jobGrace {
			ended(text.Clean(job.String())+" ended", u.attributes(job.user)...)
			delete(j.running, job)
			maps.DeleteFunc(j.rows, func(_ snapshot.RowID, of jobKey) bool { return j.running[of] == nil })
		}
	}
}

// useOf returns the use of a row's job, nil if the row has no job.
func (j *Jobs) useOf(p *snapshot.Process) *jobUse {
	job := keyOfJob(p)
	if job.ID == "" || job.Kind == "service" || p.User == "" { // an unknown user may become known at a later tick
		return nil
	}
	if was := j.rows[p.ID]; was != job && j.running[job] == nil && j.running[was] != nil { // the row's job has changed, for example because the number of a Slurm job has become known
		j.running[job] = j.running[was]
		delete(j.running, was)
	}
	j.rows[p.ID] = job
	if j.running[job] == nil {
		j.running[job] = &jobUse{began: p.Started, first: j.last, end: j.last, ooms: make(map[snapshot.RowID]oomCount)}
	}
	return j.running[job]
}

func keyOfJob(p *snapshot.Process) jobKey {
	return jobKey{process.Job{Kind: p.Job.Kind, ID: p.Job.ID, Namespace: p.Job.Namespace}, p.User}
}

// count updates a row's count of out-of-memory errors from its probe. If started is true, the process
// began after the job was first seen, and errors from before the row was first seen count too.
func (u *jobUse) count(row snapshot.RowID, count quantity.Optional[int64], started bool) {
	v, known := count.Value()
	c, seen := u.ooms[row]
	if !known {
		return
	}
	switch {
	case !seen && !started:
		c.first = v
	case v < c.now: // the probe restarted and counts from 0
		c.first -= c.now
	}
	c.now = v
	u.ooms[row] = c
}

func (u *jobUse) add(now time.Time, p *snapshot.Process, part share) {
	u.end = now
	u.share.add(part)
	u.peak = larger(u.peak, p.Used)
	if p.Probe != nil {
		u.count(p.ID, p.Probe.OutOfMemoryCount, p.Started.After(u.first))
	}
	if !slices.Contains(u.gpus, p.GPU) {
		u.gpus = append(u.gpus, p.GPU)
	}
	if !p.Started.IsZero() && (u.began.IsZero() || p.Started.Before(u.began)) {
		u.began = p.Started
	}
}

// attributes returns a job's figures for its log line; an unknown figure is "–". The GPU hours cover
// only the time in which the daemon watched the job.
func (u *jobUse) attributes(user string) []any {
	hours := func(ns float64) string {
		if !u.share.loaded {
			return "–"
		}
		return strconv.FormatFloat(ns/float64(time.Hour), 'f', 2, 64)
	}
	slices.Sort(u.gpus)
	peak, ooms := "–", "–"
	if v, ok := u.peak.Value(); ok {
		peak = v.String()
	}
	if len(u.ooms) > 0 {
		sum := int64(0)
		for _, c := range u.ooms {
			sum += c.now - c.first
		}
		ooms = strconv.FormatInt(sum, 10)
	}
	began := u.began
	if began.IsZero() {
		began = u.first
	}
	return []any{
		"user", text.Clean(user), "gpus", strings.ReplaceAll(strings.Trim(fmt.Sprint(u.gpus), "[]"), " ", ","),
		"wall", quantity.Duration(u.end.Sub(began)), "watched", quantity.Duration(u.end.Sub(u.first)),
		"used_gpu_hours", hours(u.share.busy), "idle_gpu_hours", hours(u.share.idle), "peak", peak, "oom", ooms,
	}
}
