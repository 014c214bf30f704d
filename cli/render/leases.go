package render

import (
	"cmp"
	"fmt"
	"time"

	"vramscope/internal/quantity"
	"vramscope/schema"
)

// Leases returns a line for each lease and each waiting claim, in their order, and notes.
func Leases(all []schema.Lease, now time.Time, signs Signs, width int) string {
	if len(all) == 0 {
		return "no leases\n"
	}
	g := grid{columns: []column{{"LEASE", false, 8}, {"USER", false, 4}, {"STATE", false, 7}, {"NEED", true, 5}, {"GPU", false, 3},
		{"USED", true, 5}, {"PID", true, 3}, {"FOR", true, 3}, {"AGE", true, 3}, {"COMMAND", false, 0}}}
	var notes []string
	or := func(word string) string { return cmp.Or(word, signs.Dash) }
	for i := range all {
		l := &all[i]
		need, gpus, used, pid, length, since, what := l.NeedBytes.String(), "", "", "", "", l.Since, string(l.Command)
		if l.Count > 1 {
			need = fmt.Sprintf("%dx%s", l.Count, need)
		}
		for j, leased := range l.GPUs {
			separator := [...]string{"", ","}[min(j, 1)]
			gpus, used = gpus+separator+string(leased.GPU), used+separator+signs.Bytes(leased.UsedBytes)
		}
		if l.PID != nil {
			pid = fmt.Sprint(*l.PID)
		}
		if l.ForSeconds != nil {
			length = quantity.BriefDuration(time.Duration(*l.ForSeconds * float64(time.Second)))
		}
		if time.Time(since).IsZero() {
			since = l.AskedAt
		}
		if l.Standing != "" {
			what = string(l.Standing)
		}
		if l.Importance != 0 {
			what = fmt.Sprintf("importance %d  %s", l.Importance, what)
		}
		age := quantity.BriefDuration(now.Sub(time.Time(since)).Round(time.Second))
		g.rows = append(g.rows, []string{or(string(l.ID)), or(string(l.User)), l.State, need, or(gpus), or(used), or(pid), or(length), age, signs.Words(what)})
		if l.Note != "" {
			notes = append(notes, "note  "+signs.Words(string(l.Note)))
		}
	}
	return cutLines(append(g.lines(), notes...), width, signs.Ellipsis)
}
