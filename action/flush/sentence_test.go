package flush

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

func TestSentence(t *testing.T) {
	driver := func(before, after float64) func(*Result) {
		return func(r *Result) { r.Devices[0].DriverBefore, r.Devices[0].DriverAfter = known(before), known(after) }
	}
	whole := func(r *Result) { r.Devices[0].Whole = true }
	since := func(amount float64) func(*Result) { return func(r *Result) { r.Devices[0].Since = known(amount) } }
	nothing := func(r *Result) { r.Devices[0].After = r.Devices[0].Before }
	reason := func(text string) func(*Result) { return func(r *Result) { r.Reason = text } }
	dry := func(r *Result) { r.DryRun, r.Devices[0].DriverAfter = true, snapshot.Bytes{} }
	ownCaches := func(r *Result) { r.Notes = []string{"would empty KV cache"} }
	collected := func(amount float64) func(*Result) { return func(r *Result) { r.Devices[0].Collected = known(amount) } }
	took := func(d time.Duration) func(*Result) { return func(r *Result) { r.Took = d } }
	for _, c := range []struct {
		name, want string
		changes    []func(*Result)
	}{
		{"as drawn", "flushed 2963112: 70.6G to 58.9G, freed 11.7G in 84 ms; driver says -11.7G  ok", nil},
		{"skipped", "flush 2963112: nothing freed of 11.8G: a graph capture was running, try again",
			[]func(*Result){nothing, reason("a graph capture was running")}},
		{"smaller driver drop", "flush 2963112: 70.6G to 68.6G, its probe reports -11.7G, driver says -2.00G  differs",
			[]func(*Result){driver(70.6, 68.6), took(1234 * time.Millisecond)}},
		{"driver rise", "flush 2963112: 70.6G to 71.6G, its probe reports -11.7G, driver says +1.00G  differs",
			[]func(*Result){driver(70.6, 71.6)}},
		{"busy program", "flushed 2963112: 70.6G to 61.4G, freed 11.7G in 84 ms; driver says -9.20G, 2.50G taken since  ok",
			[]func(*Result){driver(70.6, 61.4), since(2.5)}},
		{"program frees more", "flushed 2963112: 70.6G to 57.9G, freed 11.7G in 84 ms; driver says -12.7G, 1.00G freed since  ok",
			[]func(*Result){driver(70.6, 57.9), since(-1)}},
		{"drop not explained by what was taken", "flush 2963112: 70.6G to 68.6G, its probe reports -11.7G, driver says -2.00G  differs",
			[]func(*Result){driver(70.6, 68.6), since(2.5)}},
		{"others on the GPU", "flush 2963112: its probe reports -11.7G, driver says +1.00G  differs: on the whole GPU, where others allocate too",
			[]func(*Result){driver(70.6, 71.6), whole}},
		{"partly, and not even that", "flush 2963112: 70.6G to 68.6G, its probe reports -11.7G, driver says -2.00G  differs: it took too long",
			[]func(*Result){driver(70.6, 68.6), reason("it took too long")}},
		{"larger driver drop", "flushed 2963112: 70.6G to 50.6G, freed 11.7G in 84 ms; driver says -20.0G  more", []func(*Result){driver(70.6, 50.6)}},
		{"no driver figure", "flushed 2963112: 69.3G to 57.6G, freed 11.7G in 84 ms; not reported by the driver",
			[]func(*Result){func(r *Result) {
				r.Devices[0].DriverBefore, r.Devices[0].DriverAfter = snapshot.Bytes{}, snapshot.Bytes{}
			}}},
		{"cycles", "flushed 2963112: 70.6G to 58.9G, freed 11.7G (1.20G of it was in reference cycles) in 84 ms; driver says -11.7G  ok", []func(*Result){collected(1.2)}},
		{"more in cycles", "flushed 2963112: 70.6G to 58.9G, freed 11.7G (12.0G was in reference cycles) in 84 ms; driver says -11.7G  ok", []func(*Result){collected(12)}},
		{"no cycles", "flushed 2963112: 70.6G to 58.9G, freed 11.7G in 84 ms; driver says -11.7G  ok", []func(*Result){collected(0)}},
		{"whole GPU", "flushed 2963112: 69.3G to 57.6G, freed 11.7G in 84 ms; driver says -11.7G  ok", []func(*Result){whole}},
		{"exactly the tolerance", "flushed 2963112: 70.6G to 59.1G, freed 11.7G in 84 ms; driver says -11.5G  ok",
			[]func(*Result){func(r *Result) {
				r.Devices[0].DriverAfter = quantity.From(r.Devices[0].DriverBefore.Or(0)-r.Freed()+snapshot.Tolerance(r.Freed()), quantity.Driver)
			}}},
		{"a millisecond", "flushed 2963112: 70.6G to 58.9G, freed 11.7G in 1 ms; driver says -11.7G  ok", []func(*Result){took(time.Millisecond)}},
		{"a second", "flushed 2963112: 70.6G to 58.9G, freed 11.7G in 1.0 s; driver says -11.7G  ok", []func(*Result){took(time.Second)}},
		{"at once", "flushed 2963112: 70.6G to 58.9G, freed 11.7G in <1 ms; driver says -11.7G  ok",
			[]func(*Result){took(300 * time.Microsecond)}},
		{"partly", "flushed 2963112: 70.6G to 58.9G, freed 11.7G of 11.8G: it took too long; driver says -11.7G  ok",
			[]func(*Result){reason("it took too long")}},
		{"stopped", "stopped 2963112: 70.6G to 58.9G, freed 11.7G of 11.8G; driver says -11.7G  ok",
			[]func(*Result){func(r *Result) { r.Stopped = true }}},
		{"stopped with nothing left to free", "stopped 2963112: 70.6G to 58.9G, freed 11.7G; driver says -11.7G  ok",
			[]func(*Result){func(r *Result) { r.Stopped, r.Returnable = true, r.Freed() }}},
		{"nothing to free", "flush 2963112: there was nothing to free", []func(*Result){nothing, func(r *Result) { r.Returnable = 0 }}},
		{"allocated meanwhile", "flush 2963112: nothing freed of 11.8G",
			[]func(*Result){func(r *Result) { r.Devices[0].After = r.Devices[0].Before + quantity.GiB }}},
		{"dry run", "dry run 2963112: 70.6G to 58.9G, would free 11.7G", []func(*Result){dry}},
		{"dry run of nothing", "dry run 2963112: nothing would be freed", []func(*Result){dry, nothing}},
		{"dry run of own caches", "dry run 2963112: would free what the program's own caches hold, and nothing else",
			[]func(*Result){dry, ownCaches, nothing}},
		{"dry run with own caches", "dry run 2963112: would free 11.7G, and what the program's own caches hold",
			[]func(*Result){dry, ownCaches}},
	} {
		r := drawn()
		for _, change := range c.changes {
			change(&r)
		}
		if got := r.Sentence("2963112"); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		if differs := strings.Contains(c.want, "  differs"); r.Differs() != differs || (r.Outcome() == "differs") != differs || differs && r.Done() {
			t.Errorf("%s: differs %v, outcome %s", c.name, r.Differs(), r.Outcome())
		}
		if r.Failed() != (r.Freed() <= 0 && r.Returnable > 0 && !r.DryRun) {
			t.Errorf("%s: failed %v", c.name, r.Failed())
		}
	}
	r := drawn()
	if got := r.Sentence(""); got != "flushed: 70.6G to 58.9G, freed 11.7G in 84 ms; driver says -11.7G  ok" {
		t.Errorf("without a subject: %s", got)
	}
}

