package flush

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// Sentence returns the result in words: "flushed 2963112: 70.6G to 58.9G, freed 11.7G in 84 ms;
// driver says -11.7G ok". The caller cleans the sentence to show it: it has the probe's own words.
func (r *Result) Sentence(subject string) string {
	if subject != "" {
		subject = " " + subject
	}
	if r.Server != "" {
		return r.serverSentence(subject)
	}
	from, to := r.fromTo()
	own := r.ownCaches()
	switch freed := r.Freed(); {
	case own && freed <= 0:
		return "dry run" + subject + ": would free what the program's own caches hold, and nothing else" + r.because()
	case own:
		return fmt.Sprintf("dry run%s: would free %s, and what the program's own caches hold%s", subject, freed, r.because())
	case r.DryRun && freed <= 0:
		return "dry run" + subject + ": nothing would be freed" + r.because()
	case r.DryRun:
		return fmt.Sprintf("dry run%s: %s to %s, would free %s%s", subject, from, to, freed, r.because())
	case freed <= 0 && r.Returnable <= 0:
		return "flush" + subject + ": there was nothing to free" + r.because()
	case freed <= 0:
		text := fmt.Sprintf("flush%s: nothing freed of %s%s", subject, r.Returnable, r.because())
		if r.Reason != "" {
			text += ", try again"
		}
		return text
	case r.Differs() && !r.Stopped:
		return "flush" + subject + ": " + r.fall() + "its probe reports " + signed(-freed) + ", " + r.agreement() + r.because()
	case r.Stopped:
		return fmt.Sprintf("stopped%s: %s to %s, freed %s; %s", subject, from, to, r.freedOf(), r.agreement())
	case r.Reason != "":
		return fmt.Sprintf("flushed%s: %s to %s, freed %s%s%s; %s", subject, from, to, r.freedOf(), r.cycles(), r.because(), r.agreement())
	default:
		return fmt.Sprintf("flushed%s: %s to %s, freed %s%s in %s; %s", subject, from, to, freed, r.cycles(), spent(r.Took), r.agreement())
	}
}

// Sentences returns Sentence and shorter ones for narrow screens, which keep the driver's figure.
// Shorter ones exist for a server, and for a flush that freed memory, was not stopped and has no Reason.
func (r *Result) Sentences(subject string) []string {
	full := r.Sentence(subject)
	switch {
	case r.Server != "":
		return []string{full, r.Sentence("")}
	case r.DryRun || r.Stopped || r.Reason != "" || r.Freed() <= 0:
		return []string{full}
	case r.Differs():
		return []string{full, strings.Replace(full, r.fall(), "", 1)}
	}
	from, to := r.fromTo()
	return []string{
		full,
		fmt.Sprintf("flushed %s: %s to %s, freed %s; %s", subject, from, to, r.Freed(), r.agreement()),
		fmt.Sprintf("flushed %s: freed %s; %s", subject, r.Freed(), r.agreement()),
	}
}

// fromTo returns the process's memory before and after, by the driver if it reports it.
func (r *Result) fromTo() (from, to quantity.Bytes) {
	used, usedAfter := r.Used()
	before, ok := used.Value()
	after, also := usedAfter.Value()
	switch {
	case r.DryRun && ok:
		return before, before - r.Freed()
	case ok && also:
		return before, after
	default:
		return r.Before(), r.After()
	}
}

// freedOf returns "4.00G of 8.00G", or "8.00G" where no more was expected.
func (r *Result) freedOf() string {
	if r.Freed() >= r.Returnable {
		return r.Freed().String()
	}
	return r.Freed().String() + " of " + r.Returnable.String()
}

// fall returns the driver's figures as "70.6G to 58.9G, ", or "" if they are unknown.
func (r *Result) fall() string {
	if _, after := r.Used(); !after.Known() {
		return ""
	}
	from, to := r.fromTo()
	return from.String() + " to " + to.String() + ", "
}

func (r *Result) cycles() string {
	switch collected := r.Collected().Or(0); {
	case collected <= 0:
		return ""
	case collected <= r.Freed():
		return " (" + collected.String() + " of it was in reference cycles)"
	default: // more was collected than freed: the rest lies in segments with live memory
		return " (" + collected.String() + " was in reference cycles)"
	}
}

func (r *Result) because() string {
	if r.Reason == "" {
		return ""
	}
	return ": " + r.Reason
}

// agreement compares the driver's figure with the probe's, less what the program has reserved since
// the flush. A difference within snapshot.Tolerance does not count.
func (r *Result) agreement() string {
	dropped, ok := r.DriverFreed().Value()
	if !ok || r.DryRun {
		return "not reported by the driver"
	}
	used, _ := r.Used()
	text, off, since := "driver says "+signed(-dropped), r.Freed()-dropped, r.Since().Or(0)
	switch {
	case r.near(off):
		return text + "  ok"
	case r.near(off-since) && since > 0:
		return text + ", " + since.String() + " taken since  ok"
	case r.near(off - since):
		return text + ", " + (-since).String() + " freed since  ok"
	case !used.Known() && r.Differs():
		return text + "  differs: on the whole GPU, where others allocate too"
	case r.Differs():
		return text + "  differs"
	default:
		return text + "  more"
	}
}

func (r *Result) near(off quantity.Bytes) bool {
	return max(off, -off) <= snapshot.Tolerance(r.Freed())
}

func signed(amount quantity.Bytes) string {
	switch {
	case amount < 0:
		return "-" + (-amount).String()
	case amount > 0:
		return "+" + amount.String()
	default:
		return "0"
	}
}

// spent returns a short time: "84 ms", "1.2 s".
func spent(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "<1 ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
}
