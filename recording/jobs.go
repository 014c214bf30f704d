package recording

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// Jobs sums what jobs use, for a line at the end of each, by the rules that a recording
// sums by. A service of systemd is no job.
type Jobs struct {
	divider divider
	last    time.Time
	running map[process.Job]*jobUse
}

// jobUse is what a job has used since it was first seen.
type jobUse struct {
	user              string
	gpus              []int
	began, first, end time.Time // when its first process began and was seen, and its last one was seen
	share             share
	peak              snapshot.Bytes // of a process on a GPU
	watched           bool           // a probe counts its out-of-memory errors
	ooms              int
}

// jobGrace is for how long a job may have no process on a GPU, between two of its steps.
const jobGrace = time.Minute

// Observe takes a snapshot with the events since the one before, and calls ended for each
// job that has had no process on a GPU for a minute.
func (j *Jobs) Observe(snap *snapshot.Snapshot, events []snapshot.Event, ended func(message string, attributes ...any)) {
	if j.running == nil {
		j.running = make(map[process.Job]*jobUse)
	}
	elapsed := time.Duration(0)
	if !j.last.IsZero() {
		elapsed = snap.Time.Sub(j.last)
	}
	j.last = snap.Time
	j.divider.divide(weightOf(elapsed, snap), elapsed, snap)
	for i := range snap.Rows {
		if u := j.of(&snap.Rows[i]); u != nil {
			u.add(snap.Time, &snap.Rows[i], j.divider.rows[i])
		}
	}
	for i := range events {
		if events[i].Kind != snapshot.EventOutOfMemory {
			continue
		}
		p := snap.Row(events[i].Row)
		if e := snap.EndedRow(events[i].Row); p == nil && e != nil {
			p = &e.Last
		}
		if p == nil {
			continue
		}
		if u := j.of(p); u != nil {
			u.ooms++
		}
	}
	for job, u := range j.running {
		if snap.Time.Sub(u.end) >= jobGrace {
			ended(text.Clean(job.String())+" ended", u.attributes()...)
			delete(j.running, job)
		}
	}
}

// of is the job of a row, nil where it has none.
func (j *Jobs) of(p *snapshot.Process) *jobUse {
	job := process.Job{Kind: p.Job.Kind, ID: p.Job.ID, Namespace: p.Job.Namespace}
	if job.ID == "" || job.Kind == "service" {
		return nil
	}
	if j.running[job] == nil {
		j.running[job] = &jobUse{user: p.User, began: p.Started, first: j.last, end: j.last}
	}
	return j.running[job]
}

func (u *jobUse) add(now time.Time, p *snapshot.Process, part share) {
	u.end = now
	u.share.add(part)
	u.peak = larger(u.peak, p.Used)
	u.watched = u.watched || p.Probe != nil && p.Probe.OutOfMemoryCount.Known()
	if !slices.Contains(u.gpus, p.GPU) {
		u.gpus = append(u.gpus, p.GPU)
	}
	if !p.Started.IsZero() && (u.began.IsZero() || p.Started.Before(u.began)) {
		u.began = p.Started
	}
}

// attributes are what is said of a job at its end; what is unknown is "–". The GPU hours
// are of the time in which it was watched, which is less where the daemon began later.
func (u *jobUse) attributes() []any {
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
	if u.watched || u.ooms > 0 {
		ooms = strconv.Itoa(u.ooms)
	}
	began := u.began
	if began.IsZero() {
		began = u.first
	}
	return []any{
		"user", cmp.Or(text.Clean(u.user), "?"), "gpus", strings.ReplaceAll(strings.Trim(fmt.Sprint(u.gpus), "[]"), " ", ","),
		"wall", quantity.Duration(u.end.Sub(began)), "watched", quantity.Duration(u.end.Sub(u.first)),
		"used_gpu_hours", hours(u.share.busy), "idle_gpu_hours", hours(u.share.idle), "peak", peak, "oom", ooms,
	}
}
