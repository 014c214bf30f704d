package main

import (
	"fmt"
	"strings"

	"vramscope/internal/guardlab/story"
	"vramscope/internal/quantity"
)

func (m *measured) heading() string {
	return fmt.Sprintf("Seeds %s, %g h of each story; a flush costs %s and %s a GiB that is reserved again.\n",
		m.seeds, m.length.Hours(), usualCost.Sync, usualCost.PerGiB)
}

func figure(format string, v float64) string { return fmt.Sprintf(format, v) }

// change returns the difference of a from b in per cent.
func change(a, b float64) string {
	if b == 0 {
		return "–"
	}
	return figure("%+.1f %%", 100*(a/b-1))
}

func inGiB(b quantity.Bytes) float64 { return float64(b) / float64(quantity.GiB) }

// policyTable makes a table with a row for each policy, over all stories that can be won.
func (m *measured) policyTable() string {
	titles := []string{
		"stories 1 to 8", "important jobs' OOM/h", "fewer (95 % interval)", "all jobs' OOM/h", "steps, all jobs", "steps, other jobs",
		"allocated", "flushes/h", "GiB freed/h", "back within 1 min", "actions/min, steady",
	}
	none := m.pooled(story.Winnable, 0)
	var rows [][]string
	for p, policy := range m.policies {
		s := m.pooled(story.Winnable, p)
		row := []string{policy.Name, figure("%.1f", s.important/s.hours), "", figure("%.1f", s.all/s.hours), "", "", figure("%.1f %%", 100*s.allocated/s.hours)}
		if p == 0 {
			rows = append(rows, append(row, "", "", "", ""))
			continue
		}
		share, low, high := m.fewer(p)
		row[2] = fmt.Sprintf("%.1f %% (%.1f–%.1f)", 100*share, 100*low, 100*high)
		row[4], row[5] = change(s.work.Hours(), none.work.Hours()), change(s.others.Hours(), none.others.Hours())
		rows = append(rows, append(row, figure("%.1f", s.flushes/s.hours), figure("%.0f", inGiB(s.freed)/s.hours),
			figure("%.0f %%", 100*float64(s.back)/max(float64(s.freed), 1)), figure("%.1f", m.steady(p))))
	}
	return grid(titles, rows)
}

// storyTable makes a table of the important jobs' out-of-memory events an hour, by winnable story and policy.
func (m *measured) storyTable() string {
	titles := []string{"important jobs' out-of-memory events an hour"}
	for _, p := range m.policies {
		titles = append(titles, p.Name)
	}
	var rows [][]string
	for i, s := range m.stories {
		if s.Kind != story.Winnable {
			continue
		}
		row := []string{fmt.Sprintf("%d %s", i+1, s.Name)}
		for p := range m.policies {
			total := sum(m.scores[i][p])
			row = append(row, figure("%.2f", total.important/total.hours))
		}
		rows = append(rows, row)
	}
	return grid(titles, rows)
}

// quietTable makes a table of three policies in the stories in which no guard can win anything.
func (m *measured) quietTable() string {
	titles := []string{"nothing to win", "OOM/h without a guard"}
	shown := []int{m.index("20 % for 1 s"), m.index("demand"), m.index("demand + rescue")}
	for _, p := range shown {
		titles = append(titles, "OOM/h, "+m.policies[p].Name, "flushes/h", "steps, all jobs")
	}
	var rows [][]string
	for i, s := range m.stories {
		if s.Kind == story.Winnable {
			continue
		}
		none := sum(m.scores[i][0])
		row := []string{fmt.Sprintf("%d %s", i+1, s.Name), figure("%.1f", none.all/none.hours)}
		for _, p := range shown {
			total := sum(m.scores[i][p])
			row = append(row, figure("%.1f", total.all/total.hours), figure("%.1f", total.flushes/total.hours), change(total.work.Hours(), none.work.Hours()))
		}
		rows = append(rows, row)
	}
	return grid(titles, rows)
}

// index returns the index of a policy.
func (m *measured) index(name string) int {
	for i := range m.policies {
		if m.policies[i].Name == name {
			return i
		}
	}
	panic("table: no policy " + name)
}

