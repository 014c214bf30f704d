package config

import (
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/guard"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/server"
	"vramscope/themes"
)

// Settings has the value of each option.
type Settings struct {
	Interval    time.Duration
	GPUs        []string // indices and UUIDs; empty is all
	Library     string   // path of the driver's library; "" is where the loader finds it
	Theme       string
	ASCII       bool
	ReadOnly    bool
	Mouse       bool
	GraphWindow time.Duration
	GraphStyle  string // Area or Lines
	Bell        bool
	Columns     []string // the columns of the table of processes; empty: all
	Sort        string
	Reversed    bool // the order of Sort
	IdleMinutes int  // a GPU that holds memory is idle after so long without a kernel
	LowMemory   int  // per cent of a GPU's memory; 0: no alert about little free memory

	// Of the daemon.
	Record       bool
	Share        string // "none", "all", or "group:NAME"
	LeaseReserve quantity.Bytes
	Keep         time.Duration
	MaxSize      quantity.Bytes
	Commands     string   // "name" or "full"
	AlertCommand []string // nil: none

	// The exporter of the daemon.
	Serve         string // an address; "": nothing is exported
	WebConfig     string // a file of exporter-toolkit
	ServeOpenly   bool
	ServeSnapshot bool
	ProcessLabels []string // some of metric.ProcessLabels
	Processes     int

	Guard guard.Policy // without rules it only answers rescues, and only in mode act

	Servers []server.Entry // of [[server]]
}

// Defaults returns the settings without a configuration file and flags.
func Defaults() Settings {
	return Settings{
		Interval:      time.Second,
		Theme:         themes.Default,
		Bell:          true,
		Sort:          "USED",
		GraphStyle:    Area,
		IdleMinutes:   10,
		LowMemory:     10,
		Share:         "none",
		LeaseReserve:  512 * quantity.MiB,
		Keep:          30 * 24 * time.Hour,
		MaxSize:       4 * quantity.GiB,
		Commands:      "name",
		ProcessLabels: metric.ProcessLabels(),
		Processes:     16,
		Guard:         guard.Policy{Mode: guard.DryRun, Every: time.Second, MaxPerMinute: guard.DefaultMaxPerMinute},
	}
}

