package world

import (
	"testing"
	"time"

	"vramscope/internal/quantity"
)

const gib = quantity.GiB

// pulse takes memory and frees it, again and again.
func pulse(size quantity.Bytes, every time.Duration) func(*Job) error {
	return func(j *Job) error {
		for {
			b, err := j.Allocate(size)
			if err != nil {
				return err
			}
			if err := j.Compute(every); err != nil {
				return err
			}
			j.Free(b)
			j.Work(every)
			if err := j.Compute(every); err != nil {
				return err
			}
		}
	}
}

func spec(name string, program func(*Job) error) Spec {
	return Spec{Name: name, Context: gib / 2, Restart: 30 * time.Second, Program: program}
}

func TestMemoryIsConserved(t *testing.T) {
	w := New(1, 24*gib, Cost{Sync: 50 * time.Millisecond, PerGiB: time.Millisecond}, []Spec{
		spec("a", pulse(9*gib, 700*time.Millisecond)), spec("b", pulse(11*gib, 1100*time.Millisecond)), spec("c", pulse(7*gib, 300*time.Millisecond)),
	})
	s := w.NewSampler()
	w.Run(5*time.Minute, func() {
		var used, allocated quantity.Bytes
		for _, j := range w.Jobs {
			stats := j.stats()
			used += j.Used()
			allocated += stats.Allocated
			if j.reserved != stats.Reserved || stats.Reserved != stats.Allocated+stats.Cached+stats.Fragmented {
				t.Fatalf("%s has reserved %s: %+v", j.Name, j.reserved, stats)
			}
		}
		if used != w.used || used > w.Capacity() || allocated != w.account.allocated {
			t.Fatalf("%s of %s used, by jobs %s; allocated %s, by jobs %s", w.used, w.Capacity(), used, w.account.allocated, allocated)
		}
		snap := s.Tick(w.Time())
		if got := snap.GPUs[0].Memory.Used.Or(-1); got != used {
			t.Fatalf("the sampler reads %s of %s", got, used)
		}
		for i := range snap.Rows {
			if p := &snap.Rows[i]; p.Used.Or(-1) != w.running(p.ID.Process.PID).Used() || !p.Returnable.Known() {
				t.Fatalf("the sampler reads %+v", p)
			}
		}
		if w.now == 90*time.Second {
			w.Jobs[0].Flush()
		}
	})
	if r := w.Result(); len(r.OutOfMemory) == 0 || len(r.Flushes) != 1 {
		t.Errorf("three jobs that do not fit: %+v", r)
	}
}

func TestFailureLosesWorkSinceSaveAndStartsAgain(t *testing.T) {
	w := New(1, 24*gib, Cost{}, []Spec{spec("a", func(j *Job) error {
		for n := range 10 {
			if n == 5 {
				j.Save()
			}
			j.Work(time.Second)
			if err := j.Compute(time.Second); err != nil {
				return err
			}
		}
		_, err := j.Allocate(30 * gib)
		return err
	})})
	w.Run(39*time.Second, nil)
	if j := w.Jobs[0]; j.lives != 1 || j.Done() != 5*time.Second || w.Used() != 0 {
		t.Errorf("after a failure at 10 s: life %d, %s of work, %s used", j.lives, j.Done(), w.Used())
	}
	w = New(1, 24*gib, Cost{}, []Spec{w.Jobs[0].Spec})
	w.Run(41*time.Second, nil)
	if w.Jobs[0].lives != 2 {
		t.Errorf("life %d 31 s after a failure", w.Jobs[0].lives)
	}
}

// A flush costs the flushed process a standstill, and taking the memory again costs time.
func TestFlushCostsTime(t *testing.T) {
	work := func(cost Cost, flushes bool) time.Duration {
		w := New(1, 24*gib, cost, []Spec{spec("a", pulse(10*gib, 300*time.Millisecond))})
		w.Run(10*time.Minute, func() {
			if flushes {
				w.Jobs[0].Flush()
			}
		})
		freed := quantity.Bytes(0)
		for _, f := range w.Result().Flushes {
			if freed += f.Freed; f.Back != f.Freed && f.At < 9*time.Minute {
				t.Errorf("what came back: %+v", f)
			}
		}
		if freed > 0 != flushes {
			t.Errorf("%s freed", freed)
		}
		return w.Jobs[0].Done()
	}
	without := work(Cost{}, false)
	if free := work(Cost{}, true); free != without {
		t.Errorf("a flush that costs nothing: %s of work, %s without", free, without)
	}
	sync := work(Cost{Sync: 100 * time.Millisecond}, true)
	if share := sync.Seconds() / without.Seconds(); share < .88 || share > .93 {
		t.Errorf("100 ms each second leave %.2f of the work", share)
	}
	if again := work(Cost{PerGiB: 10 * time.Millisecond}, true); again >= without {
		t.Errorf("memory that costs time: %s of work, %s without", again, without)
	}
}

// If an allocation does not fit, the job first frees its own cache, then asks for a rescue, then
// fails.
func TestRescueIsAskedLast(t *testing.T) {
	specs := []Spec{spec("keeper", func(j *Job) error {
		b, err := j.Allocate(12 * gib)
		if err != nil {
			return err
		}
		j.Free(b)
		return j.Idle(time.Hour)
	}), spec("asker", func(j *Job) error {
		b, err := j.Allocate(8 * gib)
		if err != nil {
			return err
		}
		j.Free(b)
		if err := j.Compute(time.Second); err != nil {
			return err
		}
		if _, err = j.Allocate(9 * gib); err != nil { // the job frees its own cache before
			return err
		}
		_, err = j.Allocate(9 * gib)
		return err
	})}
	specs[1].Start, specs[1].Restart = 5*time.Second, time.Hour
	for _, rescued := range []bool{false, true} {
		w := New(1, 24*gib, Cost{}, specs)
		asked := 0
		w.Rescue = func(asker *Job, size quantity.Bytes) time.Duration {
			if asked++; asker.Name != "asker" || size != 9*gib {
				t.Errorf("%s asks for %s", asker.Name, size)
			}
			if rescued {
				w.Jobs[0].Flush()
			}
			return 0
		}
		w.Run(time.Minute, nil)
		if failed := len(w.Result().OutOfMemory); asked != 1 || failed > 0 == rescued {
			t.Errorf("rescued %v: asked %d times, %d failures", rescued, asked, failed)
		}
	}
}
