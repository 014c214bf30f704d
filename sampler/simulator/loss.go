package simulator

import (
	"math/rand/v2"
	"time"
)

// loss is when a GPU falls off the bus, and when it is back.
type loss struct {
	at, until time.Duration
	lost      bool
	random    *rand.Rand
}

// The first loss is early, so that every demo shows one.
func newLoss(random *rand.Rand) loss {
	l := loss{random: random, at: span{30 * time.Second, 37 * time.Second}.draw(random)}
	l.until = l.at + span{55 * time.Second, 65 * time.Second}.draw(random)
	return l
}

// turn moves the loss to now and reports whether the GPU has just come back.
func (l *loss) turn(now time.Duration) (back bool) {
	if !l.lost {
		l.lost = now >= l.at
		return false
	}
	if now < l.until {
		return false
	}
	l.lost = false
	l.at = now + span{40 * time.Minute, 100 * time.Minute}.draw(l.random)
	l.until = l.at + span{30 * time.Second, 3 * time.Minute}.draw(l.random)
	return true
}

// turnLoss loses the GPU or brings it back. Its processes have lost their contexts
// then and end.
func (b *Box) turnLoss(g *board, now time.Duration) {
	if !g.loss.turn(now) {
		return
	}
	for _, s := range b.slots {
		if s.board == g && s.task != nil {
			b.end(s, now)
		}
	}
}
