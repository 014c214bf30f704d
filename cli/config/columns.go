package config

import (
	"fmt"
	"slices"
	"strings"
)

// tableColumns are the columns of the monitor's table, in their usual order. A test of cli
// compares them with the table's own.
func tableColumns() []string {
	return []string{
		"GPU", "PID", "USER", "TYP", "RUNTIME", "SM%", "USED", "BAR", "ALLOC", "FRAG", "CACHE", "OTHER", "FLUSH",
		"+60s", "TREND", "LAST 10m", "CPU%", "HOST", "TIME", "JOB", "COMMAND",
	}
}

// sortColumns are those that it can be sorted by: pictures have no order.
func sortColumns() []string {
	return slices.DeleteFunc(tableColumns(), func(name string) bool {
		return name == "BAR" || name == "TREND" || name == "LAST 10m"
	})
}

// columnList is the names in two lines of the documentation.
func columnList() string {
	names := tableColumns()
	half := len(names) / 2
	return strings.Join(names[:half], ", ") + ",\n" + strings.Join(names[half:], ", ") + "."
}

// columnNamed finds a name, in either case.
func columnNamed(names []string, value string) (string, bool) {
	at := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, value) })
	if at < 0 {
		return "", false
	}
	return names[at], true
}

func (s *Settings) setSort(value string) error {
	name, ok := columnNamed(sortColumns(), value)
	if !ok {
		return fmt.Errorf("there is no column %q to sort by: %s", value, strings.Join(sortColumns(), ", "))
	}
	s.Sort = name
	return nil
}

// setColumns takes a comma-separated list of names.
func (s *Settings) setColumns(value string) error {
	s.Columns = nil
	for item := range strings.SplitSeq(value, ",") {
		name, ok := columnNamed(tableColumns(), strings.TrimSpace(item))
		switch {
		case !ok:
			return fmt.Errorf("there is no column %q: %s", item, strings.Join(tableColumns(), ", "))
		case slices.Contains(s.Columns, name):
			return fmt.Errorf("%s is there twice", name)
		}
		s.Columns = append(s.Columns, name)
	}
	return nil
}

func (s *Settings) setGraphStyle(value string) error {
	if value != "area" && value != "lines" {
		return fmt.Errorf("%q is neither area nor lines", value)
	}
	s.GraphLines = value == "lines"
	return nil
}

func (s *Settings) graphStyle() string {
	return map[bool]string{true: "lines", false: "area"}[s.GraphLines]
}
