//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
)

// startLong watches programs that stay open for a long time, on boxes of their own, while the other
// scenarios are measured. finish waits for these programs and writes their table: how much more
// memory vramscope takes than a program that has the same library open.
func (r *report) startLong(dir string, programs []program, o options) (finish func() error) {
	bare := slices.IndexFunc(programs, func(p program) bool { return p.bare })
	boxes := slices.DeleteFunc(slices.Clone(scenarios), func(s scenario) bool { return !s.long })
	if o.long == 0 || o.only != "" || bare < 0 {
		return func() error { return nil }
	}
	o.warmUp, o.runs = o.long, 1
	all, failed := make([][]figures, len(boxes)), make([]error, len(boxes))
	var running sync.WaitGroup
	for i, s := range boxes {
		running.Go(func() {
			var own string
			if own, failed[i] = os.MkdirTemp(dir, "long"); failed[i] == nil {
				all[i], failed[i] = s.run(own, []program{programs[0], programs[bare]}, o)
			}
		})
	}
	return func() error {
		running.Wait()
		r.say("\n### after %s, at 200×50\n\n", o.long)
		r.say("| box | RSS | above %s | anonymous | above it | to the terminal |\n|---|---|---|---|---|---|\n", programs[bare].name)
		for i, s := range boxes {
			if failed[i] != nil {
				failed[i] = fmt.Errorf("%s after %s: %w", s.name, o.long, failed[i])
				continue
			}
			ours, floor := all[i][0], all[i][1]
			r.say("| %s | %s | %s | %s | %s | %.2f kB/s |\n", s.name, mebibytes(ours.rss), mebibytes(ours.rss-floor.rss),
				mebibytes(ours.anonymous), mebibytes(ours.anonymous-floor.anonymous), ours.bytesPerSecond/1000)
		}
		return errors.Join(failed...)
	}
}
