package story

import (
	"time"

	"vramscope/internal/guardlab/world"
	"vramscope/internal/quantity"
)

// leak is the story of tensors that a list keeps, until the GPU is full.
func leak(d draw) []world.Spec {
	var w, a, w2, a2 float64
	until(func() bool {
		w, a = d.between(.1, .35), d.between(.03, .15)
		w2, a2 = d.between(.1, .35), d.between(.03, .15)
		return w+a+w2+a2 <= d.fits(2)
	})
	leaking := d.trained(d.share(w), d.share(a))
	fills := d.duration(8*time.Minute, 40*time.Minute)
	leaking.leak = quantity.Bytes(float64(d.share(1-w-a-w2-a2)) * leaking.step.Seconds() / fills.Seconds())
	leaking.save = leaking.step // the job saves each step, so a failure loses nothing
	return []world.Spec{mainJob("leaking", leaking), other("second", 0, d.duration(0, time.Minute), d.trained(d.share(w2), d.share(a2)).run)}
}

// preallocation is the story of JAX, which reserves three quarters at the start and frees nothing.
func preallocation(d draw) []world.Spec {
	const preallocated = .75
	jax := d.trained(d.share(d.between(.1, .5)), d.share(d.between(.05, .15)))
	region := other("jax", 0, 0, jax.run)
	region.Region = d.share(preallocated)
	second := d.trained(d.share(d.between(.1, .2)), d.share(d.between(.1, .2)))
	late := mainJob("training", second)
	late.Start = d.duration(10*time.Second, 5*time.Minute)
	return []world.Spec{region, late}
}

// allAllocated is the story of a server that takes nearly all memory and keeps it allocated.
func allAllocated(d draw) []world.Spec {
	has := d.between(.92, .97)
	late := mainJob("training", d.trained(d.share(d.between(.1, .4)), d.share(d.between(.02, .1))))
	late.Start = d.duration(10*time.Second, 5*time.Minute)
	return []world.Spec{other("server", 0, 0, inference{d.share(has)}.run), late}
}

// tooLarge is the story of a job that would not fit on an empty GPU.
func tooLarge(d draw) []world.Spec {
	large := mainJob("large", d.trained(d.share(d.between(1.02, 1.6)), d.share(d.between(.05, .2))))
	large.Restart = d.duration(time.Minute, 5*time.Minute)
	second := d.trained(d.share(d.between(.05, .3)), d.share(d.between(.02, .1)))
	return []world.Spec{large, other("second", 0, 0, second.run)}
}

// fullAndWell is the story of two trainings that use nearly all memory. All steps are alike, so each
// step needs all of it again.
func fullAndWell(d draw) []world.Spec {
	var w, a, w2, a2 float64
	until(func() bool {
		w, a = d.between(.1, .5), d.between(.05, .3)
		w2, a2 = d.between(.1, .5), d.between(.05, .3)
		return w+a+w2+a2 <= d.fits(2)+.02 && w+a+w2+a2 >= d.fits(2)-.01
	})
	first, second := d.trained(d.share(w), d.share(a)), d.trained(d.share(w2), d.share(a2))
	first.vary, second.vary = 0, 0
	return []world.Spec{mainJob("training", first), other("second", 0, d.duration(0, time.Minute), second.run)}
}
