package regime

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Process is a process of a shared GPU.
type Process struct {
	PID     int
	Kind    string
	Command string
	Began   float64 // seconds
	Used    float64 // bytes
}

// Shared is a GPU of 80 GiB that jobs of all kinds come to, share and leave. It is
// never fuller than it can be: an allocation for which there is no room is refused.
type Shared struct {
	r     *rand.Rand
	now   float64
	comes float64 // when the next job does
	pids  int
	jobs  []*job
}

// Refusal is that an allocation failed.
type Refusal struct {
	Kind string  // of the process
	Grew float64 // seconds since a slow leak or ramp began; 0: the process was neither
}

// job is one job. Its processes do the same again after one has run out of memory.
type job struct {
	Process
	kind  *kind
	seed  uint64
	tries int     // how often it will start again
	from  float64 // when its process starts
	work  work
}

// work is what a process does.
type work struct {
	level   func(age float64) float64
	lasts   float64 // seconds
	expects float64 // the most that its user expects it to use, bytes
	onset   float64 // its age when it begins to grow without end; 0: it does not
}

// NewShared is an empty GPU.
func NewShared(r *rand.Rand) *Shared { return &Shared{r: r} }

// Next is the next second: the processes, and what was refused in it, nil mostly.
func (s *Shared) Next() ([]Process, *Refusal) {
	for s.now >= s.comes {
		s.comes += 3000 * s.r.ExpFloat64()
		s.admit()
	}
	var running []Process
	var refusal *Refusal
	free := Capacity
	for _, j := range s.jobs {
		free -= j.Used
	}
	s.jobs = slices.DeleteFunc(s.jobs, func(j *job) bool {
		if s.now < j.from {
			return false
		}
		if j.PID == 0 {
			s.pids++
			j.PID, j.Began, j.work = s.pids, s.now, j.kind.make(Seeded(j.seed))
		}
		age := s.now - j.from
		if age >= j.work.lasts {
			free += j.Used
			return true
		}
		wants := max(j.work.level(age), contextSize)
		if wants-j.Used <= free {
			free -= wants - j.Used
			j.Used = wants
			running = append(running, j.Process)
			return false
		}
		refusal = &Refusal{Kind: j.Kind}
		if j.work.onset > 0 && age > j.work.onset {
			refusal.Grew = age - j.work.onset
		}
		free += j.Used
		j.PID, j.Used, j.from = 0, 0, s.now+logarithmic(s.r, 5, 120)
		j.tries--
		return j.tries < 0
	})
	s.now++
	return running, refusal
}

// contextSize is what a process uses before it has allocated anything.
const contextSize = 0.45 * GiB

// admit draws a job. Its user takes this GPU where there is room for what the job is
// expected to use, and once in forty times without looking.
func (s *Shared) admit() {
	draw := s.r.Float64()
	i := slices.IndexFunc(kinds, func(k kind) bool { draw -= k.share; return draw < 0 })
	k := &kinds[max(i, 0)]
	j := &job{kind: k, seed: s.r.Uint64(), from: s.now, tries: s.r.IntN(3), Process: Process{Kind: k.name}}
	j.Command = k.commands[j.seed%uint64(len(k.commands))]
	j.work = k.make(Seeded(j.seed))
	sum := j.work.expects
	for _, other := range s.jobs {
		sum += other.work.expects
	}
	if sum <= Capacity || s.r.Float64() < 0.025 {
		s.jobs = append(s.jobs, j)
	}
}

// kind is a kind of job.
type kind struct {
	name     string
	share    float64 // of the jobs
	commands []string
	make     func(r *rand.Rand) work
}

// The kinds that fill a GPU slowly.
const leaking, ramping = "leak", "ramp"