// TestSentencesEndWithTheDriverFigure: a narrow screen cuts off the end of a sentence, so a shorter
// sentence must exist.
func TestSentencesEndWithTheDriverFigure(t *testing.T) {
	r := drawn()
	r.Devices[0].DriverAfter, r.Devices[0].Since = known(60.9), known(2)
	sentences := r.Sentences("12 processes")
	for i, text := range sentences {
		if !strings.HasSuffix(text, "driver says -9.70G, 2.00G taken since  ok") || i > 0 && len(text) >= len(sentences[i-1]) {
			t.Errorf("%d: %s", i, text)
		}
	}
	if last := sentences[len(sentences)-1]; len(last) > 78 {
		t.Errorf("%d characters: %s", len(last), last)
	}
}

func TestSumOfFlushes(t *testing.T) {
	one, other := drawn(), drawn()
	other.Devices[0].UUID, other.Reason = "GPU-2", "it took too long"
	sum := Sum([]Result{one, other})
	if got := sum.Sentence("2 processes"); got != "flushed 2 processes: 141G to 118G, freed 23.4G in 168 ms; driver says -23.4G  ok" {
		t.Error(got)
	}
	other.Devices[0].DriverAfter = snapshot.Bytes{}
	if sum = Sum([]Result{one, other}); sum.DriverFreed().Known() || len(one.Devices) != 1 {
		t.Errorf("the driver's drop is known of both: %+v", sum)
	}
}

// drawn returns the result of a flush that freed 11.7 of 11.8 GiB.
func drawn() Result {
	return Result{
		Returnable: amount(11.8), Took: 84 * time.Millisecond, Step: 1, Steps: 1,
		Devices: []Device{{UUID: "GPU-1", Before: amount(69.3), After: amount(57.6), DriverBefore: known(70.6), DriverAfter: known(58.9)}},
	}
}

func amount(gibibytes float64) quantity.Bytes {
	return quantity.Bytes(gibibytes * float64(quantity.GiB))
}

func known(gibibytes float64) snapshot.Bytes {
	return quantity.From(amount(gibibytes), quantity.Driver)
}
