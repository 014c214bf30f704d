package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/guard"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler"
	"vramscope/themes"
)

// Settings are the defaults, overridden by the configuration file and the command line.
type Settings struct {
	Interval    time.Duration
	GPUs        []string // indices and UUIDs; empty is all
	Library     string   // path of the driver's library; "" is where the loader finds it
	Theme       string
	ASCII       bool
	ReadOnly    bool
	Mouse       bool
	GraphWindow time.Duration
	GraphLines  bool // graphs have lines alone, no areas
	Bell        bool
	Columns     []string // of the table of processes; empty is all
	Sort        string
	Reversed    bool // the order of Sort
	IdleAfter   time.Duration
	LowMemory   int // per cent of a GPU's memory

	// Of the daemon.
	Record       bool
	Share        string // "none", "all", or "group:NAME"
	Keep         time.Duration
	MaxSize      quantity.Bytes
	Commands     string   // "name" or "full"
	AlertCommand []string // nil: none

	// Of its exporter.
	Serve         string // an address; "": nothing is exported
	WebConfig     string // a file of exporter-toolkit
	ServeOpenly   bool
	ServeSnapshot bool
	ProcessLabels []string // of metric.ProcessLabels
	Processes     int

	Guard guard.Policy // without rules it only answers rescues, where it acts
}

// Defaults are the settings without a configuration file and flags.
func Defaults() Settings {
	return Settings{
		Interval:      time.Second,
		Theme:         themes.Default,
		Bell:          true,
		Sort:          "USED",
		IdleAfter:     10 * time.Minute,
		LowMemory:     10,
		Share:         "none",
		Keep:          30 * 24 * time.Hour,
		MaxSize:       4 * quantity.GiB,
		Commands:      "name",
		ProcessLabels: metric.ProcessLabels(),
		Processes:     16,
		Guard:         guard.Policy{Mode: guard.DryRun, Every: time.Second, MaxPerMinute: guard.DefaultMaxPerMinute},
	}
}

// Duration reads "1s", "500ms", days as "7d" or, as watch -n does, a number of seconds.
func Duration(value string, least, most time.Duration) (time.Duration, error) {
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
		if least >= time.Minute {
			example = "90m, 24h or 7d"
		}
		return 0, fmt.Errorf("%q is not a duration: write %s", value, example)
	}
	if d < least || d > most {
		return 0, fmt.Errorf("%s is out of range: %s to %s", value, inDays(least), inDays(most))
	}
	return d, nil
}

const day = 24 * time.Hour

// Longest is the longest time that a recording is kept, and that is looked back in one.
const Longest = 3650 * day

// inDays writes what Duration reads: more than one whole day as "7d".
func inDays(d time.Duration) string {
	if d > day && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	return quantity.BriefDuration(d)
}

func (s *Settings) setInterval(value string) (err error) {
	s.Interval, err = Duration(value, sampler.MinInterval, sampler.MaxInterval)
	return err
}

// automatic has the graph choose its window by its height: 5 or 10 minutes.
const automatic = "auto"

func (s *Settings) setGraphWindow(value string) (err error) {
	if value == automatic {
		s.GraphWindow = 0
		return nil
	}
	s.GraphWindow, err = Duration(value, 30*time.Second, 24*time.Hour)
	return err
}

// setGPUs takes a comma-separated list of indices and UUIDs.
func (s *Settings) setGPUs(value string) error {
	s.GPUs = nil
	for item := range strings.SplitSeq(value, ",") {
		item = strings.TrimSpace(item)
		_, err := strconv.ParseUint(item, 10, 16)
		switch {
		case err == nil:
			item = strings.TrimLeft(item[:len(item)-1], "0") + item[len(item)-1:] // "03" is GPU 3
		case strings.HasPrefix(item, "MIG-"):
			return fmt.Errorf("%q is a MIG instance: give its GPU's index or UUID, its instances are shown under it", item)
		case !strings.HasPrefix(item, "GPU-") || len(item) == len("GPU-"):
			return fmt.Errorf("%q is neither a GPU's index nor its UUID (GPU-…)", item)
		}
		s.GPUs = append(s.GPUs, item)
	}
	return nil
}

func (s *Settings) setTheme(value string) error {
	if !slices.Contains(themes.Names(), value) {
		return fmt.Errorf("there is no theme %q: %s", value, strings.Join(themes.Names(), ", "))
	}
	s.Theme = value
	return nil
}

func (s *Settings) setIdle(value string) error {
	minutes, err := strconv.Atoi(value)
	if err != nil || minutes < 1 || minutes > 24*60 {
		return fmt.Errorf("%s is out of range: a whole number of minutes, 1 to 1440", value)
	}
	s.IdleAfter = time.Duration(minutes) * time.Minute
	return nil
}

func (s *Settings) setLowMemory(value string) error {
	percent, err := strconv.Atoi(value)
	if err != nil || percent < 0 || percent > 90 {
		return fmt.Errorf("%s is out of range: a whole number of per cent, 0 to 90", value)
	}
	s.LowMemory = percent
	return nil
}

func setTruth(to *bool) func(string) error {
	return func(value string) error {
		truth, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", value)
		}
		*to = truth
		return nil
	}
}

func setText(to *string) func(string) error {
	return func(value string) error { *to = value; return nil }
}

func themeList() string { return strings.Join(themes.Names(), ", ") }

// LowMemoryFraction is LowMemory as the sampler takes it: negative where it is off.
func (s *Settings) LowMemoryFraction() float64 {
	if s.LowMemory == 0 {
		return -1
	}
	return float64(s.LowMemory) / 100
}

func (s *Settings) setGuardMode(value string) error {
	mode := guard.Mode(value)
	if mode != guard.Off && mode != guard.DryRun && mode != guard.Act {
		return fmt.Errorf("%q is none of off, dry-run and act", value)
	}
	s.Guard.Mode = mode
	return nil
}

func (s *Settings) setGuardEvery(value string) (err error) {
	s.Guard.Every, err = Duration(value, sampler.MinInterval, sampler.MaxInterval)
	return err
}

func (s *Settings) setGuardRate(value string) error {
	rate, err := strconv.Atoi(value)
	if err != nil || rate < 1 || rate > 60 {
		return fmt.Errorf("%q is out of range: a whole number of flushes, 1 to 60", value)
	}
	s.Guard.MaxPerMinute = rate
	return nil
}