var kinds = []kind{
	{"training", 0.30, []string{"python train.py --model a", "python train.py --model b", "torchrun pretrain.py"}, training},
	{"texture", 0.18, []string{"python finetune.py", "python rl.py"}, texturedTraining},
	{leaking, 0.06, []string{"python train.py --log all", "python gan.py"}, leakingTraining},
	{ramping, 0.05, []string{"python embed.py", "python eval_long.py"}, rampingJob},
	{"notebook", 0.20, []string{"ipykernel_launcher -f a.json", "ipykernel_launcher -f b.json", "ipykernel_launcher -f c.json"}, idleNotebook},
	{"serving", 0.08, []string{"python serve.py", "tgi-server"}, servingSaturates},
	{"sleeper", 0.05, []string{"vllm serve m --enable-sleep-mode"}, sleeper},
	{"batch", 0.08, []string{"python batch.py", "python encode.py"}, batch},
}

// loading is how weights are read: evenly, or in shards.
func loading(r *rand.Rand, from, lasts, size float64) func(t float64) float64 {
	shards := max(math.Round(between(r, -16, 24)), 0)
	return func(t float64) float64 { return size * sharded(climbs(t, from, lasts), shards) }
}

// evaluations are peaks of the memory of a training.
func evaluations(r *rand.Rand, size float64) func(t float64) float64 {
	at, lasts := cycling(r, logarithmic(r, 180, 1800), 0.05), logarithmic(r, 15, 120)
	return func(t float64) float64 {
		if c := at(t); c.length-c.since < lasts {
			return size
		}
		return 0
	}
}

func training(r *rand.Rand) work {
	level, lasts, peak := between(r, 5, 32)*GiB, logarithmic(r, 3, 90), max(between(r, -3, 8), 0)*GiB
	load, evaluates := loading(r, between(r, 2, 20), lasts, 0.7*level), evaluations(r, peak)
	steps, size := 20+lasts+between(r, 5, 120), trembling(r)
	saves := cycling(r, logarithmic(r, 600, 3600), 0)
	return work{lasts: logarithmic(r, 1200, 30_000), expects: level + peak + GiB, level: func(t float64) float64 {
		v := load(t)
		if t > steps {
			v = level + evaluates(t-steps) + size*r.NormFloat64()
			if saves(t).since < 8 {
				v += 0.5 * GiB
			}
		}
		return v
	}}
}

// Texture is what moves on a level, by nature: none, teeth, train and evaluate, or noise.
func texture(r *rand.Rand, which int) (height float64, at func(t float64) float64) {
	switch which {
	case teeth:
		height = logarithmic(r, 0.3, 4) * GiB
		at := cycling(r, logarithmic(r, 5, 30), 0.1)
		return height, func(t float64) float64 { c := at(t); return height * c.since / c.length }
	case trainAndEvaluate:
		height = logarithmic(r, 0.5, 5) * GiB
		up := phases(r, logarithmic(r, 16, 80), 0.3, 0.6)
		return height, func(t float64) float64 {
			if up(t) {
				return height
			}
			return 0
		}
	case noisy:
		size := logarithmic(r, 20, 400) * MiB
		return 3 * size, func(float64) float64 { return size * r.NormFloat64() }
	default:
		size := trembling(r)
		return 3 * size, func(float64) float64 { return size * r.NormFloat64() }
	}
}

// The textures.
const (
	clean = iota
	teeth
	trainAndEvaluate
	noisy
	inSteps // a level without texture, which grows in steps
)

func texturedTraining(r *rand.Rand) work {
	level, lasts := between(r, 4, 25)*GiB, logarithmic(r, 3, 60)
	load := loading(r, between(r, 2, 20), lasts, level)
	height, moves := texture(r, 1+r.IntN(3))
	return work{lasts: logarithmic(r, 1200, 20_000), expects: level + height + GiB, level: func(t float64) float64 {
		if t < 20+lasts {
			return load(t)
		}
		return level + moves(t)
	}}
}

// growing is a job that loads, has a texture, and grows from an age on at a rate.
func growing(r *rand.Rand, which int, onset, rate float64) work {
	level, lasts := between(r, 4, 30)*GiB, logarithmic(r, 3, 60)
	load := loading(r, between(r, 2, 20), lasts, level)
	height, moves := texture(r, which)
	begins := 20 + lasts + onset
	return work{lasts: begins + 40_000, onset: begins, expects: level + height + GiB, level: func(t float64) float64 {
		if t < 20+lasts {
			return load(t)
		}
		return level + moves(t) + rate*max(t-begins, 0)
	}}
}

