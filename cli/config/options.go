package config

import (
	"strings"
	"time"

	"vramscope/guard"
	"vramscope/sampler"
)

// Option is one setting of the configuration file, and often a flag.
type Option struct {
	Key     string // in the configuration file; "table.key" in a table
	Flag    string // on the command line; "" if there is none
	Holder  string // the value's name in help: "DURATION"
	Usage   string // of the flag, one line
	Comment string // in the configuration file
	Value
}

// Options returns all options of settings, in the order of the generated configuration file.
func Options(s *Settings) []Option {
	return []Option{
		{
			Key: "interval", Flag: "interval", Holder: "DURATION", Value: duration(&s.Interval, sampler.MinInterval, sampler.MaxInterval),
			Usage:   "time between samples: 500ms, 2s or a number of seconds; 100ms to 1m",
			Comment: "Time between samples: \"500ms\", \"2s\" or a number of seconds; from 100ms to 1m.",
		},
		{
			Key: "gpus", Flag: "gpu", Holder: "LIST", Value: list(&s.GPUs, gpu),
			Usage:   "only these GPUs: indices or UUIDs, comma-separated",
			Comment: "Only these GPUs, by index or UUID: [0, 2, \"GPU-8f1c\"]. Empty: all.",
		},
		{
			Key: "nvml_library", Flag: "nvml-library", Holder: "PATH", Value: word(&s.Library, anyText),
			Usage:   "the driver's libnvidia-ml.so.1, where the loader does not find it",
			Comment: "Path of the driver's libnvidia-ml.so.1. Empty: where the dynamic loader finds it.",
		},
		{
			Key: "theme", Flag: "theme", Holder: "NAME", Value: word(&s.Theme, theme),
			Usage:   "colours: " + themeList(),
			Comment: "Colours: " + themeList() + ".\nNO_COLOR in the environment turns them off.",
		},
		{
			Key: "ascii", Flag: "ascii", Value: truth(&s.ASCII),
			Usage:   "ASCII characters only",
			Comment: "ASCII characters only. Where the terminal or the locale needs it, this happens by itself.",
		},
		{
			Key: "read_only", Flag: "read-only", Value: truth(&s.ReadOnly),
			Usage:   "leave out every action on processes",
			Comment: "Leave out every action on processes.",
		},
		{
			Key: "mouse", Value: truth(&s.Mouse),
			Comment: "Capture the mouse from the start (key m toggles it). Text can then be selected only with Shift held.",
		},
		{
			Key: "graph_window", Value: s.graphWindow(),
			Comment: "How far back graphs reach at the start (key z changes it): from 30s to 24h, or\nauto: 5 minutes, 10 where there is height for it.",
		},
		{
			Key: "graph_style", Value: choice(&s.GraphStyle, Area, Lines),
			Comment: "How graphs are drawn (key Z changes it): \"area\" (the parts of memory) or \"lines\".",
		},
		{
			Key: "bell", Value: truth(&s.Bell),
			Comment: "Ring the terminal's bell for a new red alert, at most once a minute.",
		},
		{
			Key: "columns", Value: list(&s.Columns, s.column),
			Comment: "The columns of the monitor's table of processes, from left to right:\n" +
				columnList() + "\nGPU, PID and USED are always there, and COMMAND is always last. Where there is no room\nfor all, the least important are left out. Empty: all.",
		},
		{
			Key: "sort", Value: s.sortColumn(),
			Comment: "The column by which processes are sorted at the start:\n" + strings.Join(sortColumns(), ", ") + ".",
		},
		{
			Key: "sort_reversed", Value: truth(&s.Reversed),
			Comment: "Sort the other way round: the smallest number, or the last name, first (key r).",
		},
		{
			Key: "idle_minutes", Value: whole(&s.IdleMinutes, " of minutes", 1, 24*60),
			Comment: "A GPU is called idle when more than 1 GiB is used on it and nothing has run there for\nmore than this many minutes: 1 to 1440.",
		},
		{
			Key: "low_memory_percent", Value: whole(&s.LowMemory, " of per cent", 0, 90),
			Comment: "Free memory of a GPU, in per cent, below which growth, allocation retries or an\nout-of-memory event raise an alert. Little free memory alone never does. 0: no such alert.",
		},
		{
			Key: "daemon.record", Value: truth(&s.Record),
			Comment: "What vramscope daemon does. record: it records what it samples.",
		},
		{
			Key: "daemon.share", Value: word(&s.Share, share),
			Comment: "Who, besides root and this user, may read numbers from the daemon's socket:\n\"none\", \"group:NAME\" or \"all\". Never command lines, paths or actions.",
		},
		{
			Key: "daemon.lease_reserve", Value: size(&s.LeaseReserve),
			Comment: "What leases leave free on each GPU, for contexts and for what has no lease: from 16MiB.",
		},
		{
			Key: "exporter.address", Value: word(&s.Serve, address),
			Comment: "Where vramscope daemon serves /metrics for Prometheus: \"127.0.0.1:9841\". Empty: nowhere.",
		},
		{
			Key: "exporter.web_config_file", Value: word(&s.WebConfig, anyText),
			Comment: "TLS and passwords for it, as Prometheus' exporter-toolkit has them.",
		},
		{
			Key: "exporter.openly", Value: truth(&s.ServeOpenly),
			Comment: "Serve it also where other machines can read it without a password.",
		},
		{
			Key: "exporter.snapshot", Value: truth(&s.ServeSnapshot),
			Comment: "Serve /snapshot.json, too: the document of once, command lines without arguments.",
		},
		{
			Key: "exporter.process_labels", Value: s.processLabels(),
			Comment: "What is exported of processes. Without \"pid\" their figures are summed by the others;\n[\"none\"]: nothing.",
		},
		{
			Key: "exporter.processes", Value: whole(&s.Processes, " of processes", 0, 1024),
			Comment: "How many of a GPU's processes, the largest ones, have series of their own: 0 to 1024.\nThe others are one series.",
		},
		{
			Key: "recording.keep", Value: duration(&s.Keep, time.Hour, Longest),
			Comment: "How long recordings are kept: \"30d\", \"36h\"; from 1h to 3650d.",
		},
		{
			Key: "recording.max_size", Value: size(&s.MaxSize),
			Comment: "How large they may become, all together: from 16MiB.",
		},
		{
			Key: "recording.commands", Value: choice(&s.Commands, "name", "full"),
			Comment: "What is recorded of command lines, which may hold secrets: \"name\" (program and\nscript) or \"full\".",
		},
		{
			Key: "alerts.exec", Value: program(&s.AlertCommand),
			Comment: "The command that vramscope daemon runs when an alert is raised about this user's\nprocesses, with the alert as JSON on standard input: [\"/home/bob/bin/tell-me\"]. Empty: none.",
		},
		{
			Key: "guard.mode", Value: choice(&s.Guard.Mode, guard.Off, guard.DryRun, guard.Act),
			Comment: "What the guard may do where [[guard.rule]] has rules (docs/guard.md): \"off\",\n\"dry-run\" (it reports what it would do) or \"act\" (in the daemon alone).",
		},
		{
			Key: "guard.every", Value: duration(&s.Guard.Every, sampler.MinInterval, sampler.MaxInterval),
			Comment: "Time between two looks of it: from 100ms to 1m.",
		},
		{
			Key: "guard.max_per_minute", Value: whole(&s.Guard.MaxPerMinute, " of flushes", 1, 60),
			Comment: "At most so many flushes a minute, on all GPUs together: 1 to 60.",
		},
	}
}

// columnList returns the names of the table's columns in two lines.
func columnList() string {
	names := tableColumns()
	half := len(names) / 2
	return strings.Join(names[:half], ", ") + ",\n" + strings.Join(names[half:], ", ") + "."
}