// Duration parses "1s", "500ms", days such as "7d" or, as watch -n does, a number of seconds.
func Duration(value string, minimum, maximum time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if number, found := strings.CutSuffix(value, "d"); found {
		var n uint64
		n, err = strconv.ParseUint(number, 10, 16)
		d = time.Duration(n) * day
	}
	if seconds, bare := strconv.ParseFloat(value, 64); bare == nil && !math.IsNaN(seconds) && math.Abs(seconds) < 1e6 {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil {
		example := "500ms, 2s or 1m"
		if minimum >= time.Minute {
			example = "90m, 24h or 7d"
		}
		return 0, fmt.Errorf("%q is not a duration: write %s", value, example)
	}
	if d < minimum || d > maximum {
		return 0, fmt.Errorf("%s is out of range: %s to %s", value, inDays(minimum), inDays(maximum))
	}
	return d, nil
}

const day = 24 * time.Hour

// Longest limits how long a recording is kept, and how far back a command looks in it.
const Longest = 3650 * day

// inDays formats a duration so that Duration parses it: "24h", but "7d".
func inDays(d time.Duration) string {
	if d > day && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	return quantity.BriefDuration(d)
}

// LowMemoryFraction returns LowMemory as a fraction for the sampler, negative if there is no alert.
func (s *Settings) LowMemoryFraction() float64 {
	if s.LowMemory == 0 {
		return -1
	}
	return float64(s.LowMemory) / 100
}

// The values of GraphStyle.
const (
	Area  = "area" // the parts of memory
	Lines = "lines"
)

// automatic lets the graph choose a window of 5 or 10 minutes by its height.
const automatic = "auto"

func (s *Settings) graphWindow() Value {
	return value(period, &s.GraphWindow, func(text string) (time.Duration, error) {
		if text == automatic {
			return 0, nil
		}
		return Duration(text, 30*time.Second, 24*time.Hour)
	}, func(d time.Duration) string {
		if d == 0 {
			return strconv.Quote(automatic)
		}
		return tomlDuration(d)
	})
}

// gpu checks an index or a UUID, and returns it. An index loses its leading zeros.
func gpu(item string) ([]string, error) {
	_, err := strconv.ParseUint(item, 10, 16)
	switch {
	case err == nil:
		item = strings.TrimLeft(item[:len(item)-1], "0") + item[len(item)-1:] // "0" stays
	case strings.HasPrefix(item, "MIG-"):
		return nil, fmt.Errorf("%q is a MIG instance: give its GPU's index or UUID, its instances are shown under it", item)
	case !strings.HasPrefix(item, "GPU-") || len(item) == len("GPU-"):
		return nil, fmt.Errorf("%q is neither a GPU's index nor its UUID (GPU-…)", item)
	}
	return []string{item}, nil
}

func theme(name string) error {
	if !slices.Contains(themes.Names(), name) {
		return fmt.Errorf("there is no theme %q: %s", name, themeList())
	}
	return nil
}

func themeList() string { return strings.Join(themes.Names(), ", ") }

// tableColumns returns the columns of the monitor's table, in their usual order. A test of cli
// compares them with the table's own.
func tableColumns() []string {
	return []string{
		"GPU", "PID", "USER", "TYP", "RUNTIME", "SM%", "USED", "BAR", "ALLOC", "FRAG", "CACHE", "OTHER", "FLUSH",
		"+60s", "TREND", "LAST 10m", "CPU%", "HOST", "TIME", "JOB", "COMMAND",
	}
}

// sortColumns returns the columns by which the table can be sorted: all except the drawings.
func sortColumns() []string {
	return slices.DeleteFunc(tableColumns(), func(name string) bool {
		return name == "BAR" || name == "TREND" || name == "LAST 10m"
	})
}

// columnNamed finds a name, and ignores case.
func columnNamed(names []string, value string) (string, bool) {
	at := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, value) })
	if at < 0 {
		return "", false
	}
	return names[at], true
}

func (s *Settings) sortColumn() Value {
	return value(words, &s.Sort, func(text string) (string, error) {
		name, ok := columnNamed(sortColumns(), text)
		if !ok {
			return "", fmt.Errorf("there is no column %q to sort by: %s", text, strings.Join(sortColumns(), ", "))
		}
		return name, nil
	}, tomlString)
}

// column parses an item of Columns, in which each name must be unique.
func (s *Settings) column(item string) ([]string, error) {
	name, ok := columnNamed(tableColumns(), item)
	switch {
	case !ok:
		return nil, fmt.Errorf("there is no column %q: %s", item, strings.Join(tableColumns(), ", "))
	case slices.Contains(s.Columns, name):
		return nil, fmt.Errorf("%s is there twice", name)
	}
	return []string{name}, nil
}

// share checks that a text is "none", "all" or "group:NAME". The daemon checks that the group exists.
func share(text string) error {
	group, named := strings.CutPrefix(text, "group:")
	if text != "none" && text != "all" && (!named || group == "") {
		return fmt.Errorf("%q is neither none, nor all, nor group:NAME", text)
	}
	return nil
}

func address(text string) error {
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil && text != "" {
		return fmt.Errorf("%q is no address with a port: write 127.0.0.1:9841", text)
	}
	return nil
}

// noLabels is the setting with which no process is exported.
const noLabels = "none"

// processLabels returns the Value of a list in which "job" stands for hpc_job, because Prometheus
// adds a label job to every series.
func (s *Settings) processLabels() Value {
	known := metric.ProcessLabels()
	some := list(&s.ProcessLabels, func(name string) ([]string, error) {
		switch {
		case name == "job":
			name = "hpc_job"
		case !slices.Contains(known, name):
			return nil, fmt.Errorf("there is no label %q: %s, or none alone", name, strings.Join(known, ", "))
		}
		return []string{name}, nil
	})
	return Value{List, func(text string) error {
		if text == noLabels {
			s.ProcessLabels = []string{}
			return nil
		}
		return some.Set(text)
	}, func() string {
		if len(s.ProcessLabels) == 0 {
			return tomlList([]string{noLabels})
		}
		return some.Literal()
	}}
}