func leakingTraining(r *rand.Rand) work {
	return growing(r, max(r.IntN(6)-2, 0), max(between(r, -1800, 5400), 0), logarithmic(r, 2, 40)*MiB)
}

func rampingJob(r *rand.Rand) work {
	return growing(r, max(r.IntN(6)-2, 0), logarithmic(r, 300, 3600), logarithmic(r, 50, 300)*MiB)
}

// idleNotebook is idle for minutes, loads weights, and frees them, again and again.
func idleNotebook(r *rand.Rand) work {
	most, shortest := between(r, 4, 40)*GiB, logarithmic(r, 60, 600)
	idle := func() float64 { return logarithmic(r, shortest, 20*shortest) }
	next, level, from := idle(), 0.0, 0.0
	load := func(float64) float64 { return 0 }
	return work{lasts: logarithmic(r, 3600, 36_000), expects: most + GiB, level: func(t float64) float64 {
		if t >= next {
			level, from = load(t-from)+level, t
			if level > 0.5*most || level > 0 && r.Float64() < 0.5 {
				level = 0 // del model
			}
			size := between(r, 0.1, 1) * (most - level)
			lasts := size / (logarithmic(r, 0.15, 4) * GiB)
			load, next = loading(r, 0, lasts, size), t+lasts+idle()
		}
		return contextSize + level + load(t-from)
	}}
}

// servingSaturates loads and takes a cache that grows ever more slowly.
func servingSaturates(r *rand.Rand) work {
	level, grows, fade := between(r, 5, 20)*GiB, between(r, 4, 28)*GiB, logarithmic(r, 100, 1200)
	lasts := logarithmic(r, 5, 90)
	load, begins, size := loading(r, 5, lasts, level), lasts+logarithmic(r, 15, 900), trembling(r)
	return work{lasts: logarithmic(r, 7200, 60_000), expects: level + grows + GiB, level: func(t float64) float64 {
		return load(t) + grows*saturation(max(t-begins, 0)/fade) + size*r.NormFloat64()
	}}
}

// sleeper is a server that gives up its memory where nobody asks, and takes it again.
func sleeper(r *rand.Rand) work {
	level, lasts, wakes := between(r, 12, 50)*GiB, logarithmic(r, 5, 60), logarithmic(r, 1, 15)
	load, cycle := loading(r, 5, lasts, 0.6*level), cycling(r, logarithmic(r, 600, 7200), 0.5)
	takes, taking := lasts+between(r, 15, 180), between(r, 1, 3)
	return work{lasts: logarithmic(r, 7200, 60_000), expects: level + GiB, level: func(t float64) float64 {
		v := load(t) + 0.4*level*climbs(t, takes, taking)
		if t < takes+60 {
			return v
		}
		c := cycle(t - takes - 60)
		awake := (0.3 + 0.5*c.drawn) * c.length
		switch {
		case c.number > 0 && c.since < wakes:
			return GiB + (level-GiB)*c.since/wakes
		case c.since < awake:
			return level
		}
		return GiB
	}}
}

// batch works through tasks. Each takes memory in steps and frees it at its end.
func batch(r *rand.Rand) work {
	size, steps, every := between(r, 3, 25)*GiB, math.Round(between(r, 5, 60)), math.Round(logarithmic(r, 2, 30))
	at, uneven := cycling(r, (steps+between(r, 2, 20))*every, 0.15), between(r, 0, 0.5)
	rests := logarithmic(r, 2, 300)
	return work{lasts: logarithmic(r, 1200, 15_000), expects: size + 2*GiB, level: func(t float64) float64 {
		c := at(t)
		if c.since < min(rests, c.length/2) {
			return 1.5 * GiB
		}
		return 1.5*GiB + size*(1-uneven*c.drawn)*sharded(climbs(c.since, min(rests, c.length/2), steps*every), steps)
	}}
}