// details returns a table of every story under every policy.
func (m *measured) details() string {
	titles := []string{"story", "policy", "important OOM/h", "OOM/h", "steps, all jobs", "steps, other jobs", "allocated", "flushes/h", "GiB freed/h", "GiB back/h", "actions/min, worst", "rescued/h", "turned off"}
	var rows [][]string
	for i, s := range m.stories {
		none := sum(m.scores[i][0])
		for p, policy := range m.policies {
			t := sum(m.scores[i][p])
			rows = append(rows, []string{
				fmt.Sprintf("%d %s", i+1, s.Name), policy.Name, figure("%.2f", t.important/t.hours), figure("%.2f", t.all/t.hours),
				change(t.work.Hours(), none.work.Hours()), change(t.others.Hours(), none.others.Hours()), figure("%.1f %%", 100*t.allocated/t.hours),
				figure("%.1f", t.flushes/t.hours), figure("%.1f", inGiB(t.freed)/t.hours), figure("%.1f", inGiB(t.back)/t.hours),
				figure("%.1f", t.busiest), figure("%.1f", t.rescued/t.hours), figure("%.0f", t.trips),
			})
		}
	}
	return grid(titles, rows)
}

// aims says for each policy except the first which aims it meets.
func (m *measured) aims() string {
	var b strings.Builder
	for p := 1; p < len(m.policies); p++ {
		s, none := m.pooled(story.Winnable, p), m.pooled(story.Winnable, 0)
		share, _, _ := m.fewer(p)
		fmt.Fprintf(&b, "- *%s*: events −90 %% %s; steps ≥ −2 %% %s", m.policies[p].Name, verdict(share >= .9), verdict(s.work.Hours() >= .98*none.work.Hours()))
		if slow := m.slower(p); slow != "" {
			fmt.Fprintf(&b, " (but of the other jobs: %s)", slow)
		}
		fmt.Fprintf(&b, "; ≤ 1 action a minute %s", verdict(m.steady(p) <= 1))
		fmt.Fprint(&b, m.passing(p))
		fmt.Fprintf(&b, "; quiet where nothing can be won %s.\n", m.quiet(p))
	}
	return b.String()
}

func verdict(held bool) string {
	if held {
		return "held"
	}
	return "**missed**"
}

// slower returns the winnable stories in which the jobs that are not important lose more than 2 %.
func (m *measured) slower(policy int) string {
	var names []string
	for i, s := range m.stories {
		t, none := sum(m.scores[i][policy]), sum(m.scores[i][0])
		if s.Kind == story.Winnable && t.others.Hours() < .98*none.others.Hours() {
			names = append(names, fmt.Sprintf("%d %s", i+1, change(t.others.Hours(), none.others.Hours())))
		}
	}
	return strings.Join(names, ", ")
}

// steady returns the most actions a minute, in any ten minutes, over the stories in which jobs do not come and go.
func (m *measured) steady(policy int) (most float64) {
	for i, s := range m.stories {
		if !s.Passes {
			most = max(most, sum(m.scores[i][policy]).busiest)
		}
	}
	return most
}

// passing returns the most actions a minute over the stories in which jobs come and go, as words in
// brackets. It returns "" if the figure is at most 1.
func (m *measured) passing(policy int) string {
	var most float64
	for i, s := range m.stories {
		if s.Passes {
			most = max(most, sum(m.scores[i][policy]).busiest)
		}
	}
	if most <= 1 {
		return ""
	}
	return fmt.Sprintf(" (where jobs come and go %.1f)", most)
}

// quietMost is the most flushes an hour of a guard that is quiet.
const quietMost = 1

func (m *measured) quiet(policy int) string {
	var loud []string
	for i, s := range m.stories {
		t := sum(m.scores[i][policy])
		if rate := t.flushes / t.hours; s.Kind != story.Winnable && rate > quietMost {
			loud = append(loud, fmt.Sprintf("%s %.1f an hour", s.Name, rate))
		}
	}
	if loud == nil {
		return "held"
	}
	return "**missed** (" + strings.Join(loud, ", ") + ")"
}
