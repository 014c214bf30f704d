package regime

import (
	"math"
	"math/rand/v2"
)

// kind is a kind of job.
type kind struct {
	name     string
	share    float64 // of the jobs
	commands []string
	make     func(r *rand.Rand) work
}

var kinds = []kind{
	{"training", 0.30, []string{"python train.py --model a", "python train.py --model b", "torchrun pretrain.py"}, training},
	{"texture", 0.18, []string{"python finetune.py", "python rl.py"}, texturedTraining},
	{"leak", 0.06, []string{"python train.py --log all", "python gan.py"}, leakingTraining},
	{"ramp", 0.05, []string{"python embed.py", "python eval_long.py"}, rampingJob},
	{"notebook", 0.20, []string{"ipykernel_launcher -f a.json", "ipykernel_launcher -f b.json", "ipykernel_launcher -f c.json"}, idleNotebook},
	{"serving", 0.08, []string{"python serve.py", "tgi-server"}, servingSaturates},
	{"sleeper", 0.05, []string{"vllm serve m --enable-sleep-mode"}, sleeper},
	{"batch", 0.08, []string{"python batch.py", "python encode.py"}, batch},
}

// loading returns the part that loads weights: evenly, or in shards.
func loading(r *rand.Rand, from, lasts, size float64) part {
	shards := max(math.Round(between(r, -16, 24)), 0)
	return func(t float64) float64 { return size * sharded(climbs(t, from, lasts), shards) }
}

// training returns a job that loads, takes the rest of its memory at its first step, evaluates and saves.
func training(r *rand.Rand) work {
	top, lasts, peak := between(r, 5, 32)*GiB, logarithmic(r, 3, 90), max(between(r, -3, 8), 0)*GiB
	load, moves := loading(r, between(r, 2, 20), lasts, 0.7*top), tremble(r)
	evaluates, evaluation := cycling(r, logarithmic(r, 180, 1800), 0.05), logarithmic(r, 15, 120)
	saves, begins := cycling(r, logarithmic(r, 600, 3600), 0), 20+lasts+between(r, 5, 120)
	return work{lasts: logarithmic(r, 1200, 30_000), expects: top + peak + GiB, level: func(t float64) float64 {
		if t <= begins {
			return load(t)
		}
		v := top + moves(t)
		if c := evaluates(t - begins); c.left() < evaluation {
			v += peak
		}
		if saves(t).since < 8 {
			v += 0.5 * GiB
		}
		return v
	}}
}

// growing returns a job that loads, has a texture, and starts to grow some time after its load.
func growing(r *rand.Rand, which int, starts, rate float64) work {
	base, lasts := between(r, 4, 30)*GiB, logarithmic(r, 3, 60)
	load := loading(r, between(r, 2, 20), lasts, base)
	height, moves := texture(r, which)
	begins := 20 + lasts + starts
	grows := line(begins, rate)
	return work{lasts: begins + 40_000, starts: begins, expects: base + height + GiB, level: func(t float64) float64 {
		if t < 20+lasts {
			return load(t)
		}
		return base + moves(t) + grows(t)
	}}
}

func texturedTraining(r *rand.Rand) work {
	w := growing(r, 1+r.IntN(noisy), 0, 0)
	w.starts, w.lasts = 0, logarithmic(r, 1200, 20_000)
	return w
}

func leakingTraining(r *rand.Rand) work {
	return growing(r, max(r.IntN(6)-2, 0), max(between(r, -1800, 5400), 0), logarithmic(r, 2, 40)*MiB)
}

func rampingJob(r *rand.Rand) work {
	return growing(r, max(r.IntN(6)-2, 0), logarithmic(r, 300, 3600), logarithmic(r, 50, 300)*MiB)
}

// idleNotebook returns a job that is idle for minutes, loads weights, and frees them, again and again.
func idleNotebook(r *rand.Rand) work {
	largest, shortest := between(r, 4, 40)*GiB, logarithmic(r, 60, 600)
	idle := func() float64 { return logarithmic(r, shortest, 20*shortest) }
	next, from, kept, load := idle(), 0.0, 0.0, level(0)
	return work{lasts: logarithmic(r, 3600, 36_000), expects: largest + GiB, level: func(t float64) float64 {
		if t >= next {
			kept, from = kept+load(t-from), t
			if kept > 0.5*largest || kept > 0 && r.Float64() < 0.5 {
				kept = 0 // as "del model" does
			}
			size := between(r, 0.1, 1) * (largest - kept)
			lasts := size / (logarithmic(r, 0.15, 4) * GiB)
			load, next = loading(r, 0, lasts, size), t+lasts+idle()
		}
		return contextSize + kept + load(t-from)
	}}
}

// servingSaturates returns a server that loads, and takes a cache that grows ever more slowly.
func servingSaturates(r *rand.Rand) work {
	base, grows, fade, lasts := between(r, 5, 20)*GiB, between(r, 4, 28)*GiB, logarithmic(r, 100, 1200), logarithmic(r, 5, 90)
	load, cache, moves := loading(r, 5, lasts, base), saturation(lasts+logarithmic(r, 15, 900), grows, fade), tremble(r)
	return work{lasts: logarithmic(r, 7200, 60_000), expects: base + grows + GiB, level: func(t float64) float64 {
		return load(t) + cache(t) + moves(t)
	}}
}

// sleeper returns a server that frees its memory while no request comes, and takes it again.
func sleeper(r *rand.Rand) work {
	top, lasts, wakes := between(r, 12, 50)*GiB, logarithmic(r, 5, 60), logarithmic(r, 1, 15)
	load, cycles := loading(r, 5, lasts, 0.6*top), cycling(r, logarithmic(r, 600, 7200), 0.5)
	takes, taking := lasts+between(r, 15, 180), between(r, 1, 3)
	return work{lasts: logarithmic(r, 7200, 60_000), expects: top + GiB, level: func(t float64) float64 {
		if t < takes+60 {
			return load(t) + 0.4*top*climbs(t, takes, taking)
		}
		c := cycles(t - takes - 60)
		switch {
		case c.number > 0 && c.since < wakes:
			return GiB + (top-GiB)*c.since/wakes
		case c.since < (0.3+0.5*c.drawn)*c.length:
			return top
		}
		return GiB
	}}
}

// batch returns a job that works through tasks. Each task takes memory in steps and frees it at its end.
func batch(r *rand.Rand) work {
	size, steps, every := between(r, 3, 25)*GiB, math.Round(between(r, 5, 60)), math.Round(logarithmic(r, 2, 30))
	tasks, uneven := cycling(r, (steps+between(r, 2, 20))*every, 0.15), between(r, 0, 0.5)
	rests := logarithmic(r, 2, 300)
	return work{lasts: logarithmic(r, 1200, 15_000), expects: size + 2*GiB, level: func(t float64) float64 {
		c := tasks(t)
		return 1.5*GiB + size*(1-uneven*c.drawn)*sharded(climbs(c.since, min(rests, c.length/2), steps*every), steps)
	}}
}
