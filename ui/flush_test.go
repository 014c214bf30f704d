package ui

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

func TestFlushSentence(t *testing.T) {
	drawn := FlushResult{
		Returnable: gib(11.8), Before: gib(69.3), After: gib(57.6), UsedBefore: known(70.6), UsedAfter: known(58.9),
		Driver: known(-11.7), Took: 84 * time.Millisecond, Step: 1, Steps: 1,
	}
	for _, c := range []struct {
		name, want string
		change     func(*FlushResult)
	}{
		{"as drawn", "flushed 2963112: 70.6G to 58.9G, freed 11.7G in 84 ms; driver says -11.7G  ok", nil},
		{"skipped, as drawn", "flush 2963112: nothing freed of 11.8G: a graph capture was running, try again", func(r *FlushResult) {
			r.After, r.Reason = r.Before, "a graph capture was running"
		}},
		{"a driver that disagrees", "flushed 2963112: 70.6G to 68.6G, freed 11.7G in 1.2 s; driver says -2.00G  differs", func(r *FlushResult) {
			r.UsedAfter, r.Driver, r.Took = known(68.6), known(-2), 1234*time.Millisecond
		}},
		{"a driver that rises", "flushed 2963112: 70.6G to 71.6G, freed 11.7G in 84 ms; driver says +1.00G  differs", func(r *FlushResult) {
			r.UsedAfter, r.Driver = known(71.6), known(1)
		}},
		{"a busy program", "flushed 2963112: 70.6G to 61.4G, freed 11.7G in 84 ms; driver says -9.20G, 2.50G taken since  ok", func(r *FlushResult) {
			r.UsedAfter, r.Driver, r.Since = known(61.4), known(-9.2), known(2.5)
		}},
		{"a program that frees more", "flushed 2963112: 70.6G to 57.9G, freed 11.7G in 84 ms; driver says -12.7G, 1.00G given back since  ok", func(r *FlushResult) {
			r.UsedAfter, r.Driver, r.Since = known(57.9), known(-12.7), known(-1)
		}},
		{"a program that has taken too little for it", "flushed 2963112: 70.6G to 68.6G, freed 11.7G in 84 ms; driver says -2.00G  differs", func(r *FlushResult) {
			r.UsedAfter, r.Driver, r.Since = known(68.6), known(-2), known(2.5)
		}},
		{"others on the GPU", "flushed 2963112: 69.3G to 57.6G, freed 11.7G in 84 ms; driver says +1.00G  differs: on the whole GPU, where others move too", func(r *FlushResult) {
			r.UsedBefore, r.UsedAfter, r.Driver = snapshot.Bytes{}, snapshot.Bytes{}, known(1)
		}},
		{"a driver that tells nothing", "flushed 2963112: 69.3G to 57.6G, freed 11.7G in 84 ms; the driver does not tell", func(r *FlushResult) {
			r.UsedBefore, r.UsedAfter, r.Driver = snapshot.Bytes{}, snapshot.Bytes{}, snapshot.Bytes{}
		}},
		{"the whole GPU's figure", "flushed 2963112: 69.3G to 57.6G, freed 11.7G in 84 ms; driver says -11.7G  ok", func(r *FlushResult) {
			r.UsedBefore, r.UsedAfter = snapshot.Bytes{}, snapshot.Bytes{}
		}},
		{"at once", "flushed 2963112: 70.6G to 58.9G, freed 11.7G in <1 ms; driver says -11.7G  ok", func(r *FlushResult) {
			r.Took = 300 * time.Microsecond
		}},
		{"a part", "flushed 2963112: 70.6G to 58.9G, freed 11.7G of 11.8G: it took too long; driver says -11.7G  ok", func(r *FlushResult) {
			r.Reason = "it took too long"
		}},
		{"stopped", "stopped 2963112: 70.6G to 58.9G, freed 11.7G of 11.8G; driver says -11.7G  ok", func(r *FlushResult) { r.Stopped = true }},
		{"nothing there", "flush 2963112: there was nothing to free", func(r *FlushResult) { r.After, r.Returnable = r.Before, 0 }},
		{"taken meanwhile", "flush 2963112: nothing freed of 11.8G", func(r *FlushResult) { r.After = r.Before + quantity.GiB }},
		{"dry run", "dry run 2963112: 70.6G to 58.9G, would free 11.7G", func(r *FlushResult) {
			r.DryRun, r.UsedAfter = true, r.UsedBefore
		}},
		{"dry run of nothing", "dry run 2963112: nothing would be freed", func(r *FlushResult) { r.DryRun, r.After = true, r.Before }},
		{"dry run of caches", "dry run 2963112: would free what the program's own caches hold, and nothing else", func(r *FlushResult) {
			r.DryRun, r.More, r.After = true, true, r.Before
		}},
		{"dry run with caches", "dry run 2963112: would free 11.7G, and what the program's own caches hold", func(r *FlushResult) {
			r.DryRun, r.More = true, true
		}},
		{"hostile reason", "flush 2963112: nothing freed of 11.8G: ?[2J?, try again", func(r *FlushResult) {
			r.After, r.Reason = r.Before, "\x1b[2J\x07"
		}},
	} {
		r := drawn
		if c.change != nil {
			c.change(&r)
		}
		if got := r.Sentence("2963112"); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		if r.Failed() != (r.Freed() <= 0 && r.Returnable > 0 && !r.DryRun) {
			t.Errorf("%s: failed %v", c.name, r.Failed())
		}
	}
	if got := drawn.Sentence(""); got != "flushed: 70.6G to 58.9G, freed 11.7G in 84 ms; driver says -11.7G  ok" {
		t.Errorf("without a subject: %s", got)
	}
}

// gib is an amount in GiB.
func gib(amount float64) quantity.Bytes { return quantity.Bytes(amount * float64(quantity.GiB)) }

// TestFlushSentenceFits: on 80 columns the driver's word is never cut off.
func TestFlushSentenceFits(t *testing.T) {
	const gb, cells = quantity.GiB, 78
	for _, took := range []time.Duration{84 * time.Millisecond, 840 * time.Millisecond, 12 * time.Second} {
		r := FlushResult{Before: 70 * gb, After: 58 * gb, Returnable: 12 * gb, Took: took}
		r.UsedBefore, r.UsedAfter = quantity.From(132*gb, quantity.Driver), quantity.From(120*gb, quantity.Driver)
		r.Driver = quantity.From(-10*gb, quantity.Driver)
		r.Since = quantity.From(2*gb, quantity.Probe)
		for _, subject := range []string{"2963112", "4194304", "12 processes"} {
			s := fitting(r.wordings(subject), cells)
			if text.Width(s) > cells || !strings.HasSuffix(s, "driver says -10.0G, 2.00G taken since  ok") {
				t.Errorf("%d cells: %s", text.Width(s), s)
			}
		}
	}
}
