package cli

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"vramscope/probe"
	"vramscope/sampler"
)

// listen has the probes of a real box read until the context ends, and returns
// a function that waits until they no longer are. A panic there comes back as
// an error: somebody else owns the terminal.
func (src *sources) listen(ctx context.Context, failed func(error)) (wait func()) {
	if src.probes == nil {
		return func() {}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if value := recover(); value != nil {
				failed(fmt.Errorf("probes: panic: %v\n%s", value, debug.Stack()))
			}
		}()
		src.probes.Run(ctx)
	}()
	return func() { <-ended }
}

// listenFor has the probes read for a command that looks once, and returns a
// function that ends it and waits until it has ended.
func (src *sources) listenFor(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	waitForProbes := src.listen(ctx, cancel)
	return func() {
		cancel(nil)
		waitForProbes()
	}
}

// onceProbing is how long a command that looks once waits for its probes: a
// little more than one has for its first answer.
const onceProbing = 500 * time.Millisecond

// settled is a reader of probes that waits, the first time, until all that can
// be found have been asked: who looks once does not get another chance.
type settled struct {
	sampler.ProbeReader
	settle func(context.Context)
	first  sync.Once
}

// Answers implements sampler.ProbeReader.
func (s *settled) Answers() []probe.Answer {
	s.first.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), onceProbing)
		defer cancel()
		s.settle(ctx)
	})
	return s.ProbeReader.Answers()
}
